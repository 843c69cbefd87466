"""ListTransactions, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_lagoon.wire.writing import encode


def test_no_filters() -> None:
    """Empty lists, -1 and null filter nothing."""
    assert encode(ListTransactionsRequest(), 0, True) == bytes.fromhex("01 01 00")
    assert encode(ListTransactionsRequest(), 1, True) == bytes.fromhex("01 01 ffffffffffffffff 00")
    assert encode(ListTransactionsRequest(), 2, True) == bytes.fromhex("01 01 ffffffffffffffff 00 00")


def test_filters_are_not_ignorable() -> None:
    """A version without a filter refuses it, since the response would have unrequested transactions."""
    for request, version in (
        (ListTransactionsRequest(duration_filter=60_000), 0),
        (ListTransactionsRequest(transactional_id_pattern="t.*"), 1),
    ):
        with pytest.raises(EncodeError):
            encode(request, version, True)
