"""Fetch (api key 1): records of partitions, as the batches that the brokers store.

The leader of each partition answers; from v11 on a follower does too, from its own and older view, and without an
error. Surprises:

- Topics go by name up to v12 and by id from v13 on. By name a re-created topic answers with
  other data and error 0; by id it is error 100.
- No topics at all and a throttle time is an answer that was throttled away: ask again when the time has passed. An empty
  answer never is the end of the log.
- At least one whole batch comes, whatever the limits say (v3, KIP-74). Before that a batch beyond the limit is cut off.
  The first batch may begin before the requested offset, and the last one may be cut.
- Deleted records before log_start_offset, and records after the end of a range, come along within their batch.
- The checksums of batches are not verified by brokers.
- OFFSET_OUT_OF_RANGE comes with -1 for every offset: it does not say on which side.
- last_fetched_epoch (v12) is for followers by its design, and answered to clients too: a log truncated since then
  is reported in diverging_epoch, with error 0 and without records (KIP-595).
- Aborted transactions are listed for READ_COMMITTED only, in no order that could be relied on; null is none.
- Below v10 a batch compressed with zstd is error 76 (KIP-110).
- A session (v7, KIP-227) lets answers leave out what has not changed; NO_SESSION and NO_SESSION_EPOCH ask without one.
"""

from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.wire.schema import (
    Api,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Uuid,
    Versions,
    struct,
    wire,
)

CONSUMER_REPLICA_ID = -1
NO_SESSION, NO_SESSION_EPOCH = 0, -1
NO_RACK = ""
NO_REPLICA = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
BY_NAME, BY_ID = Versions(0, 12), Versions(13, 18)

_NO_HIGH_WATERMARK = MOST_INT64


@struct
class FetchPartition:
    """A partition, and where to read on in it."""

    partition: Int32
    current_leader_epoch: Int32 = wire(since=9, default=-1, ignorable=True)  # KIP-320: the leader fences stale clients
    fetch_offset: Int64
    last_fetched_epoch: Int32 = wire(since=12, default=-1)  # epoch of the record before fetch_offset
    log_start_offset: Int64 = wire(since=5, default=-1, ignorable=True)  # a follower's
    partition_max_bytes: Int32
    replica_directory_id: Uuid = wire(since=17, tag=0, ignorable=True)  # a follower's, KIP-853
    high_watermark: Int64 = wire(since=18, tag=1, default=_NO_HIGH_WATERMARK, ignorable=True)  # a follower's, KIP-1166


@struct
class FetchTopic:
    """A topic by name or by id, and its partitions."""

    topic: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)  # KIP-516
    partitions: tuple[FetchPartition, ...]


@struct
class ForgottenTopic:
    """Partitions that leave a session."""

    topic: String = wire(since=7, until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partitions: tuple[Int32, ...] = wire(since=7)


@struct
class ReplicaState:
    """The replica that fetches (KIP-903), -1 for a consumer."""

    replica_id: Int32 = wire(since=15, default=CONSUMER_REPLICA_ID)
    replica_epoch: Int64 = wire(since=15, default=-1)


@struct
class FetchRequest:
    """Partitions to read, and how long the broker may wait for min_bytes. max_bytes bounds all partitions together."""

    cluster_id: String | None = wire(since=12, tag=0, nullable_since=12, default=None, ignorable=True)
    replica_id: Int32 = wire(until=14, default=CONSUMER_REPLICA_ID)
    replica_state: ReplicaState = wire(since=15, tag=1)
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = wire(since=3, default=0x7FFFFFFF, ignorable=True)
    isolation_level: Int8 = wire(since=4, default=READ_UNCOMMITTED, ignorable=True)  # KIP-98
    session_id: Int32 = wire(since=7, default=NO_SESSION, ignorable=True)
    session_epoch: Int32 = wire(since=7, default=NO_SESSION_EPOCH, ignorable=True)
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...] = wire(since=7)
    # KIP-392: with a rack, followers may be preferred.
    rack_id: String = wire(since=11, default=NO_RACK, ignorable=True)


@struct
class EpochEndOffset:
    """The point at which the logs diverge: the largest epoch that both have, and its end offset. -1 and -1 if they do not."""

    epoch: Int32 = wire(since=12, default=-1)
    end_offset: Int64 = wire(since=12, default=-1)


@struct
class LeaderIdAndEpoch:
    """The current leader, with errors 6 and 74; -1 if the broker does not know."""

    leader_id: Int32 = wire(since=12, default=-1)
    leader_epoch: Int32 = wire(since=12, default=-1)


@struct
class SnapshotId:
    """A snapshot of the metadata log; returned only to its replicas."""

    end_offset: Int64 = wire(default=-1)
    epoch: Int32 = wire(default=-1)


@struct
class AbortedTransaction:
    """A transaction whose records are to be left out, from its first one to its abort marker."""

    producer_id: Int64 = wire(since=4)
    first_offset: Int64 = wire(since=4)


@struct
class PartitionData:
    """Batches of a partition, one after the other as they are stored; null and empty mean the same."""

    partition_index: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = wire(since=4, default=-1, ignorable=True)
    log_start_offset: Int64 = wire(since=5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = wire(since=12, tag=0)
    current_leader: LeaderIdAndEpoch = wire(since=12, tag=1)
    snapshot_id: SnapshotId = wire(since=12, tag=2)
    aborted_transactions: tuple[AbortedTransaction, ...] | None = wire(since=4, nullable_since=4, ignorable=True)
    preferred_read_replica: Int32 = wire(since=11, default=NO_REPLICA)  # then without records
    records: Records | None


@struct
class FetchableTopicResponse:
    """A topic's partitions."""

    topic: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partitions: tuple[PartitionData, ...]


@struct
class NodeEndpoint:
    """The address of a broker that current_leader names (KIP-951)."""

    node_id: Int32 = wire(since=16)
    host: String = wire(since=16)
    port: Int32 = wire(since=16)
    rack: String | None = wire(since=16, default=None)


@struct
class FetchResponse:
    """Topics in any order; errors of the whole request exist with sessions only."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16 = wire(since=7, ignorable=True)
    session_id: Int32 = wire(since=7, default=NO_SESSION)
    responses: tuple[FetchableTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...] = wire(since=16, tag=0)


FETCH = Api(
    key=1,
    versions=Versions(0, 18),
    flexible=12,
    request=FetchRequest,
    response=FetchResponse,
)
