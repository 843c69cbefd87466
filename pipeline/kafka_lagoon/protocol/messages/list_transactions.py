"""ListTransactions (api key 66): transactional ids, and how their transactions stand (KIP-664).

Each broker answers for what it coordinates, so the request goes to all. Surprises:

- Filters all apply together; an empty one, null, or EVERY_DURATION lets everything through.
- A state that the broker does not know is listed in unknown_state_filters; if it was the only one nothing is listed, with
  error 0.
- While the broker loads any of its transactions the whole answer is error 14.
- For a duration filter a transaction that has not begun is older than any: ask for state Ongoing as well.
- Ids that we may not describe are left out without an error.
- A pattern that is no regular expression (RE2) is error 128.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct, wire

EVERY_DURATION = -1  # as duration_filter; any negative number is


@struct
class ListTransactionsRequest:
    """Filters of the transactions to list."""

    state_filters: tuple[String, ...]
    producer_id_filters: tuple[Int64, ...]
    duration_filter: Int64 = wire(since=1, default=EVERY_DURATION)  # KIP-994: milliseconds, open for longer
    transactional_id_pattern: String | None = wire(since=2, default=None)  # KIP-1152: matches the whole id


@struct
class ListedTransaction:
    """A transactional id, the producer that has it, and the state of its transaction as in DescribeTransactions."""

    transactional_id: String
    producer_id: Int64
    transaction_state: String


@struct
class ListTransactionsResponse:
    """The transactions that the broker coordinates and the filters let through."""

    throttle_time_ms: Int32
    error_code: Int16
    unknown_state_filters: tuple[String, ...]
    transaction_states: tuple[ListedTransaction, ...]


LIST_TRANSACTIONS = Api(
    key=66,
    versions=Versions(0, 2),
    flexible=0,
    request=ListTransactionsRequest,
    response=ListTransactionsResponse,
)
