"""WriteTxnMarkers (api key 27): the end of transactions, written into their partitions.

The leader of each partition answers. Coordinators ask, after EndTxn; administrators to abort a transaction that its
coordinator has forgotten (KIP-664). Surprises:

- It needs ALTER or CLUSTER_ACTION on the cluster, the latter with brokers older than 3.8. Without it every partition is
  error 31.
- A marker of a coordinator that is older than one that wrote before is error 52 (coordinator_epoch), one of an older
  epoch of the producer is 47. To abort by hand, give both as DescribeProducers tells them.
- transaction_version 2 wants an epoch that is larger than the producer's last, others take the same one too (KIP-1228),
  so 0 is for doing it by hand.
- v0 is gone from brokers 4.x, and the answer has no throttle time in any version.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, String, Versions, struct, wire

COMMIT, ABORT = True, False  # as transaction_result


@struct
class WritableTxnMarkerTopic:
    """Partitions of a topic."""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class WritableTxnMarker:
    """The end of a producer's transaction, and the partitions to write it to."""

    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: Int32  # epoch of the coordinator that decided
    transaction_version: Int8 = wire(since=2, ignorable=True)  # KIP-1228: 0 and 1 are the same


@struct
class WriteTxnMarkersRequest:
    """Markers for partitions that the broker leads."""

    markers: tuple[WritableTxnMarker, ...]


@struct
class WritableTxnMarkerPartitionResult:
    """An error code, 0 if the marker is written."""

    partition_index: Int32
    error_code: Int16


@struct
class WritableTxnMarkerTopicResult:
    """A topic's partitions."""

    name: String
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@struct
class WritableTxnMarkerResult:
    """A producer's partitions."""

    producer_id: Int64
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@struct
class WriteTxnMarkersResponse:
    """One entry per producer and partition."""

    markers: tuple[WritableTxnMarkerResult, ...]


WRITE_TXN_MARKERS = Api(
    key=27,
    versions=Versions(0, 2),
    flexible=1,
    request=WriteTxnMarkersRequest,
    response=WriteTxnMarkersResponse,
)
