"""`lagoon kafka metadata`: the cluster, its brokers, topics and partitions."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import fields

from kafka_lagoon.admin.cluster import identify
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.arguments import names_among
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import add_topics, selected_topology, topic_notes
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import TOPICS, Requirement
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED
from kafka_lagoon.snapshot.topology import Durability, Topology, broker_rows, partition_rows, topic_rows
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, before, column, row

_CLUSTER = ("cluster_id", "controller_id", "brokers", "topics", "partitions", "problem")
_BROKER = ("broker_id", "host", "port", "rack", "is_controller", "is_fenced", "problem")
_TOPIC = ("topic", "partitions", "replication_factor", "is_internal", "problem")
_WIDE_TOPIC = (_TOPIC[0], "topic_id", *_TOPIC[1:])
_PARTITION = ("topic", "partition", "leader_id", "replicas", "isr", "offline_replicas", "problem")
_WIDE_PARTITION = (*_PARTITION[:3], "leader_epoch", *_PARTITION[3:])
_KINDS = ("cluster", "broker", "topic", "partition")
_NOT_READ = Durability(min_insync_replicas={}, eligible={}, problems={}, eligible_problem=None)


@row
class ClusterRow:
    """The cluster as a whole."""

    cluster_id: str | None = column("Kafka's own id of the cluster; null if no broker returned it.", null_if=ALWAYS)
    controller_id: Int32 | None = column("Active controller; null if problem is set.")
    brokers: Int32 = column("Number of brokers.")
    topics: Int32 = column("Number of topics that are shown.")
    partitions: Int32 = column("Number of their partitions.")
    problem: str | None = column("Reason why the controller is not known; null if it is known.")


@row
class MetadataPartitionRow:
    """Partitions as Metadata describes them, one row each; table partitions has more columns."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column("Id of the topic; null if the brokers give none.", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    leader_id: Int32 | None = column(
        "Broker that leads the partition; null if there is no leader.", null_if="is_leaderless"
    )
    leader_epoch: Int32 | None = column("Epoch of the leader; null if not returned.", null_if=before("Metadata", 7))
    replicas: tuple[Int32, ...] = column("Brokers that hold a replica, the preferred leader first.")
    isr: tuple[Int32, ...] = column("Brokers whose replica is in sync.")
    offline_replicas: tuple[Int32, ...] | None = column(
        "Brokers whose replica is offline; null if not returned.", null_if=before("Metadata", 5)
    )
    is_leaderless: bool = column("True if no broker leads the partition.")
    is_under_replicated: bool = column("True if not all replicas are in sync, those that a reassignment adds, too.")
    is_preferred_leader: bool | None = column(
        "True if the leader is the first replica; null if there is no leader.",
        null_if="is_leaderless OR len(replicas) = 0",
    )
    problem: str | None = column("Kafka's name of the partition's error; null if there is none.")


def _partition_rows(topology: Topology) -> Iterator[MetadataPartitionRow]:
    names = [field.name for field in fields(MetadataPartitionRow)]
    for partition in partition_rows(topology, _NOT_READ):
        yield MetadataPartitionRow(**{name: getattr(partition, name) for name in names})


def _answer(context: ClusterContext) -> CommandOutput:
    topology, refused = selected_topology(context)
    identity = identify(context.cluster, context.deadline)
    brokers = list(broker_rows(topology.metadata, identity))
    failures = [failure for failure in identity.failures if not failure.is_too_old]
    topics, partitions = list(topic_rows(topology)), list(_partition_rows(topology))
    cluster = ClusterRow(
        cluster_id=topology.metadata.cluster_id,
        controller_id=identity.controller_id,
        brokers=len(brokers),
        topics=len(topics),
        partitions=len(partitions),
        problem=identity.controller_problem,
    )
    parts = [
        RowSet(kind="cluster", rows=[cluster], columns=_CLUSTER),
        RowSet(kind="broker", rows=brokers, columns=_BROKER),
        RowSet(kind="topic", rows=topics, columns=_TOPIC, wide=_WIDE_TOPIC),
        RowSet(kind="partition", rows=partitions, columns=_PARTITION, wide=_WIDE_PARTITION),
    ]
    wanted = context.options.only
    return CommandOutput(
        rows=[part for part in parts if wanted is None or part.kind in wanted],
        failures=[*refused, *(failure for failure in failures if failure.code != CLUSTER_AUTHORIZATION_FAILED)],
        notes=[*_refused_notes(failures), *topic_notes(context, identity.operations)],
    )


def _refused_notes(failures: Iterable[Failure]) -> Iterator[str]:
    """Make notes for users without DESCRIBE on the cluster: brokers do not return the controller to them."""
    for failure in failures:
        if failure.code == CLUSTER_AUTHORIZATION_FAILED:
            yield f"controller: not known: {failure.api}: {failure.name}"


def _declare(parser: ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument(
        "--only", type=names_among(_KINDS), metavar="A,B", help=f"only these kinds of rows: {', '.join(_KINDS)}"
    )


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists the cluster, its brokers, topics and partitions.",
    examples=(
        "lagoon kafka metadata -b kafka-1:9092",
        "lagoon kafka metadata orders -b kafka-1:9092 --only partition --json",
    ),
    declare=_declare,
    answer=_answer,
    requires={
        "": Requirement(
            permissions=(TOPICS, Permission(acls.DESCRIBE, acls.CLUSTER, "the controller is not known")),
            remark="On ZooKeeper (2.8) the controller is known without it.",
        )
    },
)
