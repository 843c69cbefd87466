"""The kind of the verbs of `lagoon kafka`: each verb returns rows from a live cluster, and the failures of its requests."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kafka_lagoon.cli.arguments import add_flags
from kafka_lagoon.cli.clusters import add_cluster_options, budget_ms, chosen_cluster, connected
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.output import CommandOutput, show
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.owners import NOBODY, Owners

T = TypeVar("T")


@frozen
class ClusterContext:
    """A connected cluster, the options of the command, and its deadline; `owners` are those of the settings."""

    cluster: Cluster
    options: Namespace
    deadline: Deadline
    owners: Owners = NOBODY


def _declare(parser: ArgumentParser, *, timeout: str, json: str) -> None:
    add_cluster_options(parser, timeout)
    add_flags(
        parser,
        {
            "--json": json,
            "--wide": "print more columns, and names in full length",
        },
    )


def _run(invocation: Invocation, answer: Callable[[ClusterContext], CommandOutput]) -> int:
    options, clock = invocation.options, invocation.clock
    chosen = chosen_cluster(options, invocation.environ)
    kafka, owners = chosen.kafka, NOBODY if chosen.settings is None else chosen.settings.all_owners()
    if topics := getattr(options, "topics", None):  # see add_topics of selection.py
        options.topic = [*topics, *(options.topic or [])]

    def ask(shown: Callable[[CommandOutput], T]) -> T:
        """Print the output while the cluster is connected, because rows may be read while they are printed."""
        with connected(kafka, options, clock) as (cluster, deadline):
            output = answer(ClusterContext(cluster=cluster, options=options, deadline=deadline, owners=owners))
            return shown(replace(output, refusals=cluster.refusals))

    if seconds := getattr(options, "watch", None):
        from kafka_lagoon.cli.kafka.watch import round_of, watch  # noqa: PLC0415

        until = Deadline.after(clock, budget_ms(kafka, options)) if options.timeout else None
        return watch(lambda: ask(lambda output: round_of(output, options)), seconds, clock, until, as_json=options.json)
    return ask(lambda output: show(output, options))


def cluster_kind(
    *,
    timeout: str = "longest time for the whole command",
    json: str = "print one JSON object per row, with exact numbers",
) -> Kind[ClusterContext]:
    """Make the kind of verbs; `timeout` and `json` say what these options mean to a verb."""
    return Kind(declare=partial(_declare, timeout=timeout, json=json), run=_run)


CLUSTER = cluster_kind()


def refuse(*problems: str) -> None:
    """End with exit code 2 because of names that the cluster does not have."""
    raise ConfigError(problems)
