"""ShareAcknowledge (api key 79): acknowledge records that ShareFetch acquired, without fetching (KIP-932).

The leader of each partition answers. It goes on with the session that ShareFetch opened on the same broker, cannot open
one (error 123), and counts in the same epoch; CLOSE ends the session and releases what is not acknowledged. Types of
acknowledgements are those of `share_fetch`, and so are their rules. An error of one partition leaves the others
acknowledged.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, String, Uuid, Versions, struct, wire

CLOSE = -1  # as share_session_epoch


@struct
class ShareAcknowledgementBatch:
    """Acknowledgement of the records at some offsets, the last one included."""

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: tuple[Int8, ...]  # one for all, or one for each


@struct
class ShareAcknowledgePartition:
    """A partition, and what to acknowledge in it, in ascending order."""

    partition_index: Int32
    acknowledgement_batches: tuple[ShareAcknowledgementBatch, ...]


@struct
class ShareAcknowledgeTopic:
    """A topic's partitions."""

    topic_id: Uuid
    partitions: tuple[ShareAcknowledgePartition, ...]


@struct
class ShareAcknowledgeRequest:
    """Whose session it is, and what to acknowledge."""

    group_id: String | None = wire(default=None)  # null is error 42, like a null member_id
    member_id: String | None
    share_session_epoch: Int32
    is_renew_ack: Bool = wire(since=2)  # KIP-1222: there are acknowledgements of type RENEW
    topics: tuple[ShareAcknowledgeTopic, ...]


@struct
class ShareAcknowledgeLeaderIdAndEpoch:
    """The current leader, with errors 6 and 74; -1 if the broker does not know."""

    leader_id: Int32
    leader_epoch: Int32


@struct
class ShareAcknowledgePartitionData:
    """An error code, 0 if all batches of the partition are acknowledged; 121 if the member does not have the lock."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    current_leader: ShareAcknowledgeLeaderIdAndEpoch


@struct
class ShareAcknowledgeTopicResponse:
    """A topic's partitions."""

    topic_id: Uuid
    partitions: tuple[ShareAcknowledgePartitionData, ...]


@struct
class ShareAcknowledgeNodeEndpoint:
    """The address of a broker that current_leader names (KIP-951)."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)


@struct
class ShareAcknowledgeResponse:
    """One entry per partition, in any order."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acquisition_lock_timeout_ms: Int32 = wire(since=2, ignorable=True)  # of locks that were renewed
    responses: tuple[ShareAcknowledgeTopicResponse, ...]
    node_endpoints: tuple[ShareAcknowledgeNodeEndpoint, ...]


SHARE_ACKNOWLEDGE = Api(
    key=79,
    versions=Versions(1, 2),
    flexible=0,
    request=ShareAcknowledgeRequest,
    response=ShareAcknowledgeResponse,
)
