"""DescribeProducers (api key 61): who has lately written to a partition with a producer id (KIP-664).

The leader of each partition answers; its followers do too, from their own view. Surprises:

- A producer is known until producer.id.expiration.ms (1 day) after its last batch, or while its transaction is open.
- A transaction that began here long ago, and of which its coordinator knows nothing, hangs: it holds back the last
  stable offset until WriteTxnMarkers aborts it.
- Epochs are int32 here, int16 everywhere else.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct, wire

NO_SEQUENCE = -1  # as last_sequence: nothing but markers was written
NO_TIMESTAMP = -1
NO_TRANSACTION = -1  # as current_txn_start_offset


@struct
class DescribeProducersTopic:
    """Partitions of a topic."""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class DescribeProducersRequest:
    """Partitions that the broker leads or follows."""

    topics: tuple[DescribeProducersTopic, ...]


@struct
class ProducerState:
    """A producer, by its last batch in the partition."""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = wire(default=NO_SEQUENCE)
    last_timestamp: Int64 = wire(least=None, default=NO_TIMESTAMP)  # of a record, in milliseconds
    coordinator_epoch: Int32  # of who wrote the last marker; -1 if nobody has
    current_txn_start_offset: Int64 = wire(default=NO_TRANSACTION)


@struct
class DescribeProducersPartitionResponse:
    """A partition's producers."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    active_producers: tuple[ProducerState, ...]


@struct
class DescribeProducersTopicResponse:
    """A topic's partitions."""

    name: String
    partitions: tuple[DescribeProducersPartitionResponse, ...]


@struct
class DescribeProducersResponse:
    """One entry per requested partition."""

    throttle_time_ms: Int32
    topics: tuple[DescribeProducersTopicResponse, ...]


DESCRIBE_PRODUCERS = Api(
    key=61,
    versions=Versions(0, 0),
    flexible=0,
    request=DescribeProducersRequest,
    response=DescribeProducersResponse,
)
