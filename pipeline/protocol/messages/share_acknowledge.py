"""ShareAcknowledge (api key 79): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, Route, String, Uuid, Versions, struct, wire


@struct
class AcknowledgementBatch:
    """?"""

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: tuple[Int8, ...]


@struct
class AcknowledgePartition:
    """?"""

    partition_index: Int32
    acknowledgement_batches: tuple[AcknowledgementBatch, ...]


@struct
class AcknowledgeTopic:
    """?"""

    topic_id: Uuid
    partitions: tuple[AcknowledgePartition, ...]


@struct
class ShareAcknowledgeRequest:
    """?"""

    group_id: String | None = wire(default=None)
    member_id: String | None
    share_session_epoch: Int32
    is_renew_ack: Bool = wire(since=2)
    topics: tuple[AcknowledgeTopic, ...]


@struct
class LeaderIdAndEpoch:
    """?"""

    leader_id: Int32
    leader_epoch: Int32


@struct
class PartitionData:
    """?"""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    current_leader: LeaderIdAndEpoch


@struct
class ShareAcknowledgeTopicResponse:
    """?"""

    topic_id: Uuid
    partitions: tuple[PartitionData, ...]


@struct
class NodeEndpoint:
    """?"""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)


@struct
class ShareAcknowledgeResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acquisition_lock_timeout_ms: Int32 = wire(since=2, ignorable=True)
    responses: tuple[ShareAcknowledgeTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...]


SHARE_ACKNOWLEDGE = Api(
    key=79,
    versions=Versions(1, 2),
    flexible=0,
    route=Route.LEADER,
    request=ShareAcknowledgeRequest,
    response=ShareAcknowledgeResponse,
)
