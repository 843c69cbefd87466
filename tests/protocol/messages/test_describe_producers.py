"""DescribeProducers, byte by byte."""

from kafka_lagoon.protocol.messages.describe_producers import NO_SEQUENCE, NO_TIMESTAMP, NO_TRANSACTION, ProducerState
from kafka_lagoon.wire.reading import decode


def test_producer_without_batches() -> None:
    """What a producer does not have is -1; its epoch has four bytes here."""
    spelled = "0000000000000009 00000002 ffffffff ffffffffffffffff 00000004 ffffffffffffffff 00"
    found = decode(ProducerState, 0, True, bytes.fromhex(spelled))
    assert (found.producer_id, found.producer_epoch, found.coordinator_epoch) == (9, 2, 4)
    assert (found.last_sequence, found.last_timestamp) == (NO_SEQUENCE, NO_TIMESTAMP)
    assert found.current_txn_start_offset == NO_TRANSACTION
