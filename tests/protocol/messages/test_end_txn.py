"""EndTxn, byte by byte."""

from kafka_lagoon.protocol.messages.end_txn import (
    COMMIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    EndTxnRequest,
    EndTxnResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_commit() -> None:
    """True commits, false aborts."""
    request = EndTxnRequest(transactional_id="t", producer_id=9, producer_epoch=2, committed=COMMIT)
    assert encode(request, 0, False) == bytes.fromhex("0001 74 0000000000000009 0002 01")


def test_next_epoch() -> None:
    """v5 has the id and epoch of the next transaction (KIP-890); in v4 they are -1 and not 0."""
    new = decode(EndTxnResponse, 5, True, bytes.fromhex("00000000 0000 0000000000000009 0003 00"))
    old = decode(EndTxnResponse, 4, True, bytes.fromhex("00000000 0000 00"))
    assert (new.producer_id, new.producer_epoch) == (9, 3)
    assert (old.producer_id, old.producer_epoch) == (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
