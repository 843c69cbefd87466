"""The kind of the verbs of `lagoon admin`: each verb reads the live state and plans actions; it alters nothing itself.

cli/alterations.py shows the actions, asks for confirmation and carries them out, for all verbs and for `lagoon apply`.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from dataclasses import replace

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.topic_ids import with_topic_ids
from kafka_lagoon.cli.alterations import ADMIN, alter
from kafka_lagoon.cli.arguments import add_create, add_warehouse
from kafka_lagoon.cli.clusters import add_cluster_options, chosen_cluster, connected
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.planned_actions import PlannedActions, add_alteration_options, confirmation_problems
from kafka_lagoon.cli.recorder import OpeningRecorder


def altering(*guards: Guard) -> Kind[ClusterContext]:
    """Make the kind of a verb whose actions may have these guards. Each guard is an option of the verb."""
    return Kind(declare=lambda parser: _declare(parser, guards), check=confirmation_problems, run=_run)


def _declare(parser: ArgumentParser, guards: Iterable[Guard]) -> None:
    add_cluster_options(parser)
    add_warehouse(parser)
    add_create(parser)
    add_alteration_options(parser, guards)


def _run(invocation: Invocation, plan: Callable[[ClusterContext], PlannedActions]) -> int:
    options, clock = invocation.options, invocation.clock
    chosen = chosen_cluster(options, invocation.environ)
    recorder = OpeningRecorder(ADMIN, chosen.settings, clock)
    if not options.dry_run:
        recorder.check()
    with (
        recorder,
        connected(chosen.kafka, options, clock) as (cluster, deadline),
    ):
        cluster.waits = True  # a broker that restarts from now on is waited for
        if options.yes and not options.dry_run:
            recorder.begin()
        planned = plan(ClusterContext(cluster=cluster, options=options, deadline=deadline))
        actions = with_topic_ids(cluster, planned.actions, deadline)
        planned = replace(planned, actions=actions, failures=[*planned.failures, *cluster.refusals])
        return alter(cluster, chosen, planned, recorder, options).exit_code
