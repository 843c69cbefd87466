"""The partitioner: known hashes, and where records without a key go."""

import pytest

from kafka_lagoon.produce.partitioner import StickyPartition, murmur2, partition_of

_KNOWN = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}


@pytest.mark.parametrize(("key", "hashed"), _KNOWN.items())
def test_known_hashes(key: bytes, hashed: int) -> None:
    """The hashes are those that Java computed, so that this test needs no Java."""
    assert murmur2(key) == hashed & 0xFFFFFFFF
    assert partition_of(key, 5) == (hashed & 0x7FFFFFFF) % 5


def test_records_without_key_go_everywhere() -> None:
    """The partition stays until it is advanced; each available partition is chosen eventually, and no other."""
    sticky = StickyPartition([0, 2, 5])
    seen = set()
    for _ in range(200):
        seen.add(sticky.partition)
        sticky.advance()
    assert seen == {0, 2, 5}
