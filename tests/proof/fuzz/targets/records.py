"""Decoders of records: batches of every magic, codecs, and values for people.

The kernels are machine code, of which a search sees nothing. So the reference decoder in Python reads the same bytes: its branches are
what guides the search, and what it makes of uncompressed batches must be the same.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import crc32c

from kafka_lagoon.cli.kafka.formatting import FORMATS
from kafka_lagoon.cli.kafka.record_lines import json_parser, text_parser
from kafka_lagoon.errors import RecordsError
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.codecs import TargetTooSmall, decompress_into
from kafka_lagoon.records.columns import Decoding, decode
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.records.first_record import first_record
from kafka_lagoon.records.small_partitions import SharedColumns
from tests.records.examples import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, Batch, Record, compress, marker
from tests.records.test_legacy import compressed, message
from tests.reference import answers

_LIMIT = 8 << 20  # bytes that a batch may expand to
_OPTIONS = DecodeOptions(expanded_bytes=1 << 20, batch_limit_bytes=_LIMIT, raw_limit_bytes=1 << 10)
_IN_PARTS = DecodeOptions(expanded_bytes=64, batch_limit_bytes=_LIMIT, raw_limit_bytes=16, check_crcs=False)
_FOR_REFERENCE = 4 << 10  # bytes of the longest input that is read by the reference, which is slow
_HEADER, _OVERHEAD, _CURRENT = 61, 12, 2
_ABORTED = ((1, 0), (2, 5))
_LAST = 2**62


def batches(data: bytes) -> None:
    """The first byte chooses isolation level and range."""
    _decoded(data[1:], data[0] if data else 0)


def _decoded(fetched: bytes, choice: int, *, is_compared: bool = False) -> None:
    request: dict[str, Any] = {
        "from_offset": (0, 3)[choice & 1],
        "to_offset": (_LAST, 9)[choice >> 1 & 1],
        "aborted": _ABORTED if choice & 4 else (),
        "read_committed": bool(choice & 8),
        "stable_end": (_LAST, 4)[choice >> 4 & 1],
    }
    whole = _consistent(decode(find_batches(fetched), options=_OPTIONS, **request), request["from_offset"])
    _consistent(decode(find_batches(fetched), options=_IN_PARTS, **request), request["from_offset"])
    shared = SharedColumns(_OPTIONS, read_committed=request["read_committed"])
    counts = shared.add(find_batches(fetched), request["from_offset"], request["to_offset"])
    if counts and not request["aborted"]:
        rows = shared.take()
        assert counts.offsets() == request["to_offset"] - request["from_offset"]
        assert (rows.num_rows if rows else 0) == counts.records
    first_record(memoryview(fetched), request["from_offset"], request["aborted"], _LIMIT)
    if len(fetched) <= _FOR_REFERENCE:
        answer = answers.decode(fetched, **request)
        if is_compared:
            _assert_alike(whole, (answer.rows, answer.next_offset), request["from_offset"])


def _assert_alike(ours: tuple[list[Any], int], other: tuple[list[Any], int], from_offset: int) -> None:
    """The rows are the same; only one of both may leave the last batch to the next response, and never the first one."""
    until = min(ours[1], other[1])
    assert [row for row in ours[0] if row["offset"] < until] == [row for row in other[0] if row["offset"] < until]
    assert (ours[1] > from_offset) == (other[1] > from_offset)


def _consistent(decoding: Decoding, from_offset: int) -> tuple[list[Any], int]:
    """Return rows and the next offset; every offset before it is counted once."""
    rows = []
    for arrow_batch in decoding:
        arrow_batch.validate(full=True)
        rows += arrow_batch.to_pylist() if arrow_batch.num_rows < _FOR_REFERENCE else []
    counts = decoding.counts
    assert counts.offsets() == decoding.next_offset - from_offset
    assert min(counts.records, counts.control, counts.aborted, counts.compacted, counts.corrupt) >= 0
    return rows, decoding.next_offset


def batches_seeds() -> Iterator[bytes]:
    for log in _logs():
        yield b"\0" + log
        yield b"\x0c" + log
    for magic in (0, 1):
        plain = [message(offset, b"k", b"v", magic=magic) for offset in range(3)]
        yield b"\0" + b"".join(plain)
        yield b"\1" + compressed(2, plain, magic=magic) + plain[0]


def _logs() -> Iterator[bytes]:
    headers = ((b"a", b"1"), (b"\xff", None))
    records = tuple(
        Record(delta=delta, time_delta=delta, key=b"k", value=b"v" * 9, headers=headers) for delta in range(3)
    )
    for codec in range(5):
        yield Batch(records=records, codec=codec).write() + Batch(base_offset=3, records=records, codec=codec).write()
    yield Batch(records=records, flags=TRANSACTIONAL, producer_id=1).write() + marker(3, 1, kind=0).write()
    yield Batch(records=records, flags=LOG_APPEND_TIME, last_delta=7).write() + Batch(base_offset=9).write()
    yield marker(0, 1).write() + Batch(base_offset=1, records=records, flags=CONTROL).write()


def sealed_batches(data: bytes) -> None:
    """Lengths and checksums are made correct, so that what they protect is read; records are compressed by their batch's codec.

    The first byte is the choice of `batches`; its highest bit, if set, leaves all records uncompressed and wants the reference's rows.
    """
    choice = data[0] if data else 0
    is_plain = bool(choice & 0x80)
    _decoded(b"".join(_sealed(data[1:], is_plain=is_plain)), choice, is_compared=is_plain)


def _sealed(data: bytes, *, is_plain: bool) -> Iterator[bytes]:
    """Split into entries by their lengths; a length that is too large takes the rest."""
    while len(data) > _HEADER:
        size = _OVERHEAD + max(_HEADER - _OVERHEAD, int.from_bytes(data[8:_OVERHEAD], "big", signed=True))
        entry, data = data[:size], data[size:]
        magic = entry[16] & 3
        yield _of_current(entry, is_plain=is_plain) if magic >= _CURRENT or is_plain else _of_old(entry, magic)


def _of_current(entry: bytes, *, is_plain: bool) -> bytes:
    codec = 0 if is_plain else entry[22] & 7
    covered = entry[21:22] + bytes([entry[22] & ~7 | codec]) + entry[23:_HEADER] + compress(codec, entry[_HEADER:])
    length = len(covered) + 9
    return entry[:8] + struct.pack(">i4sBI", length, entry[12:16], _CURRENT, crc32c.crc32c(covered)) + covered


def _of_old(entry: bytes, magic: int) -> bytes:
    """Make a message whose value is the rest of the entry, if it is to be compressed as entries in turn."""
    codec, key_at = entry[17] & 7, 18 + 8 * magic
    body = entry[18:]
    if codec:
        inner = b"".join(_of_old(part, magic) for part in _parts(entry[key_at:]))
        packed = compress(codec, inner)
        body = entry[18:key_at] + struct.pack(">ii", -1, len(packed)) + packed
    covered = bytes([magic, entry[17]]) + body
    return entry[:8] + struct.pack(">iI", len(covered) + 4, zlib.crc32(covered)) + covered


def _parts(data: bytes) -> Iterator[bytes]:
    """Split into messages that are not compressed."""
    while len(data) > 26:
        size = 26 + data[11] % 64
        yield data[:17] + bytes([data[17] & 8]) + data[18:size]
        data = data[size:]


def sealed_batches_seeds() -> Iterator[bytes]:
    for log in batches_seeds():
        yield log
        yield bytes([log[0] | 0x80]) + log[1:]
    records = tuple(Record(delta=delta, value=b"v") for delta in range(3))
    for codec in range(5):
        plain = Batch(records=records).write()
        yield b"\0" + plain[:22] + bytes([codec]) + plain[23:]


def codecs(data: bytes) -> None:
    """The first byte chooses the codec, the magic, and the size of the target."""
    choice = data[0] if data else 0
    target = memoryview(bytearray((100, 5_000, 1 << 20, 0)[choice >> 4 & 3]))
    with suppress(RecordsError, TargetTooSmall):
        assert decompress_into(choice & 7, memoryview(data)[1:], target, magic=choice >> 3 & 1) <= len(target)


def codecs_seeds() -> Iterator[bytes]:
    for plain in (b"", b"abcd" * 20, bytes(4_000)):
        for codec in range(1, 5):
            for target in range(3):
                yield bytes([codec | target << 4 | 8]) + compress(codec, plain)
                yield bytes([codec | target << 4]) + compress(codec, plain + b"x")


def record_values(data: bytes) -> None:
    """For people each format makes text of any bytes, for JSON a value; a line of `produce` is a record or refused."""
    for as_line, as_value in FORMATS.values():
        as_line(data).encode(errors="surrogateescape")
        as_value(data)
    defaults = ProducerRecord(None, None)
    for parse in (json_parser(defaults, 3), text_parser(defaults, b":")):
        with suppress(ValueError):
            parse(data)


def record_values_seeds() -> Iterator[bytes]:
    yield from (
        b'{"key":"a","value":{"base64":"AAE="},"headers":[{"key":"h","value":null}],"timestamp":"2026-11-21T06:00Z"}',
    )
    yield from (b"k:v", b'{"value":[1,{"a":null}],"partition":1,"timestamp_ms":5}', b'["\xed\xa0\x80"]', b"\x1b[2J\xff")
    yield from (b"[" * 210 + b"]" * 210, b'{"value":1e999,"key":"\\ud800"}', b"9" * 50)
