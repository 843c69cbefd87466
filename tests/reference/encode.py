"""Encodes records as batches of message format 2, simply and slowly: the counterpart of records/encode_columns.py.

Written from Kafka's documentation of the format, without regard to speed. Only compression is shared with the pipeline.
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.reference.batches import crc32c

_OVERHEAD = 61


class Plain(NamedTuple):
    """A record to encode."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[bytes, bytes | None]] = ()


class TooLarge(NamedTuple):
    """A record is too large for a batch."""

    index: int
    size: int
    limit: int


class Encoded(NamedTuple):
    """The rows of a batch, and its bytes."""

    first: int
    count: int
    data: bytes


def encode(
    records: Sequence[Plain],
    *,
    codec: int,
    compress: Callable[[bytes], bytes],
    attributes: int,
    producer: tuple[int, int, int],
    target: int,
    largest: int,
) -> tuple[list[Encoded], TooLarge | None]:
    """Return all batches before a record that is too large; a batch has at most `target` bytes before compression."""
    batches: list[Encoded] = []
    first, limit = 0, target if codec else min(target, largest)
    producer_id, epoch, sequence = producer
    while first < len(records):
        count = 1
        while first + count < len(records) and _plain_size(records[first : first + count + 1]) <= limit:
            count += 1
        some = records[first : first + count]
        batch = _batch(some, codec, compress, attributes, (producer_id, epoch, sequence))
        if len(batch) > largest:
            if count == 1:
                return batches, TooLarge(first, len(batch), largest)
            limit = (_plain_size(some) - _OVERHEAD) // 2 + _OVERHEAD
            continue
        batches.append(Encoded(first, count, batch))
        first += count
        if producer_id >= 0:
            sequence = (sequence + count) % 2**31
    return batches, None


def _plain_size(records: Sequence[Plain]) -> int:
    return _OVERHEAD + len(_bodies(records))


def _batch(
    records: Sequence[Plain],
    codec: int,
    compress: Callable[[bytes], bytes],
    attributes: int,
    producer: tuple[int, int, int],
) -> bytes:
    times = [record.timestamp_ms for record in records]
    packed = compress(_bodies(records))
    covered = (
        struct.pack(">hiqqqhii", attributes | codec, len(records) - 1, times[0], max(times), *producer, len(records))
        + packed
    )
    return struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered)) + covered


def _bodies(records: Sequence[Plain]) -> bytes:
    first_ms = records[0].timestamp_ms
    return b"".join(_record(record, delta, first_ms) for delta, record in enumerate(records))


def _record(record: Plain, delta: int, first_ms: int) -> bytes:
    body = b"\0" + _varint(record.timestamp_ms - first_ms) + _varint(delta)
    body += _nullable(record.key) + _nullable(record.value) + _varint(len(record.headers))
    for name, content in record.headers:
        body += _varint(len(name)) + name + _nullable(content)
    return _varint(len(body)) + body


def _nullable(raw: bytes | None) -> bytes:
    return _varint(-1) if raw is None else _varint(len(raw)) + raw


def _varint(number: int) -> bytes:
    """Zigzag form of 64 bits, in groups of seven."""
    number = (number + 2**63) % 2**64 - 2**63
    left = 2 * number if number >= 0 else -2 * number - 1
    groups = []
    while True:
        left, group = divmod(left, 128)
        groups.append(group + (128 if left else 0))
        if not left:
            return bytes(groups)
