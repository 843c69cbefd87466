"""WriteTxnMarkers, byte by byte."""

from kafka_lagoon.protocol.messages.write_txn_markers import (
    ABORT,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

MARKER = WritableTxnMarker(
    producer_id=9,
    producer_epoch=1,
    transaction_result=ABORT,
    topics=(WritableTxnMarkerTopic(name="a", partition_indexes=(3,)),),
    coordinator_epoch=4,
    transaction_version=2,
)


def test_version_of_transactions() -> None:
    """The transaction version is sent from v2 on, and dropped before (KIP-1228)."""
    head = "02 0000000000000009 0001 00 02 0261 02 00000003 00 00000004"
    assert encode(WriteTxnMarkersRequest(markers=(MARKER,)), 1, True) == bytes.fromhex(f"{head} 00 00")
    assert encode(WriteTxnMarkersRequest(markers=(MARKER,)), 2, True) == bytes.fromhex(f"{head} 02 00 00")


def test_no_throttle_time() -> None:
    """The response begins with the markers: no version has a throttle time."""
    spelled = "00000001 0000000000000009 00000001 0001 61 00000001 00000003 0034"
    (marker,) = decode(WriteTxnMarkersResponse, 0, False, bytes.fromhex(spelled)).markers
    assert marker.topics[0].partitions[0].error_code == 52
