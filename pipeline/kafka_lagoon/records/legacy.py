"""Decodes one entry of a message set, magic 0 or 1, with the messages inside a compressed entry.

Offsets are never counted up, because compaction leaves holes. Every inner message has its own: absolute in magic 0, relative
to the entry's in magic 1 (KIP-32).

    entry:   int64 offset, int32 size, message
    message: uint32 crc, int8 magic, int8 attributes, [magic 1: int64 timestamp], int32 and key, int32 and value

These formats are old and rare (Kafka 0.11 replaced them, 4.0 writes none), so plain Python reads them: 2 us a record.
"""

from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from isal.isal_zlib import crc32  # CRC-32 at many times zlib's speed

from kafka_lagoon.errors import CorruptBatch, ExpandedTooLarge, UnsupportedCodec, UnsupportedMagic
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.records.codecs import CODEC_NAMES, TargetTooSmall, decompress_into
from kafka_lagoon.records.compressing import ZSTD
from kafka_lagoon.records.decoding import DecodeOptions

NO_TIMESTAMP, NO_TIMESTAMP_TYPE, LOG_APPEND_TIME = -1, -1, 1

_ENTRY = Struct(">qiIbb").unpack_from  # up to and with the attributes
_OFFSET_AND_SIZE = Struct(">qi").unpack_from
_INT = Struct(">i").unpack_from
_LONG = Struct(">q").unpack_from

_OVERHEAD = 12  # offset and size
_CRC_END = 16
_ATTRIBUTES_END = 18
_MIN_SIZES = (14, 22)  # of a message, by magic
_CODEC_MASK, _LOG_APPEND_TIME_BIT = 0x07, 0x08

_LARGEST_OFFSET = MOST_INT64  # there is no offset after it to go on at
_FIRST_EXPANSION = 8  # times the compressed size


class LegacyRecord(NamedTuple):
    """A record; `timestamp_type` is 0 for the producer's time, 1 for the log's, and -1 in magic 0, which has none."""

    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None


class _Message(NamedTuple):
    offset: int
    magic: int
    codec: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None


def decode_entry(data: memoryview, position: int, end: int, *, options: DecodeOptions) -> list[LegacyRecord]:
    """The records of the entry that is `data` from `position` to `end`, offsets ascending.

    Raises a RecordsError for data that Kafka would not have stored, ExpandedTooLarge beyond `options.batch_limit_bytes`.
    """
    entry = _read_entry(bytes(data[position:end]), 0, end - position, options)
    if not 0 <= entry.offset < _LARGEST_OFFSET:
        raise CorruptBatch("CORRUPT_BATCH", f"offset {entry.offset}")
    return _decode_inner(entry, options) if entry.codec else [_record(entry, entry.offset)]


def _decode_inner(outer: _Message, options: DecodeOptions) -> list[LegacyRecord]:
    """The records inside a compressed entry, which holds at least one and no compressed ones."""
    if outer.codec not in CODEC_NAMES or outer.codec == ZSTD:  # KIP-110: zstd needs magic 2
        raise UnsupportedCodec(
            "UNSUPPORTED_CODEC", f"codec that this message format cannot have: {outer.codec} in magic {outer.magic}"
        )
    if outer.value is None:
        raise CorruptBatch("CORRUPT_BATCH", "compressed message without a value")
    inner = list(_read_inner(_decompress(outer, outer.value, options), outer, options))
    if not inner:
        raise CorruptBatch("CORRUPT_BATCH", "compressed message without messages inside")
    base = _base_offset(outer, inner[-1].offset)
    _check_offsets(outer, [base + message.offset for message in inner])
    return [_record(message, base + message.offset, outer) for message in inner]


def _base_offset(outer: _Message, last: int) -> int:
    """The number to add to inner offsets. In magic 1 the entry's own offset is the last record's.

    Kafka's reader takes an entry offset of 0 for a base of 0, which some versions of librdkafka sent to brokers. Brokers
    never store that, and records after the entry's offset would be counted twice.
    """
    if outer.magic == 0:
        return 0
    if outer.offset < last:
        raise CorruptBatch("CORRUPT_BATCH", f"offset below the last inner one: {outer.offset} < {last}")
    return outer.offset - last


def _check_offsets(outer: _Message, offsets: list[int]) -> None:
    """Kafka's reader accepts any order; here it is refused, because records before a fetch position are recognized by it."""
    if any(after <= before for before, after in pairwise(offsets)):
        raise CorruptBatch("CORRUPT_BATCH", f"inner offsets that do not ascend: {offsets[0]} to {offsets[-1]}")
    if offsets[0] < 0 or offsets[-1] > outer.offset:
        raise CorruptBatch(
            "CORRUPT_BATCH", f"inner offsets beyond the entry's: {offsets[0]} to {offsets[-1]} in {outer.offset}"
        )


def _record(message: _Message, offset: int, outer: _Message | None = None) -> LegacyRecord:
    """The record at its absolute offset. A compressed entry's type of timestamp holds for the messages inside."""
    around = outer or message
    is_append_time = around.timestamp_type == LOG_APPEND_TIME
    return LegacyRecord(
        offset,
        around.timestamp_ms if is_append_time else message.timestamp_ms,
        around.timestamp_type,
        message.key,
        message.value,
    )


def _decompress(outer: _Message, value: bytes, options: DecodeOptions) -> bytes:
    """The inner message set. The target grows as the data need it, up to the limit for a batch."""
    limit = options.batch_limit_bytes
    size = min(limit, _FIRST_EXPANSION * len(value))
    while True:
        target = memoryview(bytearray(size))
        try:
            return bytes(target[: decompress_into(outer.codec, memoryview(value), target, magic=outer.magic)])
        except TargetTooSmall as error:
            if size == limit or error.at_least > limit:
                raise ExpandedTooLarge("EXPANDED_TOO_LARGE", f"expands beyond the limit: {limit} bytes") from error
            size = min(limit, max(error.at_least, _FIRST_EXPANSION * size))


def _read_inner(plain: bytes, outer: _Message, options: DecodeOptions) -> Iterator[_Message]:
    position = 0
    while position < len(plain):
        end = _entry_end(plain, position)
        message = _read_entry(plain, position, end, options)
        if message.magic != outer.magic:
            raise UnsupportedMagic(
                "UNSUPPORTED_MAGIC", f"message of another magic inside: {message.magic} in {outer.magic}"
            )
        if message.codec:
            raise UnsupportedCodec("UNSUPPORTED_CODEC", "compressed message inside a compressed one")
        yield message
        position = end


def _entry_end(plain: bytes, position: int) -> int:
    """Refuses an inner message that is cut off; Kafka's reader ends there silently, and the record would be lost unnoticed."""
    left = len(plain) - position - _OVERHEAD
    size = _OFFSET_AND_SIZE(plain, position)[1] if left >= 0 else 0
    if not _MIN_SIZES[0] <= size <= left:
        raise CorruptBatch("CORRUPT_BATCH", f"inner message that is cut off: {size} bytes where {left} are left")
    return position + _OVERHEAD + size


def _read_entry(data: bytes, position: int, end: int, options: DecodeOptions) -> _Message:
    if end - position < _OVERHEAD + _MIN_SIZES[0]:
        raise CorruptBatch("CORRUPT_BATCH", f"message too short: {end - position} bytes")
    offset, _, crc, magic, attributes = _ENTRY(data, position)
    if options.check_crcs and crc32(data[position + _CRC_END : end]) != crc:
        raise CorruptBatch("CORRUPT_BATCH", "checksum")
    if not 0 <= magic < len(_MIN_SIZES):
        raise UnsupportedMagic("UNSUPPORTED_MAGIC", f"magic {magic}")
    if end - position < _OVERHEAD + _MIN_SIZES[magic]:
        raise CorruptBatch("CORRUPT_BATCH", f"message too short: {end - position} bytes of magic {magic}")
    position += _ATTRIBUTES_END
    timestamp_ms, timestamp_type = NO_TIMESTAMP, NO_TIMESTAMP_TYPE
    if magic:
        timestamp_ms, timestamp_type = _LONG(data, position)[0], int(bool(attributes & _LOG_APPEND_TIME_BIT))
        position += 8
    key, position = _nullable(data, position, end)
    value, _ = _nullable(data, position, end)
    return _Message(offset, magic, attributes & _CODEC_MASK, timestamp_ms, timestamp_type, key, value)


def _nullable(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    """Bytes after their length, and where they end; every negative length means null."""
    start = position + 4
    size = _INT(data, position)[0] if start <= end else end
    if size < 0:
        return None, start
    if start + size > end:
        raise CorruptBatch("CORRUPT_BATCH", f"key or value that is cut off: {size} bytes where {end - start} are left")
    return data[start : start + size], start + size
