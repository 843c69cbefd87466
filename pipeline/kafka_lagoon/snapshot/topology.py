"""Makes the rows of brokers, topics and partitions from metadata.

A partition without a leader, or a topic that the principal may not describe, has a row that says so.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_lagoon.client.agreement import agreed_brokers, by_item, is_same_metadata, majority, topics_by_name
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    WITH_OFFLINE_REPLICAS,
    MetadataPartition,
    MetadataResponse,
    MetadataTopic,
)
from kafka_lagoon.snapshot.chosen_names import Names
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow, TopicRow
from kafka_lagoon.tables.row_columns import Column, Columns, Runs, Stored
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

if TYPE_CHECKING:  # commands that show topics do not ask for eligible leaders
    from kafka_lagoon.admin.cluster import Identity

TOPIC_DELETED = "TOPIC_DELETED_DURING_SNAPSHOT"
TOPIC_RECREATED = "TOPIC_RECREATED_DURING_SNAPSHOT"
TOPIC_CREATED = "TOPIC_CREATED_DURING_SNAPSHOT"
PARTITIONS_ADDED = "PARTITIONS_ADDED_DURING_SNAPSHOT"
DISPUTED = "BROKERS_DISAGREE"  # each of three metadata answers describes a partition in another way
NOT_DESCRIBED = "NOT_DESCRIBED"  # DescribeCluster omits a broker that Metadata names
NOT_IN_METADATA = "NOT_IN_METADATA"  # Metadata, which is read after DescribeCluster, omits a broker that was not fenced
ELIGIBLE_NOT_RETURNED = "ELIGIBLE_LEADERS_NOT_RETURNED"
_NO_SUCH_TOPIC = error_code(UNKNOWN_TOPIC_OR_PARTITION).name
T = TypeVar("T")

_ALL = Names()
_NOTHING_ADDED: Mapping[TopicPartition, Sequence[int]] = {}
_PARTITION_INDEX = attrgetter("partition_index")


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The cluster as the first metadata of a snapshot showed it, and the topics that changed until the last."""

    metadata: MetadataResponse
    topic_ids: Mapping[str, str | None]
    partitions: Mapping[str, Sequence[int]]
    hidden: Mapping[str, str] = field(default_factory=dict)  # topic -> Kafka's name of the error that hides it
    changed: Mapping[str, str] = field(default_factory=dict)  # topic -> problem, for deleted or re-created topics
    has_offline_replicas: bool = True  # false if brokers do not return them: an empty list then means nothing
    chosen: Names = _ALL
    left_out: int = 0  # topics that are excluded
    described_by: str = ""  # the address of the broker that gave the metadata
    disputed: frozenset[TopicPartition] = frozenset()
    # Problems by topic, of topics and partitions that appeared.
    unasked: Mapping[str, str] = field(default_factory=dict)
    given_ids: Mapping[str, str] = field(default_factory=dict)  # ids of topics that only later answers had
    _listed: list[TopicPartition] = field(default_factory=list, compare=False, repr=False)  # shared with copies

    def every_partition(self) -> Sequence[TopicPartition]:
        """All partitions in the order of the metadata."""
        if not self._listed:
            self._listed.extend(
                TopicPartition(topic, number) for topic, some in self.partitions.items() for number in some
            )
        return self._listed

    def broker_ids(self) -> Sequence[int]:
        """The ids of the brokers in the metadata, for requests to each broker; some may have left the cluster since."""
        return sorted(broker.node_id for broker in self.metadata.brokers)

    def absence(self, topic: str) -> str | None:
        """The reason why nothing is known of a topic; None if it is known."""
        return self.hidden.get(topic) or (None if topic in self.topic_ids else _NO_SUCH_TOPIC)

    def lasting_ids(self) -> dict[str, str | None]:
        """Ids of topics by name, without topics that changed: later answers may be about the re-created topic."""
        return {topic: topic_id for topic, topic_id in self.topic_ids.items() if topic not in self.changed}

    def names(self) -> dict[str, str]:
        """Names of the topics by their ids, where brokers give ids."""
        return {topic_id: name for name, topic_id in self.topic_ids.items() if topic_id is not None}


def read_topology(
    cluster: Cluster, topics: Collection[str] | None, deadline: Deadline, chosen: Names = _ALL
) -> Topology:
    """Read the topology of these topics, or of all (None), from any broker. Topics that are not `chosen` are left out."""
    metadata = cluster.refresh(topics, deadline)
    kept = tuple(topic for topic in metadata.topics if topic.name in chosen)
    topology = topology_of(replace(metadata, topics=kept), has_offline_replicas=returns_offline_replicas(cluster))
    left_out = len(metadata.topics) - len(kept)
    return replace(topology, chosen=chosen, left_out=left_out, described_by=cluster.answered_by)


def returns_offline_replicas(cluster: Cluster) -> bool:
    """True if every Metadata answer was of a version with offline replicas (KIP-112)."""
    versions = (stats.api_version for (api, _), stats in cluster.request_stats.by_api.items() if api == METADATA.name)
    return all(version is not None and version >= WITH_OFFLINE_REPLICAS for version in versions)


def topology_of(metadata: MetadataResponse, *, has_offline_replicas: bool = True) -> Topology:
    """Arrange metadata by topic name."""
    named = {topic.name: topic for topic in metadata.topics if topic.name is not None}
    return Topology(
        metadata=metadata,
        topic_ids={name: uuid_text(topic.topic_id) for name, topic in named.items()},
        partitions={name: sorted(each.partition_index for each in topic.partitions) for name, topic in named.items()},
        hidden={name: error_code(topic.error_code).name for name, topic in named.items() if topic.error_code},
        has_offline_replicas=has_offline_replicas,
    )


def check_again(cluster: Cluster, before: Topology, deadline: Deadline) -> tuple[Topology, list[Failure]]:
    """Compare with the metadata of another broker, and mark topics that were deleted, created or re-created since.

    One of two brokers that differ may be behind, or wrong, or the cluster has changed meanwhile: a third answer decides.
    """
    answered = {before.described_by}
    try:
        second = cluster.refresh(None, deadline, answered)
        chosen = replace(second, topics=tuple(topic for topic in second.topics if topic.name in before.chosen))
        if is_same_metadata(before.metadata, chosen):
            return replace(before, metadata=replace(before.metadata, cluster_id=cluster.cluster_id)), []
        third = cluster.refresh(None, deadline, answered | {cluster.answered_by})
    except PipelineError as error:
        return before, [failure_of(METADATA, Scope.list("all topics"), error)]
    believed = _believed(before, second, third)
    cluster.learn_brokers(believed.metadata.brokers)
    return believed, []


def _believed(before: Topology, second: MetadataResponse, third: MetadataResponse) -> Topology:
    """The topology with what two of three answers say of each broker, topic and partition, else what the last one says.

    Partitions of which each answer says something else are `disputed`. Offsets of topics and partitions that the first answer
    lacks were not requested, as `unasked` says. An id that the first answer lacks is that of the others; a topic that has
    another id in them keeps the first one, of which commits may be, and is `changed`.
    """
    first = before.metadata
    answers = by_item([topics_by_name(one.topics) for one in (first, second, third)])
    believed = {name: topic for name, some in answers.items() if name in before.chosen and (topic := majority(some))}
    unasked = dict.fromkeys(believed.keys() - before.topic_ids.keys(), TOPIC_CREATED)
    after = {name: uuid_text(topic.topic_id) for name, topic in believed.items()}
    changed = changes(before.topic_ids, after)
    merged, disputed, given_ids = [], set[TopicPartition](), dict[str, str]()
    for topic in first.topics:
        name = topic.name or ""
        now = believed.get(name)
        if now is None or now.error_code or topic.error_code or name in changed:
            merged.append(topic)  # deleted, re-created or hidden: its row says so
            continue
        kept, odd = _merged(topic, answers[name])
        merged.append(replace(now, partitions=kept))
        disputed.update(TopicPartition(name, partition) for partition in odd)
        if len(now.partitions) > len(topic.partitions):
            unasked[name] = PARTITIONS_ADDED
        if before.topic_ids[name] is None and (topic_id := after[name]):
            given_ids[name] = topic_id
    created = [replace(believed[name], partitions=()) for name in sorted(unasked.keys() - before.topic_ids.keys())]
    created_ids = {topic.name: after[topic.name] for topic in created if topic.name}
    return replace(
        before,
        metadata=replace(
            first,
            cluster_id=second.cluster_id,
            topics=(*merged, *created),
            brokers=agreed_brokers((first, second, third)),
        ),
        topic_ids={**before.topic_ids, **given_ids, **created_ids},
        changed=changed,
        disputed=frozenset(disputed),
        unasked=unasked,
        given_ids=given_ids,
    )


def _merged(
    first: MetadataTopic, answers: Sequence[MetadataTopic | None]
) -> tuple[tuple[MetadataPartition, ...], list[int]]:
    """The partitions of the first answer as two answers describe them, and the numbers of those with three descriptions."""
    several = by_item([{one.partition_index: one for one in topic.partitions} if topic else {} for topic in answers])
    numbers = [one.partition_index for one in first.partitions]
    kept = tuple(majority(several[number]) or one for number, one in zip(numbers, first.partitions, strict=True))
    return kept, [number for number in numbers if _differ(*several[number])]


def _differ(first: T, second: T, third: T) -> bool:
    """True if no two of them are equal."""
    return first not in (second, third) and second != third


def changes(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> dict[str, str]:
    """Topics that were deleted, or deleted and created again, between two metadata answers.

    A topic whose id is in only one of them counts as unchanged: brokers give ids only after their upgrade (Kafka 2.8), and none
    beside an error.
    """
    changed = {}
    for topic, topic_id in before.items():
        if topic not in after:
            changed[topic] = TOPIC_DELETED
        elif None not in (topic_id, after[topic]) and after[topic] != topic_id:
            changed[topic] = TOPIC_RECREATED
    return changed


def broker_rows(metadata: MetadataResponse, identity: "Identity") -> Iterator[BrokerRow]:
    """Every broker in the metadata or in the answer to DescribeCluster; fenced brokers are only in the latter.

    The metadata is read after DescribeCluster. If a broker stopped in between, it is not known whether it is fenced.
    """
    controller_id, described = identity.controller_id, identity.described
    fenced = {node.broker_id: node for node in described.brokers} if described else {}
    undescribed = NOT_DESCRIBED if described else identity.description_problem
    known = {node.node_id: node for node in metadata.brokers}
    for broker_id in sorted(known.keys() | fenced.keys()):
        broker = known.get(broker_id) or fenced[broker_id]
        problem = None if broker_id in fenced else undescribed
        is_fenced = fenced[broker_id].is_fenced if broker_id in fenced else None
        if broker_id not in known and not is_fenced:
            is_fenced, problem = None, NOT_IN_METADATA
        yield BrokerRow(
            broker_id=broker_id,
            host=broker.host or None,
            port=broker.port if broker.port >= 0 else None,
            rack=broker.rack,
            is_controller=None if controller_id is None else broker_id == controller_id,
            is_fenced=is_fenced,
            problem=identity.controller_problem or problem,
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
            partitions=None if hidden or name in topology.unasked else len(topic.partitions),
            replication_factor=len(first.replica_nodes) if first else None,
            problem=hidden or topology.changed.get(name) or topology.unasked.get(name),
        )


class EligibleLeaders(NamedTuple):
    """The brokers that may become leader of a partition (KIP-966); None where the broker returned none."""

    eligible_leader_replicas: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None


@frozen
class Durability:
    """min.insync.replicas by topic, and eligible leaders by topic and partition.

    `problems` has the reasons, by topic, why min.insync.replicas could not be read, and `eligible_problem` the reason why
    eligible leaders are not known, None if the cluster does not keep them. Brokers disagree on those of `disputed` partitions.
    """

    min_insync_replicas: Mapping[str, int]
    eligible: Mapping[str, Mapping[int, EligibleLeaders]]
    problems: Mapping[str, str]
    eligible_problem: str | None
    disputed: frozenset[TopicPartition] = frozenset()


# Hot: 100,000 partitions in 0.1 s; a row object for each takes 0.3 s.
def partition_rows(
    topology: Topology, durability: Durability, added: Mapping[TopicPartition, Sequence[int]] = _NOTHING_ADDED
) -> Columns[PartitionRow]:
    """One row per partition of the metadata, with its health as Kafka's own tools define it.

    `added` are the brokers to which reassignments add replicas: these replicas are not expected to be in sync. Replicas of a
    reassignment that began after the metadata was read are not in it, and are left out, as in kafka-topics.
    """
    several = [sorted(topic.partitions, key=_PARTITION_INDEX) for topic in topology.metadata.topics]
    partitions = [partition for some in several for partition in some]
    counts, names = [len(some) for some in several], [topic.name or "" for topic in topology.metadata.topics]
    needed = list(Runs(counts, [durability.min_insync_replicas.get(name) for name in names]))
    eligible = list(_eligible(durability, names, several))
    leaders = [None if partition.leader_id < 0 else partition.leader_id for partition in partitions]
    epochs = [None if partition.leader_epoch < 0 else partition.leader_epoch for partition in partitions]
    replicas = [partition.replica_nodes for partition in partitions]
    isr = [partition.isr_nodes for partition in partitions]
    numbers = [partition.partition_index for partition in partitions]
    wanted = list(map(len, replicas))
    if added:
        keys = map(TopicPartition, Runs(counts, names), numbers)
        wanted = [
            number - len(set(added.get(key, ())).intersection(every))
            for number, key, every in zip(wanted, keys, replicas, strict=True)
        ]
    rack_counts = _rack_counts(topology, replicas)
    return Stored(
        PartitionRow,
        {
            "topic": Runs(counts, names),
            "topic_id": Runs(counts, [topology.topic_ids.get(name) for name in names]),
            "partition": numbers,
            "leader_id": leaders,
            "leader_epoch": epochs,
            "replicas": replicas,
            "isr": isr,
            "offline_replicas": [partition.offline_replicas for partition in partitions]
            if topology.has_offline_replicas
            else [None] * len(partitions),
            "eligible_leader_replicas": [one.eligible_leader_replicas if one else None for one in eligible],
            "last_known_elr": [one.last_known_elr if one else None for one in eligible],
            "is_leaderless": [leader is None for leader in leaders],
            "is_under_replicated": [len(some) < number for some, number in zip(isr, wanted, strict=True)],
            "is_under_min_isr": [
                None if least is None else len(some) < least for some, least in zip(isr, needed, strict=True)
            ],
            "is_at_min_isr": [
                None if least is None else len(some) == least for some, least in zip(isr, needed, strict=True)
            ],
            "is_preferred_leader": [
                None if leader is None or not every else leader == every[0]
                for leader, every in zip(leaders, replicas, strict=True)
            ],
            "rack_count": list(map(rack_counts.__getitem__, replicas)),
            "problem": _partition_problems(topology, durability, several, eligible),
        },
    )


def _eligible(
    durability: Durability, names: Sequence[str], several: Sequence[Sequence[MetadataPartition]]
) -> Iterator[EligibleLeaders | None]:
    """The eligible leaders of each partition, or None."""
    for name, some in zip(names, several, strict=True):
        known = durability.eligible.get(name, {})
        yield from (known.get(partition.partition_index) for partition in some)


def _partition_problems(
    topology: Topology,
    durability: Durability,
    several: Sequence[Sequence[MetadataPartition]],
    eligible: Iterable[EligibleLeaders | None],
) -> Column:
    """The partition's own error, else the change of its topic, else why another column is unknown."""
    problems: list[str | None] = []
    known = iter(eligible)
    disputed = topology.disputed | durability.disputed
    for topic, some in zip(topology.metadata.topics, several, strict=True):
        name = topic.name or ""
        reason = topology.changed.get(name) or durability.problems.get(name)
        for partition, leaders in zip(some, known, strict=False):
            fallback = reason
            if fallback is None and (
                leaders is None or None in (leaders.eligible_leader_replicas, leaders.last_known_elr)
            ):
                fallback = durability.eligible_problem
            if disputed and (name, partition.partition_index) in disputed:
                fallback = DISPUTED
            problems.append(error_code(partition.error_code).name if partition.error_code else fallback)
    return problems


def _rack_counts(topology: Topology, replicas: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], int | None]:
    """The number of different racks of the replicas; None if the rack of a replica is unknown."""
    racks = {broker.node_id: broker.rack for broker in topology.metadata.brokers}
    distinct = {some: {racks.get(node_id) for node_id in some} for some in set(replicas)}
    return {some: None if None in its_racks else len(its_racks) for some, its_racks in distinct.items()}
