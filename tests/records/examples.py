"""Batches of magic 2 in any form that Kafka may store, and Hypothesis strategies for them."""

import gzip
import struct
from dataclasses import dataclass
from typing import Any

import crc32c
import lz4.frame
import snappy
import zstandard
from hypothesis import strategies as st

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
ABORT, COMMIT = 0, 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record of a batch."""

    delta: int
    time_delta: int = 0
    key: bytes | None = None
    value: bytes | None = b""
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch to write; if `last_delta` is None, it is the last record's; other fields may be wrong, too."""

    base_offset: int = 0
    records: tuple[Record, ...] = ()
    last_delta: int | None = None
    codec: int = NONE
    flags: int = 0
    leader_epoch: int = 0
    base_time: int = 1_600_000_000_000
    max_time: int = 1_600_000_000_999
    producer_id: int = -1
    producer_epoch: int = -1
    count: int | None = None

    @property
    def last_offset(self) -> int:
        last = self.records[-1].delta if self.records else 0
        return self.base_offset + (last if self.last_delta is None else self.last_delta)

    def write(self) -> bytes:
        return self.around(b"".join(map(record, self.records)))

    def around(self, plain: bytes) -> bytes:
        """Return the batch with these bytes in place of its records."""
        count = len(self.records) if self.count is None else self.count
        return sealed(
            struct.pack(
                ">qiibIhiqqqhii",
                self.base_offset,
                0,
                self.leader_epoch,
                2,
                0,
                self.codec | self.flags,
                self.last_offset - self.base_offset,
                self.base_time,
                self.max_time,
                self.producer_id,
                self.producer_epoch,
                -1,
                count,
            )
            + compress(self.codec, plain)
        )


def sealed(raw: bytes) -> bytes:
    """Return the batch with its correct length and checksum."""
    crc = crc32c.crc32c(raw[21:])
    return raw[:8] + struct.pack(">i", len(raw) - 12) + raw[12:17] + struct.pack(">I", crc) + raw[21:]


def compress(codec: int, plain: bytes) -> bytes:
    match codec:
        case 1:
            return gzip.compress(plain, 1)
        case 2 if len(plain) % 2:  # as librdkafka does
            return bytes(snappy.compress(plain))
        case 2:
            packed = bytes(snappy.compress(plain))
            return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(packed)) + packed
        case 3:
            return lz4.frame.compress(plain, block_linked=False)
        case 4:
            return zstandard.ZstdCompressor(write_content_size=len(plain) % 2 == 0).compress(plain)
    return plain


def varint(value: int) -> bytes:
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def nullable(raw: bytes | None) -> bytes:
    return varint(-1) if raw is None else varint(len(raw)) + raw


def record(written: Record) -> bytes:
    headers = b"".join(nullable(key) + nullable(value) for key, value in written.headers)
    body = b"\0" + varint(written.time_delta) + varint(written.delta) + nullable(written.key) + nullable(written.value)
    body += varint(len(written.headers)) + headers
    return varint(len(body)) + body


def marker(offset: int, producer_id: int, kind: int = COMMIT, **fields: Any) -> Batch:
    """A control batch that ends a transaction."""
    end = Record(delta=0, key=struct.pack(">hh", 0, kind), value=struct.pack(">hi", 0, 3))
    flags = CONTROL | TRANSACTIONAL
    return Batch(base_offset=offset, records=(end,), producer_id=producer_id, producer_epoch=0, flags=flags, **fields)


INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.sampled_from([-1, 0, 1, 1_600_000_000_000, -62_135_596_800_000, 253_402_300_799_999, 2**63 - 1]) | INT64
FIELDS = st.none() | st.binary(max_size=12) | st.sampled_from([b"v" * 63, b"v" * 64, b"v" * 200, b"k" * 20_000])
HEADER_KEYS = st.sampled_from([b"", b"a", b"trace", "ü".encode(), b"\\", b"\xff", b"\xc3", b"\xa9", b"\xf0\x9f\x98"])
HEADERS = st.lists(st.tuples(HEADER_KEYS | st.binary(max_size=4), FIELDS), max_size=4).map(tuple)
CODECS = st.integers(NONE, ZSTD)


@st.composite
def batches(draw: st.DrawFn, base_offset: int = 0) -> Batch:
    """One batch; there are few producers, so that transactions overlap."""
    deltas = sorted(draw(st.sets(st.integers(0, 40), max_size=12)))
    records = tuple(
        Record(
            delta=delta,
            time_delta=draw(st.integers(-5, 2000) | INT64),
            key=draw(FIELDS),
            value=draw(FIELDS),
            headers=draw(st.just(()) | HEADERS),
        )
        for delta in deltas
    )
    return Batch(
        base_offset=base_offset,
        records=records,
        last_delta=draw(st.integers(max(deltas, default=0), 45)),
        codec=draw(CODECS),
        flags=draw(st.sampled_from([0, 0, LOG_APPEND_TIME, TRANSACTIONAL, TRANSACTIONAL, DELETE_HORIZON])),
        leader_epoch=draw(st.integers(-1, 3)),
        base_time=draw(TIMES),
        max_time=draw(TIMES),
        producer_id=draw(st.integers(-1, 3)),
        producer_epoch=draw(st.integers(-1, 1)),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[Batch]:
    """Batches in the order of a log, with gaps between them, and markers."""
    offset, log = draw(st.integers(0, 3) | st.integers(0, 2**40)), list[Batch]()
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.integers(0, 3)) == 0:
            codec = draw(st.just(NONE) | CODECS)
            log.append(marker(offset, draw(st.integers(0, 3)), draw(st.integers(0, 2)), codec=codec))
        else:
            log.append(draw(batches(offset)))
        offset = log[-1].last_offset + 1 + draw(st.sampled_from([0, 0, 0, 7]))
    return log
