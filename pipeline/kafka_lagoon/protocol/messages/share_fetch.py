"""ShareFetch (api key 78): acquire records for a member of a share group, and acknowledge earlier ones (KIP-932).

The leader of each partition answers. Surprises:

- There is always a session, one per member and broker: share_session_epoch OPEN begins it, and then rises by one with
  each request of either API, from the greatest int32 to 1; CLOSE releases what the member has not acknowledged. The
  request that opens it must not acknowledge. Errors 122 and 123: open another. 133: the broker has too many.
- Requests name what changes: partitions of the session that they do not name stay in it.
- Batches come whole; only the offsets in acquired_records are the member's, until the lock times out.
- max_records is exceeded by whole batches, unless RECORD_LIMIT is asked for (v2, KIP-1206).
- What is wrong with acknowledgements is in acknowledge_error_code: 121 is a lock that the member does not have (any
  more). Batches must ascend, and have one type for all offsets or one for each: else error 42.
- A request that renews locks (RENEW, v2, KIP-1222) must say so in is_renew_ack, and fetches nothing: all its limits
  must be 0, except batch_size.
- No topics at all and a throttle time is an answer that was throttled away.
"""

from kafka_lagoon.wire.schema import (
    Api,
    Bool,
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

OPEN, CLOSE = 0, -1  # as share_session_epoch
GAP = 0  # there is no record at the offset
ACCEPT = 1
RELEASE = 2  # for another delivery, to whomever
REJECT = 3  # no delivery any more
RENEW = 4  # v2: the member goes on with it, under a new lock
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1  # as share_acquire_mode


@struct
class ShareFetchAcknowledgementBatch:
    """Acknowledgement of the records at some offsets, the last one included."""

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: tuple[Int8, ...]  # GAP to RENEW: one for all, or one for each


@struct
class ShareFetchPartition:
    """A partition, and what to acknowledge in it."""

    partition_index: Int32
    acknowledgement_batches: tuple[ShareFetchAcknowledgementBatch, ...]


@struct
class ShareFetchTopic:
    """A topic's partitions."""

    topic_id: Uuid
    partitions: tuple[ShareFetchPartition, ...]


@struct
class ShareForgottenTopic:
    """Partitions that leave the session."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class ShareFetchRequest:
    """Whose session it is, how much to acquire, and how long the broker may wait for min_bytes of it."""

    group_id: String | None = wire(default=None)  # null is error 42, like a null member_id
    member_id: String | None
    share_session_epoch: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = wire(default=0x7FFFFFFF)
    max_records: Int32
    batch_size: Int32  # how many records an entry of acquired_records should have
    share_acquire_mode: Int8 = wire(since=2, default=BATCH_OPTIMIZED, ignorable=True)
    is_renew_ack: Bool = wire(since=2)
    topics: tuple[ShareFetchTopic, ...]
    forgotten_topics_data: tuple[ShareForgottenTopic, ...]


@struct
class ShareFetchLeaderIdAndEpoch:
    """The current leader, with errors 6 and 74; -1 if the broker does not know."""

    leader_id: Int32
    leader_epoch: Int32


@struct
class AcquiredRecords:
    """Offsets whose records are the member's, the last one included, and how often they were delivered."""

    first_offset: Int64
    last_offset: Int64
    delivery_count: Int16


@struct
class ShareFetchPartitionData:
    """A partition's batches, one after the other as they are stored, and what of them is the member's."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acknowledge_error_code: Int16
    acknowledge_error_message: String | None = wire(default=None)
    current_leader: ShareFetchLeaderIdAndEpoch
    records: Records
    acquired_records: tuple[AcquiredRecords, ...]


@struct
class ShareFetchableTopicResponse:
    """A topic's partitions."""

    topic_id: Uuid
    partitions: tuple[ShareFetchPartitionData, ...]


@struct
class ShareFetchNodeEndpoint:
    """The address of a broker that current_leader names (KIP-951)."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)


@struct
class ShareFetchResponse:
    """Partitions with records, acknowledgements or errors, in any order."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acquisition_lock_timeout_ms: Int32  # after which acquired records go to others
    responses: tuple[ShareFetchableTopicResponse, ...]
    node_endpoints: tuple[ShareFetchNodeEndpoint, ...]


SHARE_FETCH = Api(
    key=78,
    versions=Versions(1, 2),
    flexible=0,
    request=ShareFetchRequest,
    response=ShareFetchResponse,
)
