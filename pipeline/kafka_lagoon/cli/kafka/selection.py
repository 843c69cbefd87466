"""What verbs have in common: the topics that were chosen, and how far a list of the brokers' can be trusted.

Guards one rule: a topic that was named and is not there is a failure; one that brokers may have left out is said.
"""

import argparse
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from kafka_lagoon.admin.cluster import Identity, describe_cluster
from kafka_lagoon.cli.kafka.verb import Context, names
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.coverage import list_note
from kafka_lagoon.snapshot.topology import Topology, topology_of


def add_topic_option(parser: argparse.ArgumentParser) -> None:
    """The option that chooses topics."""
    parser.add_argument("--topic", type=names, metavar="A,B", help="only these topics; default: all")


def selected_topology(context: Context) -> tuple[Topology, list[Failure]]:
    """Metadata of the chosen topics, by name, and those that brokers refuse to tell."""
    metadata = context.cluster.refresh(context.options.topic, context.deadline)
    metadata = replace(metadata, topics=tuple(sorted(metadata.topics, key=lambda one: one.name or "")))
    refused = [
        failure_of(METADATA, Scope.of_topic(one.name), one.error_code) for one in metadata.topics if one.error_code
    ]
    return topology_of(metadata), refused


def topic_notes(context: Context, identity: Identity | None = None) -> Sequence[str]:
    """What to say of a list of all topics."""
    return () if context.options.topic is not None else list_notes(context, METADATA.name, "topics", identity)


def list_notes(context: Context, api: str, what: str, identity: Identity | None = None) -> Sequence[str]:
    """What to say of a list that brokers may have shortened without an error."""
    known = identity or _described(context)
    note = list_note(known.operations, api, what)
    return (note,) if note else ()


def _described(context: Context) -> Identity:
    described = describe_cluster(context.cluster, context.deadline)
    return Identity(
        described=None if isinstance(described, Failure) else described,
        controller_id=None,
        controller_problem=None,
        failures=(),
    )


def not_listed(
    api: str,
    scope_of: Callable[[str], Scope],
    wanted: Iterable[str],
    listed: Container[str],
    refused: Iterable[Failure] = (),
) -> list[Failure]:
    """A failure for each name that no broker lists; `refused` are brokers that did not list anything."""
    message = "no broker lists it: it is not there, or we may not describe it"
    if any(one.api == api for one in refused):
        message = "no broker that answered lists it"
    return [own_failure(api, scope_of(name), "NOT_LISTED", message) for name in wanted if name not in listed]
