"""OffsetCommit (api key 8): store how far a group has read.

The coordinator of the group answers. Surprises:

- Who is not a member (NO_GENERATION, and no member id) may commit only while the group has no members: else error 25. A
  group that does not exist is made by it. Members give their generation, or their epoch in KIP-848 groups.
- An offset is not checked against the log: the group may commit one that is deleted, or not written yet. The topic must
  exist (error 3).
- There is no error of the whole request: what concerns the group (16, 14, 30, 22, 25, 27) is in every partition.
- v10 names topics by id only (error 100), v9 and earlier by name only.
- From v9 on a member of a group that is not there is error 69, before that 22. A KIP-848 member whose epoch is older
  is error 113, and asks again after its next heartbeat; recent brokers take an older epoch for partitions that the
  member had then and still has (KIP-1251).
- Metadata beyond offset.metadata.max.bytes (4096) are error 12 of the partition alone; the others are stored.
- v0 stores in ZooKeeper, like old consumers; brokers without one refuse it.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Uuid, Versions, struct, wire

NO_GENERATION = -1  # not a member
BROKERS_RETENTION = -1  # as retention_time_ms: offsets.retention.minutes
BY_NAME, BY_ID = Versions(0, 9), Versions(10, 10)


@struct
class OffsetCommitRequestPartition:
    """A commit: the offset to read next, not that of the last record that was read."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = wire(since=6, default=-1, ignorable=True)  # KIP-320: epoch of the last record read
    commit_timestamp: Int64 = wire(since=1, until=1, default=-1)
    committed_metadata: String | None  # the committer's own text


@struct
class OffsetCommitRequestTopic:
    """A topic by name or by id, and its partitions."""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)  # KIP-848
    partitions: tuple[OffsetCommitRequestPartition, ...]


@struct
class OffsetCommitRequest:
    """The commits of a group, and the member that makes them."""

    group_id: String
    generation_id_or_member_epoch: Int32 = wire(since=1, default=NO_GENERATION, ignorable=True)
    member_id: String = wire(since=1, ignorable=True)
    group_instance_id: String | None = wire(since=7, default=None)  # KIP-345: static membership
    retention_time_ms: Int64 = wire(since=2, until=4, default=BROKERS_RETENTION, ignorable=True)
    topics: tuple[OffsetCommitRequestTopic, ...]


@struct
class OffsetCommitResponsePartition:
    """An error code, 0 if the offset is stored."""

    partition_index: Int32
    error_code: Int16


@struct
class OffsetCommitResponseTopic:
    """A topic's partitions."""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)
    partitions: tuple[OffsetCommitResponsePartition, ...]


@struct
class OffsetCommitResponse:
    """One entry per partition, in any order."""

    throttle_time_ms: Int32 = wire(since=3, ignorable=True)
    topics: tuple[OffsetCommitResponseTopic, ...]


OFFSET_COMMIT = Api(
    key=8,
    versions=Versions(0, 10),
    flexible=8,
    request=OffsetCommitRequest,
    response=OffsetCommitResponse,
)
