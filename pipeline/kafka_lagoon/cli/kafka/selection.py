"""Selects topics for verbs, and warns if the brokers' lists may be incomplete.

A named topic that does not exist is a failure. If brokers may have left topics out of a list, a note says so.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from kafka_lagoon.cli.arguments import names
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.client.agreement import agree_on_brokers, agreed_metadata, refused_topics
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.list_notes import list_note
from kafka_lagoon.snapshot.topology import Topology, returns_offline_replicas, topology_of


def add_topics(parser: ArgumentParser) -> None:
    """Declare topics as arguments and as the option `--topic`, which `selected_topology` and `topic_notes` need."""
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help="only these topics; default: all")
    add_topic_option(parser, "names of topics, separated by commas")


def add_topic_option(parser: ArgumentParser, meaning: str) -> None:
    """Declare the option `--topic` alone, for verbs whose arguments do not name topics."""
    parser.add_argument("--topic", type=names, metavar="A,B", help=meaning)


def selected_topology(context: ClusterContext) -> tuple[Topology, list[Failure]]:
    """Return metadata of the selected topics, ordered by name, and failures of topics that brokers refuse.

    Two brokers describe them, and a third one where they differ.
    """
    metadata = agreed_metadata(context.cluster, context.options.topic, context.deadline)
    metadata = replace(metadata, topics=tuple(sorted(metadata.topics, key=lambda topic: topic.name or "")))
    topology = topology_of(metadata, has_offline_replicas=returns_offline_replicas(context.cluster))
    return topology, refused_topics(metadata.topics)


def every_broker(context: ClusterContext) -> Sequence[int]:
    """Return the ids of the brokers as two of them name them; a third one decides where they differ."""
    agree_on_brokers(context.cluster, context.deadline)
    return sorted(context.cluster.brokers)


def topic_notes(context: ClusterContext, operations: int | None = None) -> Sequence[str]:
    """Make notes about a list of all topics; none if topics are selected."""
    return () if context.options.topic is not None else list_notes(context, METADATA.name, "topics", operations)


def list_notes(context: ClusterContext, api: str, what: str, operations: int | None = None) -> Sequence[str]:
    """Make notes about a list that brokers may have shortened without an error.

    `operations` has the authorized operations on the cluster as bits; if it is missing, the cluster is asked for them.
    """
    note = list_note(context.cluster, api, what, context.deadline, operations)
    return (note,) if note else ()


def not_listed(
    api: str,
    scope_of: Callable[[str], Scope],
    wanted: Iterable[str],
    listed: Container[str],
    refused: Iterable[Failure] = (),
) -> list[Failure]:
    """Make a failure for each name that no broker lists; `refused` has the failures of brokers that returned no list."""
    message = "no broker lists it: it is not there, or we may not describe it"
    if any(one.api == api for one in refused):
        message = "no broker that answered lists it"
    return [
        own_failure(api, scope_of(name), "NOT_LISTED", message) for name in dict.fromkeys(wanted) if name not in listed
    ]
