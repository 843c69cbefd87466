"""TxnOffsetCommit (api key 28): offsets of a group, stored as a part of a transaction.

The coordinator of the group answers, not that of the transaction, which must know of the group first: by
AddOffsetsToTxn, or from v5 on by this, which may be used only where the cluster's feature transaction.version is 2
(KIP-890). Surprises:

- Offsets are in force when the transaction is committed. Until then OffsetFetch shows the ones before, or error 88 if
  asked for stable ones (KIP-447).
- v6 names topics by id only (error 100), v5 and earlier by name only (KIP-1319).
- Up to v2, and without a member, nobody checks that the member still owns what it commits. From v3 on its generation
  is checked (KIP-447): 22 and 25, the group went on without it; 82, its group_instance_id has another owner.
- There is no error of the whole request: it is in every partition.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Uuid, Versions, struct, wire

NO_GENERATION = -1  # not a member
BY_NAME = Versions(0, 5)


@struct
class TxnOffsetCommitRequestPartition:
    """A commit: the offset to read next, not that of the last record that was read."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = wire(since=2, default=-1, ignorable=True)  # KIP-320: epoch of the last record read
    committed_metadata: String | None  # the committer's own text


@struct
class TxnOffsetCommitRequestTopic:
    """A topic by name or by id, and its partitions."""

    name: String = wire(until=5, ignorable=True)
    topic_id: Uuid = wire(since=6, ignorable=True)
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@struct
class TxnOffsetCommitRequest:
    """A transaction, what it commits for a group, and as which member of it."""

    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id_or_member_epoch: Int32 = wire(since=3, default=NO_GENERATION)
    member_id: String = wire(since=3)
    group_instance_id: String | None = wire(since=3, default=None)
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


@struct
class TxnOffsetCommitResponsePartition:
    """An error code, 0 if the offset is stored, to be in force when the transaction is committed."""

    partition_index: Int32
    error_code: Int16


@struct
class TxnOffsetCommitResponseTopic:
    """A topic's partitions."""

    name: String = wire(until=5, ignorable=True)
    topic_id: Uuid = wire(since=6, ignorable=True)
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@struct
class TxnOffsetCommitResponse:
    """One entry per partition."""

    throttle_time_ms: Int32
    topics: tuple[TxnOffsetCommitResponseTopic, ...]


TXN_OFFSET_COMMIT = Api(
    key=28,
    versions=Versions(0, 6),
    flexible=3,
    request=TxnOffsetCommitRequest,
    response=TxnOffsetCommitResponse,
)
