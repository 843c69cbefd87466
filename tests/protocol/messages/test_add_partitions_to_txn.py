"""AddPartitionsToTxn, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN,
    BY_BROKERS,
    BY_CLIENTS,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_lagoon.wire.writing import encode

TOPICS = (AddPartitionsToTxnTopic(name="a", partitions=(1,)),)
REQUEST = AddPartitionsToTxnRequest(
    v3_and_below_transactional_id="t",
    v3_and_below_producer_id=9,
    v3_and_below_producer_epoch=2,
    v3_and_below_topics=TOPICS,
)
TRANSACTION = AddPartitionsToTxnTransaction(transactional_id="t", producer_id=9, producer_epoch=2, topics=TOPICS)
MANY = AddPartitionsToTxnRequest(transactions=(TRANSACTION,))


def test_clients_and_brokers() -> None:
    """Clients send one transaction, brokers many, and neither can use the other's fields."""
    transaction, topics = "0274 0000000000000009 0002", "02 0261 02 00000001 00"
    assert encode(REQUEST, BY_CLIENTS.highest, True) == bytes.fromhex(f"{transaction} {topics} 00")
    assert encode(MANY, BY_BROKERS.lowest, True) == bytes.fromhex(f"02 {transaction} 00 {topics} 00 00")
    assert [*BY_CLIENTS, *BY_BROKERS] == list(ADD_PARTITIONS_TO_TXN.versions)
    for request, version in ((REQUEST, 4), (MANY, 3)):
        with pytest.raises(EncodeError):
            encode(request, version, True)
