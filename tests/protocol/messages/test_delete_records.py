"""DeleteRecords, byte by byte."""

from kafka_lagoon.protocol.messages.delete_records import (
    HIGH_WATERMARK,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_lagoon.wire.writing import encode


def test_all_that_can_be_read() -> None:
    """Offset -1 deletes all records up to the high watermark, in every version."""
    partition = DeleteRecordsPartition(partition_index=1, offset=HIGH_WATERMARK)
    request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="a", partitions=(partition,)),), timeout_ms=100)
    everything = "00000001 ffffffffffffffff"
    assert encode(request, 0, False) == bytes.fromhex(f"00000001 0001 61 00000001 {everything} 00000064")
    assert encode(request, 2, True) == bytes.fromhex(f"02 0261 02 {everything} 00 00 00000064 00")
