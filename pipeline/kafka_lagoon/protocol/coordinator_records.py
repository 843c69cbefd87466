"""Decodes the records that coordinators keep in Kafka's own topics: __consumer_offsets and __transaction_state.

A key begins with an int16 that says what kind of record it is, a value with an int16 that is its own version; a record without
a value (a tombstone) removes what earlier records of the key said. Values of share and streams groups are not decoded, because
their schemas still change.
"""

from collections.abc import Mapping
from typing import Any

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.wire.reading import decode_start
from kafka_lagoon.wire.schema import Bytes, Int8, Int16, Int32, Int64, String, Uuid, Versions, struct, wire


@struct
class _Kind:
    """Comes before keys and values."""

    number: Int16


@struct
class OffsetCommitKey:
    """A group's commit on one partition."""

    group: String
    topic: String
    partition: Int32


@struct
class OffsetCommitValue:
    """The commit; version 1 has a time at which it expires, of clients that ask for one (before Kafka 2.1)."""

    offset: Int64
    leader_epoch: Int32 = wire(since=3, default=-1, ignorable=True)
    metadata: String
    commit_timestamp: Int64
    expire_timestamp: Int64 = wire(since=1, until=1, default=-1, ignorable=True)
    topic_id: Uuid = wire(since=4, tag=0, ignorable=True)


@struct
class GroupKey:
    """A group as a whole."""

    group_id: String


@struct
class MemberKey:
    """A member of a group."""

    group_id: String
    member_id: String


@struct
class RegularExpressionKey:
    """A pattern that members of a group subscribe to."""

    group_id: String
    regular_expression: String


@struct
class MemberMetadata:
    """A member of a classic group; see `embedded` for its subscription and assignment."""

    member_id: String
    group_instance_id: String | None = wire(since=3, nullable_since=3, default=None, ignorable=True)
    client_id: String
    client_host: String
    rebalance_timeout: Int32 = wire(since=1, default=-1, ignorable=True)
    session_timeout: Int32
    subscription: Bytes
    assignment: Bytes


@struct
class GroupMetadataValue:
    """A classic group after a rebalance, or when its members are gone."""

    protocol_type: String
    generation: Int32
    protocol: String | None
    leader: String | None
    current_state_timestamp: Int64 = wire(since=2, default=-1, ignorable=True)
    members: tuple[MemberMetadata, ...]


@struct
class ConsumerGroupMetadataValue:
    """A consumer group (KIP-848)."""

    epoch: Int32
    metadata_hash: Int64 = wire(tag=0, default=0)


@struct
class PartitionRacks:
    """The racks of a partition's replicas."""

    partition: Int32
    racks: tuple[String, ...]


@struct
class SubscribedTopic:
    """A topic that a consumer group subscribes to."""

    topic_id: Uuid
    topic_name: String
    num_partitions: Int32
    partition_metadata: tuple[PartitionRacks, ...]


@struct
class ConsumerGroupPartitionMetadataValue:
    """The topics of a consumer group, as releases before 4.1 keep them."""

    topics: tuple[SubscribedTopic, ...]


@struct
class ClassicProtocol:
    """A subscription as members of classic groups send it."""

    name: String
    metadata: Bytes


@struct
class ClassicMemberMetadata:
    """The data that a consumer group keeps of a member that still speaks the classic protocol."""

    session_timeout_ms: Int32
    supported_protocols: tuple[ClassicProtocol, ...]


@struct
class ConsumerGroupMemberMetadataValue:
    """A member of a consumer group."""

    instance_id: String | None
    rack_id: String | None
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: String | None
    rebalance_timeout_ms: Int32 = wire(default=-1)
    server_assignor: String | None
    classic_member_metadata: ClassicMemberMetadata | None = wire(tag=0)  # Kafka writes null, and leaves out empty ones


@struct
class TargetAssignmentMetadataValue:
    """The epoch of a consumer group's target assignment."""

    assignment_epoch: Int32
    assignment_timestamp: Int64 = wire(tag=0, default=0, ignorable=True)


@struct
class TopicIdPartitions:
    """Partitions of a topic."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class TargetAssignmentMemberValue:
    """The target assignment of a member of a consumer group."""

    topic_partitions: tuple[TopicIdPartitions, ...]


@struct
class OwnedPartitions:
    """Partitions of a topic that a member owns."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]
    assignment_epochs: tuple[Int32, ...] | None = wire(tag=0)


@struct
class CurrentMemberAssignmentValue:
    """The current assignment of a member of a consumer group."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[OwnedPartitions, ...]
    partitions_pending_revocation: tuple[OwnedPartitions, ...]


@struct
class RegularExpressionValue:
    """The topics that a pattern matches."""

    topics: tuple[String, ...]
    version: Int64
    timestamp: Int64


@struct
class TransactionLogKey:
    """A transactional id."""

    transactional_id: String


@struct
class TransactionPartitions:
    """Partitions of a topic in a transaction."""

    topic: String
    partition_ids: tuple[Int32, ...]


@struct
class TransactionLogValue:
    """The state of a transactional id; numbers of states are in `TRANSACTION_STATES`."""

    producer_id: Int64
    previous_producer_id: Int64 = wire(since=1, tag=0, default=-1)
    next_producer_id: Int64 = wire(since=1, tag=1, default=-1)
    producer_epoch: Int16
    next_producer_epoch: Int16 = wire(since=1, tag=3, default=-1)
    transaction_timeout_ms: Int32
    transaction_status: Int8
    transaction_partitions: tuple[TransactionPartitions, ...] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64
    client_transaction_version: Int16 = wire(since=1, tag=2, default=0)


TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


_FIRST = Versions(0, 0)


@frozen
class RecordKind:
    """A kind of record: its name, the class of its key, and that of its value, None if we do not decode it."""

    name: str
    key: type[Any]
    value: type[Any] | None = None
    versions: Versions = _FIRST
    flexible: int = 0  # first version of the value with compact lengths


_OFFSET_COMMIT = RecordKind(
    name="offset_commit", key=OffsetCommitKey, value=OffsetCommitValue, versions=Versions(0, 4), flexible=4
)

# By the number that keys begin with, Kafka's CoordinatorRecordType.
GROUP_RECORDS: Mapping[int, RecordKind] = {
    0: _OFFSET_COMMIT,  # of Kafka before 0.9
    1: _OFFSET_COMMIT,
    2: RecordKind(name="group_metadata", key=GroupKey, value=GroupMetadataValue, versions=Versions(0, 4), flexible=4),
    3: RecordKind(name="consumer_group_metadata", key=GroupKey, value=ConsumerGroupMetadataValue),
    4: RecordKind(name="consumer_group_partition_metadata", key=GroupKey, value=ConsumerGroupPartitionMetadataValue),
    5: RecordKind(name="consumer_group_member_metadata", key=MemberKey, value=ConsumerGroupMemberMetadataValue),
    6: RecordKind(name="consumer_group_target_assignment_metadata", key=GroupKey, value=TargetAssignmentMetadataValue),
    7: RecordKind(name="consumer_group_target_assignment_member", key=MemberKey, value=TargetAssignmentMemberValue),
    8: RecordKind(name="consumer_group_current_member_assignment", key=MemberKey, value=CurrentMemberAssignmentValue),
    9: RecordKind(name="share_group_partition_metadata", key=GroupKey),  # of Kafka 3.9 alone
    10: RecordKind(name="share_group_member_metadata", key=MemberKey),
    11: RecordKind(name="share_group_metadata", key=GroupKey),
    12: RecordKind(name="share_group_target_assignment_metadata", key=GroupKey),
    13: RecordKind(name="share_group_target_assignment_member", key=MemberKey),
    14: RecordKind(name="share_group_current_member_assignment", key=MemberKey),
    15: RecordKind(name="share_group_state_partition_metadata", key=GroupKey),
    16: RecordKind(name="consumer_group_regular_expression", key=RegularExpressionKey, value=RegularExpressionValue),
    17: RecordKind(name="streams_group_metadata", key=GroupKey),
    19: RecordKind(name="streams_group_member_metadata", key=MemberKey),
    20: RecordKind(name="streams_group_target_assignment_metadata", key=GroupKey),
    21: RecordKind(name="streams_group_target_assignment_member", key=MemberKey),
    22: RecordKind(name="streams_group_current_member_assignment", key=MemberKey),
    23: RecordKind(name="streams_group_topology", key=GroupKey),
}
TRANSACTION_RECORDS: Mapping[int, RecordKind] = {
    0: RecordKind(
        name="transaction", key=TransactionLogKey, value=TransactionLogValue, versions=Versions(0, 1), flexible=1
    ),
}


@frozen
class CoordinatorRecord:
    """A decoded record. `key` and `value` are None where `problem` says why; `value` also of a tombstone."""

    kind: str | None = None
    key: Any = None
    value: Any = None
    problem: str | None = None


def decode_record(kinds: Mapping[int, RecordKind], key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """The record with this key and value; never an error: what cannot be read is said in `problem`.

    KEY_UNREADABLE, VALUE_UNREADABLE, UNKNOWN_RECORD_TYPE or UNKNOWN_VERSION (of a newer Kafka), VALUE_NOT_DECODED (of share and
    streams groups).
    """
    try:
        number, position = decode_start(_Kind, 0, False, key or b"")
        kind = kinds.get(number.number)
        if kind is None:
            return CoordinatorRecord(problem="UNKNOWN_RECORD_TYPE")
        made, _ = decode_start(kind.key, 0, False, key or b"", position)
    except DecodeError:
        return CoordinatorRecord(problem="KEY_UNREADABLE")
    read, problem = (None, None) if value is None else _value(kind, value)
    return CoordinatorRecord(kind=kind.name, key=made, value=read, problem=problem)


def _value(kind: RecordKind, encoded: bytes) -> tuple[Any, str | None]:
    if kind.value is None:
        return None, "VALUE_NOT_DECODED"
    try:
        version, position = decode_start(_Kind, 0, False, encoded)
        if version.number not in kind.versions:
            return None, "UNKNOWN_VERSION"
        is_flexible = version.number >= kind.flexible
        value, _ = decode_start(kind.value, version.number, is_flexible, encoded, position)
    except DecodeError:
        return None, "VALUE_UNREADABLE"
    return value, None
