"""Produce (api key 0): batches of records to append to partitions.

The leader of each partition answers. Surprises:

- With NO_ACKS there is no answer at all, not even for errors: the broker closes the connection instead.
- A partition takes exactly one batch of format 2 a request (error 87 for none, several, or older formats, from v3 on).
- ALL_ACKS waits for the replicas that are in sync at that time. If these are fewer than min.insync.replicas the batch is
  refused (error 19). Error 20, and a timeout (7), come when the leader has written it already: sent again, the records
  are there twice.
- Only a producer id with sequence numbers avoids that: one of its last five batches, sent again, is answered with the
  offset that it has, and error 0.
- Topics go by name up to v12 and by id from v13 on (KIP-516); error 100 is an id that the broker does not know.
- Within a transaction, v12 and later add partitions to it by themselves, and may be used only where the cluster's feature
  transaction.version is 2 (KIP-890). Elsewhere v11 is the newest, and AddPartitionsToTxn comes first.
- Up to v6 a batch compressed with zstd is error 76 (KIP-110).
- Brokers 4.x list v0 to v2, for the sake of old librdkafka (KAFKA-18659), and refuse them.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, Records, String, Uuid, Versions, struct, wire

NO_ACKS, LEADER_ACKS, ALL_ACKS = 0, 1, -1  # any other number is error 21 of each partition
BY_NAME, BY_ID = Versions(0, 12), Versions(13, 13)

NO_OFFSET = -1  # as base_offset, beside an error
NO_LOG_APPEND_TIME = -1  # the topic keeps the times that producers set


@struct
class PartitionProduceData:
    """A partition, and the batch to append to it."""

    index: Int32
    records: Records | None


@struct
class TopicProduceData:
    """A topic by name or by id, and its partitions."""

    name: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partition_data: tuple[PartitionProduceData, ...]


@struct
class ProduceRequest:
    """Batches for partitions that the broker leads. The timeout bounds how long it waits for ALL_ACKS."""

    transactional_id: String | None = wire(since=3, default=None)  # KIP-98: null outside transactions
    acks: Int16
    timeout_ms: Int32
    topic_data: tuple[TopicProduceData, ...]


@struct
class BatchIndexAndErrorMessage:
    """A record for which the whole batch was refused, by its place within the batch."""

    batch_index: Int32
    batch_index_error_message: String | None = wire(default=None)


@struct
class ProduceLeaderIdAndEpoch:
    """The current leader, with error 6; -1 if the broker does not know."""

    leader_id: Int32 = wire(default=-1)
    leader_epoch: Int32 = wire(default=-1)


@struct
class PartitionProduceResponse:
    """The base offset of the batch in the log, or the error that refused it."""

    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64 = wire(since=2, default=NO_LOG_APPEND_TIME, ignorable=True)
    log_start_offset: Int64 = wire(since=5, default=NO_OFFSET, ignorable=True)  # KIP-192; -1 beside most errors
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = wire(since=8, ignorable=True)  # KIP-467
    error_message: String | None = wire(since=8, default=None, ignorable=True)
    current_leader: ProduceLeaderIdAndEpoch = wire(since=10, tag=0)  # KIP-951


@struct
class TopicProduceResponse:
    """A topic's partitions."""

    name: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partition_responses: tuple[PartitionProduceResponse, ...]


@struct
class ProduceNodeEndpoint:
    """The address of a broker that current_leader names (KIP-951)."""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)


@struct
class ProduceResponse:
    """One entry per partition, in any order."""

    responses: tuple[TopicProduceResponse, ...]
    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    node_endpoints: tuple[ProduceNodeEndpoint, ...] = wire(since=10, tag=0)


PRODUCE = Api(
    key=0,
    versions=Versions(0, 13),
    flexible=9,
    request=ProduceRequest,
    response=ProduceResponse,
)
