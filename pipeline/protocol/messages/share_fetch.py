"""ShareFetch (api key 78): ?"""

from pipeline.wire.schema import (
    Api,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    Route,
    String,
    Uuid,
    Versions,
    struct,
    wire,
)


@struct
class AcknowledgementBatch:
    """?"""

    first_offset: Int64
    last_offset: Int64
    acknowledge_types: tuple[Int8, ...]


@struct
class FetchPartition:
    """?"""

    partition_index: Int32
    acknowledgement_batches: tuple[AcknowledgementBatch, ...]


@struct
class FetchTopic:
    """?"""

    topic_id: Uuid
    partitions: tuple[FetchPartition, ...]


@struct
class ForgottenTopic:
    """?"""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class ShareFetchRequest:
    """?"""

    group_id: String | None = wire(default=None)
    member_id: String | None
    share_session_epoch: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = wire(default=2147483647)
    max_records: Int32
    batch_size: Int32
    share_acquire_mode: Int8 = wire(since=2, ignorable=True)
    is_renew_ack: Bool = wire(since=2)
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: tuple[ForgottenTopic, ...]


@struct
class LeaderIdAndEpoch:
    """?"""

    leader_id: Int32
    leader_epoch: Int32


@struct
class AcquiredRecords:
    """?"""

    first_offset: Int64
    last_offset: Int64
    delivery_count: Int16


@struct
class PartitionData:
    """?"""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acknowledge_error_code: Int16
    acknowledge_error_message: String | None = wire(default=None)
    current_leader: LeaderIdAndEpoch
    records: Records
    acquired_records: tuple[AcquiredRecords, ...]


@struct
class ShareFetchableTopicResponse:
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
class ShareFetchResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    acquisition_lock_timeout_ms: Int32
    responses: tuple[ShareFetchableTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...]


SHARE_FETCH = Api(
    key=78,
    versions=Versions(1, 2),
    flexible=0,
    route=Route.LEADER,
    request=ShareFetchRequest,
    response=ShareFetchResponse,
)
