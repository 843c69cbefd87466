"""`lagoon kafka metadata`: the cluster, its brokers, topics and partitions."""

import argparse
from collections.abc import Iterable, Iterator

from pipeline.cli.kafka.chosen import add_topics, chosen_topology, topic_notes
from pipeline.cli.kafka.verb import Answer, Asked, Part, Verb
from pipeline.client.routing import UNSUPPORTED, Failure
from pipeline.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED
from pipeline.rows import Int32, column, row
from pipeline.snapshot.identity import identify
from pipeline.snapshot.topology import Durability, broker_rows, partition_rows, topic_rows

_CLUSTER = ("cluster_id", "controller_id", "brokers", "topics", "partitions")
_BROKER = ("broker_id", "host", "port", "rack", "is_controller", "is_fenced")
_TOPIC = ("topic", "topic_id", "partitions", "replication_factor", "is_internal", "problem")
_PARTITION = ("topic", "partition", "leader_id", "leader_epoch", "replicas", "isr", "offline_replicas", "problem")
_NOT_READ = Durability(min_insync_replicas={}, eligible={}, problems={})


@row
class ClusterRow:
    """The cluster that was asked."""

    cluster_id: str | None = column("Kafka's own id of the cluster; null if no broker told it.")
    controller_id: Int32 | None = column("Active controller; null if unknown.")
    brokers: Int32 = column("How many brokers there are.")
    topics: Int32 = column("How many topics are shown.")
    partitions: Int32 = column("How many partitions they have.")


def _answer(asked: Asked) -> Answer:
    topology, refused = chosen_topology(asked)
    identity = identify(asked.cluster, asked.deadline)
    brokers = list(broker_rows(topology.metadata, identity.described, identity.controller_id))
    failures = [one for one in identity.failures if one.name != UNSUPPORTED]
    topics, partitions = list(topic_rows(topology)), list(partition_rows(topology, _NOT_READ))
    cluster = ClusterRow(
        cluster_id=topology.metadata.cluster_id,
        controller_id=identity.controller_id,
        brokers=len(brokers),
        topics=len(topics),
        partitions=len(partitions),
    )
    return Answer(
        parts=[
            Part(kind="cluster", rows=[cluster], columns=_CLUSTER),
            Part(kind="broker", rows=brokers, columns=_BROKER),
            Part(kind="topic", rows=topics, columns=_TOPIC),
            Part(kind="partition", rows=partitions, columns=_PARTITION),
        ],
        failures=[*refused, *(one for one in failures if one.code != CLUSTER_AUTHORIZATION_FAILED)],
        notes=[*_refused_notes(failures), *topic_notes(asked, identity)],
    )


def _refused_notes(failures: Iterable[Failure]) -> Iterator[str]:
    """The controller is told to those who may describe the cluster only; that alone leaves nothing else out."""
    for one in failures:
        if one.code == CLUSTER_AUTHORIZATION_FAILED:
            yield f"controller: not known: {one.api}: {one.name}"


def _declare(parser: argparse.ArgumentParser) -> None:
    add_topics(parser)


VERB = Verb(summary="The cluster, its brokers, topics and partitions.", declare=_declare, answer=_answer)
