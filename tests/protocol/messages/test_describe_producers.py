"""DescribeProducers, byte by byte."""

from kafka_lagoon.protocol.messages.describe_producers import NO_SEQUENCE, NO_TIMESTAMP, NO_TRANSACTION, ProducerState
from kafka_lagoon.wire.reading import decode


def test_producer_without_batches() -> None:
    """Fields that a producer does not have are -1; its epoch has four bytes in this message."""
    spelled = "0000000000000009 00000002 ffffffff ffffffffffffffff 00000004 ffffffffffffffff 00"
    decoded = decode(ProducerState, 0, True, bytes.fromhex(spelled))
    assert (decoded.producer_id, decoded.producer_epoch, decoded.coordinator_epoch) == (9, 2, 4)
    assert (decoded.last_sequence, decoded.last_timestamp) == (NO_SEQUENCE, NO_TIMESTAMP)
    assert decoded.current_txn_start_offset == NO_TRANSACTION
