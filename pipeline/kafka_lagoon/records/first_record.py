"""Finds the first record at or after an offset in fetched bytes, and its timestamp, without decoding the others.

Plain Python without Arrow and numba, because most answers hold one small batch. Each record has its offset and its timestamp
relative to its batch's, so records before the wanted record are skipped by their lengths. A checksum is verified before its
batch is believed.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from kafka_lagoon.errors import CorruptBatch, ExpandedTooLarge, RecordsError
from kafka_lagoon.records.codecs import TargetTooSmall, decompress_into
from kafka_lagoon.records.compressing import NONE
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.records.legacy import decode_entry
from kafka_lagoon.records.transactions import AbortedTransactions

CREATE_TIME, LOG_APPEND_TIME = 0, 1  # and -1 in magic 0, which has no timestamps

_HEADER = Struct(">qiibIhiqqqhii").unpack_from
_HEADER_SIZE, _OVERHEAD, _MAGIC_AT, _COVERED_BY_CRC = 61, 12, 16, 21
_MIN_LENGTH, _CURRENT_MAGIC = 14, 2
_LENGTH = Struct(">i").unpack_from
_MARKER = Struct(">hh").unpack_from  # of a control record's key: version and type
_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_FIRST_EXPANSION = 8  # times the compressed size
_NO_MARKER, _MARKER_SIZE = -1, 4
_MORE, _LOW_BITS, _MOST_BITS = 0x80, 0x7F, 63  # of a varint


class FirstRecord(NamedTuple):
    """The offset and timestamp of a record; `timestamp_type` as in Kafka: 0 the producer's, 1 the log's, -1 none."""

    offset: int
    timestamp_ms: int
    timestamp_type: int


class NoRecord(NamedTuple):
    """There is no record before `next_offset`. The batch that begins there, if its header came, ends at `latest_ms` at most."""

    next_offset: int
    latest_ms: int | None = None


class UnreadableBatch(NamedTuple):
    """The batch that should have the record cannot be decoded; its records are not later than `latest_ms`, if that is known."""

    reason: str
    latest_ms: int | None = None


class _Header(NamedTuple):
    """The header of a batch of magic 2, as `_HEADER` reads it."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_delta: int
    base_ms: int
    max_ms: int
    producer_id: int
    producer_epoch: int
    sequence: int
    records: int


def first_record(
    data: memoryview, offset: int, aborted: Iterable[tuple[int, int]] = (), limit_bytes: int = 64 << 20
) -> FirstRecord | NoRecord | UnreadableBatch:
    """The first record from `offset` on that is not of an aborted transaction (pairs of producer id and first offset).

    `limit_bytes` is the most that one batch may expand to.
    """
    transactions = AbortedTransactions(aborted)
    position, end = 0, len(data)
    while end - position > _MAGIC_AT:
        (length,) = _LENGTH(data, position + 8)
        stop = position + _OVERHEAD + length
        if length < _MIN_LENGTH:
            return UnreadableBatch("CORRUPT_BATCH")
        if data[position + _MAGIC_AT] < _CURRENT_MAGIC:
            result = _legacy(data, position, stop, offset, limit_bytes) if stop <= end else NoRecord(offset)
            if stop > end:
                return result
        elif end - position < _HEADER_SIZE:
            break
        else:
            header = _Header._make(_HEADER(data, position))
            if stop > end:
                return _cut(header, offset)
            result = _current(header, data[position:stop], offset, transactions, limit_bytes)
        if not isinstance(result, NoRecord):
            return result
        offset, position = result.next_offset, stop
    return NoRecord(offset)


def _cut(header: _Header, offset: int) -> NoRecord:
    """The content of the header of a batch whose records are missing."""
    is_plain = not header.attributes & _CONTROL and header.records > 0 and header.magic == _CURRENT_MAGIC
    return NoRecord(max(offset, header.base_offset), header.max_ms if is_plain else None)


def _legacy(
    data: memoryview, position: int, stop: int, offset: int, limit_bytes: int
) -> FirstRecord | NoRecord | UnreadableBatch:
    try:
        records = decode_entry(data, position, stop, options=DecodeOptions(batch_limit_bytes=limit_bytes))
    except RecordsError as error:
        return UnreadableBatch(error.reason)
    for record in records:
        if record.offset >= offset:
            return FirstRecord(record.offset, record.timestamp_ms, record.timestamp_type)
    return NoRecord(max(offset, records[-1].offset + 1))


def _current(
    header: _Header, batch: memoryview, offset: int, transactions: AbortedTransactions, limit_bytes: int
) -> FirstRecord | NoRecord | UnreadableBatch:
    last_offset = header.base_offset + header.last_delta
    if header.magic != _CURRENT_MAGIC:
        return UnreadableBatch("UNSUPPORTED_MAGIC")
    if header.base_offset < 0 or header.last_delta < 0 or crc32c(batch[_COVERED_BY_CRC:]) != header.crc:
        return UnreadableBatch("CORRUPT_BATCH")
    try:
        if header.attributes & _CONTROL:
            # Compaction removes the marker, and keeps the empty batch for the producer's epoch (BatchRetention.RETAIN_EMPTY).
            marker = _marker(_plain(header, batch, limit_bytes)) if header.records else _NO_MARKER
            transactions.end(header.producer_id, last_offset, marker)
        elif header.attributes & _TRANSACTIONAL and transactions.holds(header.producer_id, last_offset):
            pass
        elif last_offset >= offset and header.records > 0:
            return _first(header, batch, offset, limit_bytes) or NoRecord(last_offset + 1)
    except RecordsError as error:
        return UnreadableBatch(error.reason, None if header.attributes & _CONTROL else header.max_ms)
    except IndexError:
        return UnreadableBatch("CORRUPT_BATCH")
    return NoRecord(max(offset, last_offset + 1))


def _first(header: _Header, batch: memoryview, offset: int, limit_bytes: int) -> FirstRecord | None:
    is_append_time = bool(header.attributes & _APPEND_TIME)
    if is_append_time and header.records == header.last_delta + 1:  # a record for each offset, all of one time
        return FirstRecord(max(offset, header.base_offset), header.max_ms, LOG_APPEND_TIME)
    plain, position = _plain(header, batch, limit_bytes), 0
    wanted = offset - header.base_offset
    for _ in range(header.records):
        size, start = _varint(plain, position)
        time_delta, after = _varint(plain, start + 1)
        delta, _ = _varint(plain, after)
        if delta >= wanted:
            timestamp_ms = header.max_ms if is_append_time else _int64(header.base_ms + time_delta)
            return FirstRecord(header.base_offset + delta, timestamp_ms, int(is_append_time))
        if size < 0:
            raise CorruptBatch("CORRUPT_BATCH", f"record of {size} bytes")
        position = start + size
    return None


def _marker(plain: bytes | memoryview) -> int:
    """The type of a control record, by its key."""
    _, start = _varint(plain, 0)
    _, after_time = _varint(plain, start + 1)
    _, after_delta = _varint(plain, after_time)
    size, key = _varint(plain, after_delta)
    return int(_MARKER(plain, key)[1]) if size >= _MARKER_SIZE <= len(plain) - key else _NO_MARKER


def _plain(header: _Header, batch: memoryview, limit_bytes: int) -> bytes | memoryview:
    """The records of a batch, decompressed; ExpandedTooLarge beyond the limit."""
    codec, source = header.attributes & _CODEC, batch[_HEADER_SIZE:]
    if codec == NONE:
        return source
    size = min(limit_bytes, max(_FIRST_EXPANSION * len(source), _HEADER_SIZE))
    while True:
        target = memoryview(bytearray(size))
        try:
            return target[: decompress_into(codec, source, target)]
        except TargetTooSmall as error:
            if size >= limit_bytes or error.at_least > limit_bytes:
                raise ExpandedTooLarge("EXPANDED_TOO_LARGE", f"more than {limit_bytes} bytes") from error
            size = min(limit_bytes, max(error.at_least, _FIRST_EXPANSION * size))


def _varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """A number in zigzag encoding, and the position after it."""
    byte = data[position]
    if byte < _MORE:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, shift = byte & _LOW_BITS, 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & _LOW_BITS) << shift
        if byte < _MORE:
            return (value >> 1) ^ -(value & 1), position + 1
        shift += 7
        if shift > _MOST_BITS:
            raise CorruptBatch("CORRUPT_BATCH", "a number without an end")


def _int64(value: int) -> int:
    """The sum as Java has it, which wraps around."""
    return (value + 2**63) % 2**64 - 2**63
