"""ListOffsets (api key 2): where a partition's log begins, ends, or passed a point in time.

The leader of each partition answers. A timestamp of milliseconds asks for the first record at or after it, a negative
one for a special point of the log, see the constants. Surprises:

- "No such offset" is -1 with error 0: a time after the last record, an empty log (MAX_TIMESTAMP), a log that is not
  tiered.
- The same partition twice in one request is refused (error 42), so each kind of offset is a request of its own.
- A special timestamp that the version does not know is error 35 of the partition, not of the request.
- LATEST is the high watermark, or the last stable offset under READ_COMMITTED.
- After an election the end may not be known yet: error 78 (v5 and later, KIP-207), before that error 5.
- v0 answers with a list of offsets and without a timestamp.
"""

from collections.abc import Sequence

from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, Int64, String, Versions, struct, wire

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3  # v7, KIP-734: the record with the largest timestamp, not the offset after it
EARLIEST_LOCAL = -4  # v8, KIP-405: first offset on the leader's own disk
LATEST_TIERED = -5  # v9, KIP-1005: last offset in remote storage
EARLIEST_PENDING_UPLOAD = -6  # v11, KIP-1023: first offset that remote storage does not have yet

CONSUMER_REPLICA_ID = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@struct
class ListOffsetsPartition:
    """A partition, and the requested point of its log."""

    partition_index: Int32
    current_leader_epoch: Int32 = wire(since=4, default=-1, ignorable=True)  # KIP-320: the leader fences stale clients
    timestamp: Int64
    max_num_offsets: Int32 = wire(until=0, default=1)


@struct
class ListOffsetsTopic:
    """A topic's partitions."""

    name: String
    partitions: Sequence[ListOffsetsPartition]


@struct
class ListOffsetsRequest:
    """Partitions led by the broker that answers. Clients must set CONSUMER_REPLICA_ID: the default, 0, is a broker."""

    replica_id: Int32
    isolation_level: Int8 = wire(since=2)  # KIP-98
    topics: Sequence[ListOffsetsTopic]
    timeout_ms: Int32 = wire(since=10, ignorable=True)  # KIP-1075: for lookups in remote storage


@struct
class ListOffsetsResponsePartition:
    """The answer for one partition. The timestamp is -1 unless a record was looked for."""

    partition_index: Int32
    error_code: Int16
    old_style_offsets: tuple[Int64, ...] = wire(until=0)  # newest first
    timestamp: Int64 = wire(since=1, least=None, default=-1)  # KIP-79; of a record, which its producer chose
    offset: Int64 = wire(since=1, default=-1)
    leader_epoch: Int32 = wire(since=4, default=-1)  # KIP-320: the epoch in which the offset was written


@struct
class ListOffsetsResponseTopic:
    """A topic's partitions."""

    name: String
    partitions: Sequence[ListOffsetsResponsePartition]


@struct
class ListOffsetsResponse:
    """One offset per requested partition."""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    topics: Sequence[ListOffsetsResponseTopic]


LIST_OFFSETS = Api(
    key=2,
    versions=Versions(0, 11),
    flexible=6,
    request=ListOffsetsRequest,
    response=ListOffsetsResponse,
)
