"""DescribeTransactions, byte by byte."""

from kafka_lagoon.protocol.messages.describe_transactions import NOT_STARTED, STATES, DescribedTransaction
from kafka_lagoon.wire.reading import decode


def test_transaction_that_has_not_begun() -> None:
    """Without a transaction there is no start time, and there are no topics."""
    spelled = "0000 0274 06 456d707479 0000ea60 ffffffffffffffff 0000000000000009 0002 01 00"
    decoded = decode(DescribedTransaction, 0, True, bytes.fromhex(spelled))
    assert decoded.transaction_state in STATES
    assert (decoded.transaction_start_time_ms, decoded.topics) == (NOT_STARTED, ())
