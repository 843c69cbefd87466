"""Makes the rows of brokers, topics and partitions out of metadata.

A partition without a leader, and a topic that we may not see into, is a row that says so.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.admin.cluster import Identity
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsPartition
from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    WITH_OFFLINE_REPLICAS,
    MetadataPartition,
    MetadataResponse,
)
from kafka_lagoon.snapshot.chosen_names import Names
from kafka_lagoon.snapshot.state_rows import BrokerRow, PartitionRow, TopicRow
from kafka_lagoon.wire.primitives import uuid_text

TOPIC_DELETED = "TOPIC_DELETED_DURING_SNAPSHOT"
TOPIC_RECREATED = "TOPIC_RECREATED_DURING_SNAPSHOT"
NOT_DESCRIBED = "NOT_DESCRIBED"  # DescribeCluster leaves out a broker that Metadata names
ELIGIBLE_NOT_RETURNED = "ELIGIBLE_LEADERS_NOT_RETURNED"
_NO_SUCH_TOPIC = error_code(UNKNOWN_TOPIC_OR_PARTITION).name
_NONE = -1
_ALL = Names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The cluster as the first metadata of a snapshot showed it, and which topics changed until the last."""

    metadata: MetadataResponse
    topic_ids: Mapping[str, str | None]
    partitions: Mapping[str, Sequence[int]]
    hidden: Mapping[str, str] = field(default_factory=dict)  # topic -> Kafka's name of the error that hides it
    changed: Mapping[str, str] = field(default_factory=dict)  # topic -> problem, for topics that did not last
    has_offline_replicas: bool = True  # else the brokers return none, and an empty list would say that all are online
    chosen: Names = _ALL
    left_out: int = 0  # topics that are not chosen

    def every_partition(self) -> list[TopicPartition]:
        """All partitions in the order of the metadata."""
        return [TopicPartition(topic, partition) for topic, some in self.partitions.items() for partition in some]

    def absence(self, topic: str) -> str | None:
        """Why nothing is known of a topic; None if something is."""
        return self.hidden.get(topic) or (None if topic in self.topic_ids else _NO_SUCH_TOPIC)

    def names(self) -> dict[str, str]:
        """Names of the topics by their ids, where brokers give ids."""
        return {topic_id: name for name, topic_id in self.topic_ids.items() if topic_id is not None}


def read_topology(
    cluster: Cluster, topics: Collection[str] | None, deadline: Deadline, chosen: Names = _ALL
) -> Topology:
    """The topology of these topics, or of all (None), from any broker; of topics that are not `chosen` nothing is kept."""
    metadata = cluster.refresh(topics, deadline)
    kept = tuple(topic for topic in metadata.topics if topic.name in chosen)
    topology = topology_of(replace(metadata, topics=kept), has_offline_replicas=returns_offline_replicas(cluster))
    return replace(topology, chosen=chosen, left_out=len(metadata.topics) - len(kept))


def returns_offline_replicas(cluster: Cluster) -> bool:
    """Whether all Metadata that this cluster was asked for came in versions with offline replicas (KIP-112)."""
    versions = (stats.api_version for (api, _), stats in cluster.request_stats.by_api.items() if api == METADATA.name)
    return all(version is not None and version >= WITH_OFFLINE_REPLICAS for version in versions)


def topology_of(metadata: MetadataResponse, *, has_offline_replicas: bool = True) -> Topology:
    """What later steps need of the metadata, by topic name."""
    named = {topic.name: topic for topic in metadata.topics if topic.name is not None}
    return Topology(
        metadata=metadata,
        topic_ids={name: uuid_text(topic.topic_id) for name, topic in named.items()},
        partitions={name: sorted(each.partition_index for each in topic.partitions) for name, topic in named.items()},
        hidden={name: error_code(topic.error_code).name for name, topic in named.items() if topic.error_code},
        has_offline_replicas=has_offline_replicas,
    )


def check_again(cluster: Cluster, before: Topology, deadline: Deadline) -> tuple[Topology, list[Failure]]:
    """The topology, with the topics named that were deleted or re-created since."""
    try:
        after = read_topology(cluster, None, deadline, before.chosen)
    except PipelineError as error:
        return before, [failure_of(METADATA, Scope.list("all topics"), error)]
    return replace(before, changed=changes(before.topic_ids, after.topic_ids)), []


def changes(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> dict[str, str]:
    """Topics that were deleted, or deleted and created again, between two metadata answers."""
    changed = {}
    for topic, topic_id in before.items():
        if topic not in after:
            changed[topic] = TOPIC_DELETED
        elif after[topic] != topic_id:
            changed[topic] = TOPIC_RECREATED
    return changed


def broker_rows(metadata: MetadataResponse, identity: Identity) -> Iterator[BrokerRow]:
    """Every broker that metadata or the description of the cluster names; fenced ones are in the latter only."""
    controller_id, described = identity.controller_id, identity.described
    fenced = {node.broker_id: node for node in described.brokers} if described else {}
    undescribed = NOT_DESCRIBED if described else identity.description_problem
    known = {node.node_id: node for node in metadata.brokers}
    for broker_id in sorted(known.keys() | fenced.keys()):
        broker = known.get(broker_id) or fenced[broker_id]
        yield BrokerRow(
            broker_id=broker_id,
            host=broker.host or None,
            port=broker.port if broker.port >= 0 else None,
            rack=broker.rack,
            is_controller=None if controller_id is None else broker_id == controller_id,
            is_fenced=fenced[broker_id].is_fenced if broker_id in fenced else None,
            problem=identity.controller_problem or (None if broker_id in fenced else undescribed),
        )


def topic_rows(topology: Topology) -> Iterator[TopicRow]:
    """One row per topic of the metadata."""
    for topic in topology.metadata.topics:
        name = topic.name or ""
        first = min(topic.partitions, key=lambda partition: partition.partition_index, default=None)
        hidden = topology.hidden.get(name)
        yield TopicRow(
            topic=name,
            topic_id=topology.topic_ids.get(name),
            is_internal=None if hidden else topic.is_internal,
            partitions=None if hidden else len(topic.partitions),
            replication_factor=len(first.replica_nodes) if first else None,
            problem=hidden or topology.changed.get(name),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Durability:
    """What else is known of partitions: the ISR that writes need, by topic, and eligible leaders, by partition.

    `problems` by topic say why min.insync.replicas could not be read, `eligible_problem` why eligible leaders are not known
    of some partition; None if the cluster does not keep them.
    """

    min_insync_replicas: Mapping[str, int]
    eligible: Mapping[TopicPartition, DescribeTopicPartitionsPartition]
    problems: Mapping[str, str]
    eligible_problem: str | None


def partition_rows(topology: Topology, durability: Durability) -> Iterator[PartitionRow]:
    """One row per partition of the metadata, with its health as Kafka's own tools define it."""
    racks = {broker.node_id: broker.rack for broker in topology.metadata.brokers}
    for topic in topology.metadata.topics:
        name = topic.name or ""
        topic_id = topology.topic_ids.get(name)
        fallback = topology.changed.get(name) or durability.problems.get(name)
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index):
            offline = partition.offline_replicas if topology.has_offline_replicas else None
            yield _partition_row(name, topic_id, partition, durability, racks, fallback, offline)


def _partition_row(
    topic: str,
    topic_id: str | None,
    partition: MetadataPartition,
    durability: Durability,
    racks: Mapping[int, str | None],
    fallback: str | None,
    offline_replicas: tuple[int, ...] | None,
) -> PartitionRow:
    leaderless, replicas = partition.leader_id == _NONE, partition.replica_nodes
    isr = partition.isr_nodes
    needed = durability.min_insync_replicas.get(topic)
    eligible = durability.eligible.get(TopicPartition(topic, partition.partition_index))
    if eligible is None or None in (eligible.eligible_leader_replicas, eligible.last_known_elr):
        fallback = fallback or durability.eligible_problem
    return PartitionRow(
        topic=topic,
        topic_id=topic_id,
        partition=partition.partition_index,
        leader_id=None if leaderless else partition.leader_id,
        leader_epoch=None if partition.leader_epoch == _NONE else partition.leader_epoch,
        replicas=replicas,
        isr=isr,
        offline_replicas=offline_replicas,
        eligible_leader_replicas=eligible.eligible_leader_replicas if eligible else None,
        last_known_elr=eligible.last_known_elr if eligible else None,
        is_leaderless=leaderless,
        is_under_replicated=len(isr) < len(replicas),
        is_under_min_isr=None if needed is None else len(isr) < needed,
        is_at_min_isr=None if needed is None else len(isr) == needed,
        is_preferred_leader=None if leaderless or not replicas else partition.leader_id == replicas[0],
        rack_count=_rack_count(replicas, racks),
        problem=error_code(partition.error_code).name if partition.error_code else fallback,
    )


def _rack_count(replicas: Iterable[int], racks: Mapping[int, str | None]) -> int | None:
    """Different racks among the replicas; None while the rack of one is unknown, as of a broker that is down."""
    distinct = {racks.get(node_id) for node_id in replicas}
    return None if None in distinct else len(distinct)
