"""OffsetDelete, byte by byte."""

from kafka_lagoon.protocol.messages.offset_delete import OFFSET_DELETE, OffsetDeleteResponse
from kafka_lagoon.wire.reading import decode


def test_error_first() -> None:
    """The error of the group comes before the throttle time, and no version is flexible."""
    spelled = "0000 00000005 00000001 0001 61 00000001 00000003 0056"
    decoded = decode(OffsetDeleteResponse, 0, False, bytes.fromhex(spelled))
    assert (decoded.error_code, decoded.throttle_time_ms) == (0, 5)
    assert decoded.topics[0].partitions[0].error_code == 86
    assert OFFSET_DELETE.flexible is None
