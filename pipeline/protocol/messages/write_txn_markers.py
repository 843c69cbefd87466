"""WriteTxnMarkers (api key 27): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class WritableTxnMarkerTopic:
    """?"""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class WritableTxnMarker:
    """?"""

    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: Int32
    transaction_version: Int8 = wire(since=2, ignorable=True)


@struct
class WriteTxnMarkersRequest:
    """?"""

    markers: tuple[WritableTxnMarker, ...]


@struct
class WritableTxnMarkerPartitionResult:
    """?"""

    partition_index: Int32
    error_code: Int16


@struct
class WritableTxnMarkerTopicResult:
    """?"""

    name: String
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@struct
class WritableTxnMarkerResult:
    """?"""

    producer_id: Int64
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@struct
class WriteTxnMarkersResponse:
    """?"""

    markers: tuple[WritableTxnMarkerResult, ...]


WRITE_TXN_MARKERS = Api(
    key=27,
    versions=Versions(0, 2),
    flexible=1,
    route=Route.LEADER,
    request=WriteTxnMarkersRequest,
    response=WriteTxnMarkersResponse,
)
