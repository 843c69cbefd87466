"""AddPartitionsToTxn (api key 24): partitions that a transaction is about to write to.

The coordinator of the transaction answers. Surprises:

- v4 and later are for brokers among themselves and need CLUSTER_ACTION: clients ask in BY_CLIENTS.
- All or nothing: if one partition is refused the others are error 55, and none is added.
- There is no error of the whole request up to v3: what concerns the transaction (14, 16, 49, 51, 53, 90) is in every
  partition. 51 means that the transaction before is still being ended: ask again.
- Where the cluster's feature transaction.version is 2, producers leave this to Produce v12 (KIP-890).
"""

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, Int64, String, Versions, struct, wire

BY_CLIENTS, BY_BROKERS = Versions(0, 3), Versions(4, 5)


@struct
class AddPartitionsToTxnTopic:
    """Partitions of a topic."""

    name: String
    partitions: tuple[Int32, ...]


@struct
class AddPartitionsToTxnTransaction:
    """A transaction, and what to add to it, or only to look up in it (KIP-890)."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool
    topics: tuple[AddPartitionsToTxnTopic, ...]


@struct
class AddPartitionsToTxnRequest:
    """One transaction (v0 to v3) or many (v4 and later)."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...] = wire(since=4)
    v3_and_below_transactional_id: String = wire(until=3)
    v3_and_below_producer_id: Int64 = wire(until=3)
    v3_and_below_producer_epoch: Int16 = wire(until=3)
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = wire(until=3)


@struct
class AddPartitionsToTxnPartitionResult:
    """An error code, 0 if the partition is in the transaction."""

    partition_index: Int32
    partition_error_code: Int16


@struct
class AddPartitionsToTxnTopicResult:
    """A topic's partitions."""

    name: String
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


@struct
class AddPartitionsToTxnResult:
    """A transaction's partitions."""

    transactional_id: String
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


@struct
class AddPartitionsToTxnResponse:
    """One entry per partition, of the one transaction or of the many."""

    throttle_time_ms: Int32
    error_code: Int16 = wire(since=4, ignorable=True)
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = wire(since=4)
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = wire(until=3)


ADD_PARTITIONS_TO_TXN = Api(
    key=24,
    versions=Versions(0, 5),
    flexible=3,
    request=AddPartitionsToTxnRequest,
    response=AddPartitionsToTxnResponse,
)
