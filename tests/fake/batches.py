"""Encodes uncompressed batches of magic 2, as content of fake logs."""

import struct
from collections.abc import Sequence

import crc32c

from tests.fake.cluster import FakeBatch

TRANSACTIONAL, CONTROL = 0x10, 0x20


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\0" + _varint(0) + _varint(delta)
    for field in (key, value):
        body += _varint(-1) if field is None else _varint(len(field)) + field
    body += _varint(0)
    return _varint(len(body)) + body


def batch(
    base_offset: int,
    values: Sequence[bytes | None],
    *,
    deltas: Sequence[int] | None = None,
    last_delta: int | None = None,
    leader_epoch: int = 0,
    producer_id: int = -1,
    attributes: int = 0,
    keys: Sequence[bytes | None] | None = None,
) -> FakeBatch:
    """Encode a batch with one record for each value."""
    deltas = range(len(values)) if deltas is None else deltas
    last = last_delta if last_delta is not None else max(deltas, default=0)
    records = b"".join(
        _record(delta, keys[i] if keys else None, value)
        for i, (delta, value) in enumerate(zip(deltas, values, strict=True))
    )
    tail = struct.pack(">hiqqqhii", attributes, last, 1000, 1000, producer_id, 0, -1, len(values)) + records
    head = struct.pack(">iBI", leader_epoch, 2, crc32c.crc32c(tail))
    data = struct.pack(">qi", base_offset, len(head) + len(tail)) + head + tail
    return FakeBatch(base_offset, base_offset + last, data, leader_epoch)


def aborted(base_offset: int, values: Sequence[bytes], producer_id: int) -> FakeBatch:
    """Encode a batch of a transaction that is aborted later."""
    made = batch(base_offset, values, producer_id=producer_id, attributes=TRANSACTIONAL)
    made.aborted_producer = producer_id
    return made


def marker(offset: int, producer_id: int, *, commit: bool = False) -> FakeBatch:
    """Encode the marker that ends a transaction."""
    key = struct.pack(">hh", 0, 1 if commit else 0)
    value = struct.pack(">hi", 0, 0)
    return batch(offset, [value], keys=[key], producer_id=producer_id, attributes=TRANSACTIONAL | CONTROL)
