"""Message sets of magic 0 and 1: offsets, timestamps, compression and refusals, entry by entry."""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import CorruptBatch, ExpandedTooLarge, RecordsError, UnsupportedCodec, UnsupportedMagic
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.records.legacy import LegacyRecord, decode_entry

OPTIONS = DecodeOptions()
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
LOG_APPEND_TIME = 8


def sized(raw: bytes | None) -> bytes:
    return struct.pack(">i", -1) if raw is None else struct.pack(">i", len(raw)) + raw


def entry(offset: int, body: bytes, *, magic: int = 1, attributes: int = 0, timestamp_ms: int = 77) -> bytes:
    """Make a message with the key and value in `body`, and a correct checksum."""
    timestamp = struct.pack(">q", timestamp_ms) if magic else b""
    covered = struct.pack(">bb", magic, attributes) + timestamp + body
    return struct.pack(">qiI", offset, len(covered) + 4, zlib.crc32(covered)) + covered


def message(offset: int, key: bytes | None, value: bytes | None, **fields: int) -> bytes:
    return entry(offset, sized(key) + sized(value), **fields)


def compressed(offset: int, inner: Iterable[bytes], *, attributes: int = GZIP, **fields: int) -> bytes:
    packed = zlib.compress(b"".join(inner), 6, 31)
    return message(offset, None, packed, attributes=attributes, **fields)


def decode(data: bytes, options: DecodeOptions = OPTIONS) -> list[LegacyRecord]:
    """Decode the entry between other bytes, which must not be read."""
    around = memoryview(b"before" + data + b"behind")
    return decode_entry(around, 6, 6 + len(data), options=options)


def offsets(data: bytes) -> list[int]:
    return [record.offset for record in decode(data)]


@pytest.mark.parametrize("key", [None, b"", b"key"])
@pytest.mark.parametrize("value", [None, b"", b"value"])
def test_null_and_empty_are_different(key: bytes | None, value: bytes | None):
    """Keys and values are unchanged, null and empty distinguished, in both formats."""
    assert decode(message(5, key, value)) == [LegacyRecord(5, 77, 0, key, value)]
    assert decode(message(5, key, value, magic=0)) == [LegacyRecord(5, -1, -1, key, value)]


def test_every_negative_length_is_null():
    """Kafka's reader treats every negative length as null."""
    assert decode(entry(0, struct.pack(">ii", -2, -(2**31)))) == [LegacyRecord(0, 77, 0, None, None)]


def test_timestamps_are_as_produced():
    """Magic 1 has the producer's timestamp, also if it is -1; magic 0 has none; log append time is marked."""
    assert decode(message(0, None, b"", timestamp_ms=-1)) == [LegacyRecord(0, -1, 0, None, b"")]
    assert decode(message(0, None, b"", attributes=LOG_APPEND_TIME)) == [LegacyRecord(0, 77, 1, None, b"")]
    assert decode(message(0, None, b"", magic=0, attributes=LOG_APPEND_TIME)) == [LegacyRecord(0, -1, -1, None, b"")]


def test_log_append_time_of_the_entry_is_that_of_all_inside():
    """KIP-32: the type of timestamp is the entry's; log append time is the entry's, too, create time the inner message's."""
    inner = [
        message(0, None, b"a", timestamp_ms=1),
        message(1, None, b"b", timestamp_ms=2, attributes=LOG_APPEND_TIME),
    ]
    created = decode(compressed(1, inner, timestamp_ms=9))
    assert [(record.timestamp_ms, record.timestamp_type) for record in created] == [(1, 0), (2, 0)]
    appended = decode(compressed(1, inner, timestamp_ms=9, attributes=GZIP | LOG_APPEND_TIME))
    assert [(record.timestamp_ms, record.timestamp_type) for record in appended] == [(9, 1), (9, 1)]


def test_offsets_in_magic_1_are_relative_to_the_last():
    """The entry's offset is that of the last record; gaps that compaction left are kept."""
    inner = [message(at, None, b"") for at in (0, 3, 7)]
    assert offsets(compressed(107, inner)) == [100, 103, 107]
    assert offsets(compressed(7, inner)) == [0, 3, 7]


def test_offsets_in_magic_0_are_absolute():
    """Inner messages have their own offsets in magic 0, and the entry's offset is that of the last one."""
    inner = [message(at, None, b"", magic=0) for at in (100, 103, 107)]
    for offset in (107, 109):  # Kafka's reader takes the inner offsets, whatever the entry's
        assert offsets(compressed(offset, inner, magic=0)) == [100, 103, 107]


@given(
    magic=st.integers(0, 1),
    base=st.integers(0, 2**40),
    gaps=st.lists(st.integers(1, 1000), min_size=1, max_size=20),
    bodies=st.lists(st.tuples(st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=9)), min_size=20),
)
def test_what_is_inside_comes_out(magic: int, base: int, gaps: list[int], bodies: list[tuple]):
    """Compressed messages are decoded in order, with their offsets."""
    relative = [sum(gaps[:count]) - gaps[0] for count in range(1, len(gaps) + 1)]
    expected = [(base + delta, *body) for delta, body in zip(relative, bodies, strict=False)]
    inner = [message(offset - (base if magic else 0), key, value, magic=magic) for offset, key, value in expected]
    records = decode(compressed(base + relative[-1], inner, magic=magic))
    assert [(record.offset, record.key, record.value) for record in records] == expected


def test_lz4_of_old_writers():
    """KAFKA-3160: in magic 0 an lz4 frame with a wrong header checksum is read, in magic 1 it is not."""
    for magic in (0, 1):
        frame = bytearray(lz4.frame.compress(message(0, b"k", b"v", magic=magic), store_size=False))
        frame[6] ^= 0xFF
        packed = message(0, None, bytes(frame), magic=magic, attributes=LZ4)
        if magic == 0:
            assert decode(packed) == [LegacyRecord(0, -1, -1, b"k", b"v")]
        else:
            with pytest.raises(CorruptBatch, match="lz4"):
                decode(packed)


def test_checksums_are_checked_outside_and_inside():
    """A changed byte is found in either format, but not without checks."""
    good = message(0, None, b"value")
    bad = good[:-1] + b"!"
    for damaged in (bad, compressed(0, [bad])):
        with pytest.raises(CorruptBatch, match="checksum"):
            decode(damaged)
        assert decode(damaged, replace(OPTIONS, check_crcs=False))[0].value == b"valu!"


REFUSED: dict[str, tuple[bytes, type[RecordsError]]] = {
    "magic 2": (message(0, None, b"", magic=2), UnsupportedMagic),
    "magic -1": (message(0, None, b"", magic=-1), UnsupportedMagic),
    "another magic inside": (compressed(0, [message(0, None, b"", magic=0)]), UnsupportedMagic),
    "zstd": (message(0, None, b"", attributes=ZSTD), UnsupportedCodec),
    "unknown codec": (message(0, None, b"", attributes=7), UnsupportedCodec),
    "compressed inside": (compressed(0, [compressed(0, [message(0, None, b"")])]), UnsupportedCodec),
    "no value": (message(0, None, None, attributes=GZIP), CorruptBatch),
    "empty value": (message(0, None, b"", attributes=GZIP), CorruptBatch),
    "nothing inside": (compressed(0, []), CorruptBatch),
    "not gzip": (message(0, None, b"garbage" * 9, attributes=GZIP), CorruptBatch),
    "inner message cut": (compressed(1, [message(0, None, b"value"), message(1, None, b"value")[:-1]]), CorruptBatch),
    "inner length cut": (compressed(0, [message(0, None, b"value"), b"\0" * 11]), CorruptBatch),
    "inner length negative": (compressed(0, [struct.pack(">qi", 0, -1)]), CorruptBatch),
    "inner offsets equal": (compressed(9, [message(1, None, b"")] * 2), CorruptBatch),
    "inner offsets descend": (compressed(9, [message(2, None, b""), message(1, None, b"")]), CorruptBatch),
    "inner offset negative": (compressed(9, [message(-10, None, b""), message(0, None, b"")]), CorruptBatch),
    "offset below the inner ones": (compressed(1, [message(2, None, b"")]), CorruptBatch),
    "offset below the inner ones, magic 0": (compressed(1, [message(2, None, b"", magic=0)], magic=0), CorruptBatch),
    "offset of 0": (compressed(0, [message(0, None, b""), message(1, None, b"")]), CorruptBatch),
    "negative offset": (message(-1, None, b""), CorruptBatch),
    "last offset of all": (message(2**63 - 1, None, b""), CorruptBatch),
    "key beyond the end": (entry(0, struct.pack(">i", 9) + b"key"), CorruptBatch),
    "value beyond the end": (entry(0, sized(b"key") + struct.pack(">i", 9) + b"value"), CorruptBatch),
    "value cut by a byte": (entry(0, sized(b"key") + sized(b"value")[:-1]), CorruptBatch),
    "no value length": (entry(0, sized(b"longer key")), CorruptBatch),
    "too short for magic 1": (entry(0, b"", magic=1), CorruptBatch),
    "too short for any": (message(0, None, b"", magic=0)[:25], CorruptBatch),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kafka_would_not_have_stored_is_refused(name: str):
    """Each fault has its error class, with and without checks of checksums; the caller adds the offsets."""
    data, error = REFUSED[name]
    for check_crcs in (True, False):
        with pytest.raises(error):
            decode(data, replace(OPTIONS, check_crcs=check_crcs))


def test_expansion_is_limited():
    """An entry that expands beyond the limit is refused, and an entry of exactly the limit is read."""
    data = compressed(0, [message(0, None, bytes(1 << 20))])
    size = len(message(0, None, bytes(1 << 20)))
    assert len(decode(data, replace(OPTIONS, batch_limit_bytes=size))) == 1
    with pytest.raises(ExpandedTooLarge):
        decode(data, replace(OPTIONS, batch_limit_bytes=size - 1))


@given(
    outer=st.sampled_from([message(3, b"key", b"value"), message(3, b"key", b"value", magic=0)])
    | st.just(compressed(3, [message(at, b"key", b"value") for at in range(4)])),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 100),
)
def test_any_bytes_are_refused_or_read(outer: bytes, changes: list[tuple[int, int]], cut: int):
    """Damaged bytes, decoded without checks of checksums, raise only our own errors, or give records."""
    data = bytearray(outer[: len(outer) - cut])
    for position, byte in changes:
        if position < len(data):
            data[position] = byte
    try:
        records = decode(bytes(data), replace(OPTIONS, check_crcs=False))
    except RecordsError:
        return
    assert records
