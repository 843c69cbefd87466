"""OffsetFetch (api key 9): what groups have committed.

The coordinator of each group answers. Surprises:

- v0 to v7 ask about one group, in fields of the request itself; v8 and later about many, in a list (KIP-709).
- All topics are asked for by null: from v2 on (KIP-88). Topics that we may not see are then left out without an error.
- v10 names topics by id only, so commits on topics that were deleted cannot be asked for any more.
- v0 reads what old consumers stored in ZooKeeper; brokers without one answer error 35 for each partition.
- A partition without a commit has offset -1 and error 0, and so has every partition of a group that does not exist.
- With `require_stable`, an offset that a transaction is about to replace is error 88 (KIP-447). If the transaction
  would be the partition's first commit, and all topics were asked for, the partition is left out.
- Errors of the whole group (16, 14, 30) are in every partition in v0 and v1, in the response from v2, in the group from
  v8.
"""

from collections.abc import Sequence

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, Int64, String, Uuid, Versions, struct, wire

NO_COMMIT = -1  # as committed_offset


@struct
class OffsetFetchTopic:
    """Partitions of a topic to read the commits of."""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)  # KIP-848
    partition_indexes: tuple[Int32, ...]


@struct
class OffsetFetchGroup:
    """A group, and its topics, or null for all. Member id and epoch only if a KIP-848 member asks for itself."""

    group_id: String = wire(since=8)
    member_id: String | None = wire(since=9, default=None, ignorable=True)
    member_epoch: Int32 = wire(since=9, default=-1, ignorable=True)
    topics: tuple[OffsetFetchTopic, ...] | None = wire(since=8)


@struct
class OffsetFetchRequest:
    """One group (v0 to v7) or many (v8 and later)."""

    group_id: String = wire(until=7)
    topics: tuple[OffsetFetchTopic, ...] | None = wire(until=7, nullable_since=2)
    groups: tuple[OffsetFetchGroup, ...] = wire(since=8)
    require_stable: Bool = wire(since=7)  # KIP-447


@struct
class OffsetFetchResponsePartition:
    """The committed offset of a partition; `metadata` is the committer's own text."""

    partition_index: Int32
    committed_offset: Int64 = wire(least=None)  # brokers store whatever a client commits
    committed_leader_epoch: Int32 = wire(since=5, least=None, default=-1, ignorable=True)  # KIP-320
    metadata: String | None
    error_code: Int16


@struct
class OffsetFetchResponseTopic:
    """A topic's partitions."""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)
    partitions: Sequence[OffsetFetchResponsePartition]


@struct
class OffsetFetchResponseGroup:
    """A group's commits."""

    group_id: String = wire(since=8)
    topics: Sequence[OffsetFetchResponseTopic] = wire(since=8)
    error_code: Int16 = wire(since=8)


@struct
class OffsetFetchResponse:
    """The commits of the one group, or those of the many."""

    throttle_time_ms: Int32 = wire(since=3, ignorable=True)
    topics: Sequence[OffsetFetchResponseTopic] = wire(until=7)
    error_code: Int16 = wire(since=2, until=7, ignorable=True)
    groups: Sequence[OffsetFetchResponseGroup] = wire(since=8)


OFFSET_FETCH = Api(
    key=9,
    versions=Versions(0, 10),
    flexible=6,
    request=OffsetFetchRequest,
    response=OffsetFetchResponse,
)
