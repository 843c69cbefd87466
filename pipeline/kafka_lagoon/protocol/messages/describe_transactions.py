"""DescribeTransactions (api key 65): what the coordinator knows of transactions (KIP-664).

The coordinator of each transactional id answers; one that it does not know is error 105. Topics that we may not
describe are left out without an error, and so are partitions that have their marker already.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct

ONGOING = "Ongoing"
# As transaction_state. Dead is never returned: such an id is error 105.
STATES = (
    "Empty",
    ONGOING,
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
)
NOT_STARTED = -1  # as transaction_start_time_ms: none since InitProducerId


@struct
class DescribeTransactionsRequest:
    """The transactional ids to describe."""

    transactional_ids: tuple[String, ...]


@struct
class TransactionTopic:
    """Partitions of a topic that the transaction writes to."""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class DescribedTransaction:
    """A transaction. Only while it is Ongoing, PrepareCommit or PrepareAbort it has topics."""

    error_code: Int16
    transactional_id: String
    transaction_state: String
    transaction_timeout_ms: Int32
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16  # -1 until the coordinator has stored the first epoch of the id
    topics: tuple[TransactionTopic, ...]


@struct
class DescribeTransactionsResponse:
    """One entry per requested id."""

    throttle_time_ms: Int32
    transaction_states: tuple[DescribedTransaction, ...]


DESCRIBE_TRANSACTIONS = Api(
    key=65,
    versions=Versions(0, 0),
    flexible=0,
    request=DescribeTransactionsRequest,
    response=DescribeTransactionsResponse,
)
