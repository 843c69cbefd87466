"""DescribeLogDirs, byte by byte."""

from kafka_lagoon.protocol.messages.describe_log_dirs import (
    UNKNOWN_SIZE,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_some_none_and_all() -> None:
    """Null is all topics, an empty list none."""
    some = DescribeLogDirsRequest(topics=(DescribableLogDirTopic(topic="a", partitions=(1, 2)),))
    assert encode(some, 0, False) == bytes.fromhex("00000001 0001 61 00000002 00000001 00000002")
    assert encode(DescribeLogDirsRequest(topics=()), 1, False) == bytes(4)
    assert encode(DescribeLogDirsRequest(topics=None), 2, True) == bytes.fromhex("00 00")


def test_replicas() -> None:
    """A replica that moves between disks is listed twice, and old versions do not know the volume."""
    item = "00000001 0000000000000400 0000000000000000"
    spelled = "00000000 00000001 0000 0001 64 00000001 0001 61 00000002" + item + "00" + item + "01"
    (result,) = decode(DescribeLogDirsResponse, 1, False, bytes.fromhex(spelled)).results
    assert [(partition.partition_size, partition.is_future_key) for partition in result.topics[0].partitions] == [
        (1024, False),
        (1024, True),
    ]
    assert (result.total_bytes, result.usable_bytes, result.is_cordoned) == (UNKNOWN_SIZE, UNKNOWN_SIZE, False)


def test_refused() -> None:
    """From v3 on a missing permission is an error of the whole response."""
    decoded = decode(DescribeLogDirsResponse, 3, True, bytes.fromhex("00000000 001f 01 00"))
    assert (decoded.error_code, decoded.results) == (31, ())
