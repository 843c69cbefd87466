"""Decodes batches of every magic to records, simply and slowly; tests/reference/answers.py decodes responses with it.

Written from Kafka's documentation of its formats, without regard to speed. A batch that contradicts itself is `Refused`.
"""

import io
import struct
import zlib
from dataclasses import dataclass

import lz4.frame
import snappy
import zstandard


class Refused(Exception):
    """A batch that cannot be decoded, with the reason as in table record_problems."""

    def __init__(self, reason: str = "CORRUPT_BATCH", *, is_contradiction: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_contradiction = reason, is_contradiction


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record as it is stored."""

    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The header of a batch of magic 2, or of an entry of magic 0 or 1, and its position in the data."""

    raw: bytes
    magic: int
    base_offset: int
    last_offset: int
    attributes: int
    leader_epoch: int = -1
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    count: int = 0
    is_possible: bool = True
    is_trusted: bool = True
    lies: bool = False  # the start of the next batch contradicts the last offset

    @property
    def is_believed(self) -> bool:
        return self.is_trusted and not self.lies

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and bool(self.attributes & 0x20)

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and bool(self.attributes & 0x10)


def split(data: bytes) -> list[bytes]:
    """Split off the complete entries at the start of the data, up to a length that no entry can have."""
    entries = []
    while len(data) >= 12:
        size = 12 + int.from_bytes(data[8:12], "big", signed=True)
        if not 26 <= size <= len(data):
            break
        entries.append(data[:size])
        data = data[size:]
    return entries


def header(raw: bytes) -> Batch:
    """Decode the header of an entry; a header with implausible values is not trusted."""
    (offset,) = struct.unpack_from(">q", raw)
    magic = raw[16]
    if magic in (0, 1):
        return Batch(raw=raw, magic=magic, base_offset=offset, last_offset=offset, attributes=raw[17])
    if magic != 2 or len(raw) < 61:
        return Batch(
            raw=raw,
            magic=magic,
            base_offset=offset,
            last_offset=offset,
            attributes=0,
            is_possible=False,
            is_trusted=False,
        )
    base, _, epoch, _, crc, attributes, delta, base_time, max_time, producer, producer_epoch, _, count = (
        struct.unpack_from(">qiibIhiqqqhii", raw)
    )
    is_possible = base >= 0 and delta >= 0 and base + delta + 1 < 2**63
    return Batch(
        raw=raw,
        magic=magic,
        base_offset=base,
        last_offset=base + delta if is_possible else base,
        attributes=attributes,
        leader_epoch=epoch,
        base_timestamp=base_time,
        max_timestamp=max_time,
        producer_id=producer,
        producer_epoch=producer_epoch,
        count=count,
        is_possible=is_possible,
        is_trusted=is_possible and crc == crc32c(raw[21:]),
    )


def records(batch: Batch, limit: int = 64 << 20) -> list[Record]:
    """Return the records of a batch or an entry, control records included."""
    if batch.magic not in (0, 1, 2):
        raise Refused("UNSUPPORTED_MAGIC")
    if not batch.is_believed:
        raise Refused
    return _current(batch, limit) if batch.magic == 2 else _legacy(batch.raw, limit)


def _current(batch: Batch, limit: int) -> list[Record]:
    plain = io.BytesIO(_plain(batch.attributes & 7, batch.raw[61:], limit, magic=2))
    try:
        return _records(batch, plain)
    except Refused as refused:
        raise Refused(is_contradiction=True) from refused


def _records(batch: Batch, plain: io.BytesIO) -> list[Record]:
    decoded = [_record(_take(plain, _varint(plain)), batch) for _ in range(_size(batch.count, plain))]
    offsets = [record.offset for record in decoded]
    if plain.read(1) or offsets != sorted(set(offsets)):
        raise Refused
    if offsets and not batch.base_offset <= offsets[0] <= offsets[-1] <= batch.last_offset:
        raise Refused
    return decoded


def _record(body: bytes, batch: Batch) -> Record:
    plain = io.BytesIO(body)
    _take(plain, 1)
    time, delta = _varint(plain, bits=64), _varint(plain)
    key, value = _nullable(plain), _nullable(plain)
    headers = tuple((_take(plain, _varint(plain)), _nullable(plain)) for _ in range(_size(_varint(plain), plain)))
    if plain.read(1):
        raise Refused
    by_log = bool(batch.attributes & 8)
    created = (batch.base_timestamp + time + 2**63) % 2**64 - 2**63
    return Record(
        offset=batch.base_offset + delta,
        timestamp_ms=batch.max_timestamp if by_log else created,
        timestamp_type=int(by_log),
        key=key,
        value=value,
        headers=headers,
    )


def marker(batch: Batch) -> int:
    """Return the type of a control batch's first record, -1 if it has no record; the keys of all records are checked."""
    types = []
    for record in records(batch):
        if record.key is None or len(record.key) < 4 or record.key[0] >= 0x80:
            raise Refused(is_contradiction=True)
        types.append(int.from_bytes(record.key[2:4], "big", signed=True))
    return types[0] if types else -1


def _legacy(raw: bytes, limit: int) -> list[Record]:
    outer, codec = _message(raw)
    if not codec:
        return [outer]
    if codec not in (1, 2, 3):
        raise Refused("UNSUPPORTED_CODEC")
    if outer.value is None:
        raise Refused
    magic = raw[16]
    plain = _plain(codec, outer.value, limit, magic=magic)
    inner = []
    while plain:
        size = 12 + int.from_bytes(plain[8:12], "big", signed=True)
        if not 26 <= size <= len(plain):
            raise Refused
        message, nested = _message(plain[:size])
        if plain[16] != magic:
            raise Refused("UNSUPPORTED_MAGIC")
        if nested:
            raise Refused("UNSUPPORTED_CODEC")
        inner.append(message)
        plain = plain[size:]
    return _placed(outer, inner, magic)


def _placed(outer: Record, inner: list[Record], magic: int) -> list[Record]:
    """Give inner messages their offsets in the log, and the entry's timestamp if it is the log append time."""
    if not inner:
        raise Refused
    base = outer.offset - inner[-1].offset if magic == 1 and outer.offset else 0
    placed = [
        Record(
            offset=base + one.offset,
            timestamp_ms=outer.timestamp_ms if outer.timestamp_type == 1 else one.timestamp_ms,
            timestamp_type=outer.timestamp_type,
            key=one.key,
            value=one.value,
        )
        for one in inner
    ]
    offsets = [one.offset for one in placed]
    is_below = magic == 1 and outer.offset and base < 0
    if is_below or offsets != sorted(set(offsets)) or offsets[0] < 0 or (outer.offset and offsets[-1] > outer.offset):
        raise Refused
    return placed


def _message(raw: bytes) -> tuple[Record, int]:
    """Decode a message of magic 0 or 1, and its codec."""
    magic, attributes = raw[16], raw[17]
    if zlib.crc32(raw[16:]) != int.from_bytes(raw[12:16], "big"):
        raise Refused
    if magic not in (0, 1):
        raise Refused("UNSUPPORTED_MAGIC")
    rest = io.BytesIO(raw[18:])
    time = int.from_bytes(_take(rest, 8), "big", signed=True) if magic else -1
    fields = []
    for _ in range(2):
        size = int.from_bytes(_take(rest, 4), "big", signed=True)
        fields.append(None if size < 0 else _take(rest, size))
    record = Record(
        offset=int.from_bytes(raw[:8], "big", signed=True),
        timestamp_ms=time,
        timestamp_type=(1 if attributes & 8 else 0) if magic else -1,
        key=fields[0],
        value=fields[1],
    )
    return record, attributes & 7


def _plain(codec: int, packed: bytes, limit: int, *, magic: int) -> bytes:
    try:
        plain = _unpack(codec, packed, limit, magic)
    except Refused:
        raise
    except Exception as error:
        raise Refused from error
    if len(plain) > limit:
        raise Refused("EXPANDED_TOO_LARGE")
    return plain


def _unpack(codec: int, packed: bytes, limit: int, magic: int) -> bytes:
    match codec:
        case 0:
            return packed
        case 1:
            return zlib.decompressobj(31).decompress(packed, limit + 1)
        case 2 if packed.startswith(b"\x82SNAPPY\0"):
            return _xerial(packed[16:])
        case 2:
            return bytes(snappy.uncompress(packed))
        case 3:
            # KAFKA-3160: old writers' header checksums are wrong; zeroed flags and a new frame would be the same data.
            return lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=limit + 1)
        case 4 if magic == 2:
            return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read(limit + 1)
    raise Refused("UNSUPPORTED_CODEC")


def _xerial(blocks: bytes) -> bytes:
    plain = b""
    while blocks:
        size = int.from_bytes(blocks[:4], "big")
        plain += bytes(snappy.uncompress(blocks[4 : 4 + size]))
        blocks = blocks[4 + size :]
    return plain


def _take(source: io.BytesIO, size: int) -> bytes:
    taken = source.read(size) if size >= 0 else b""
    if len(taken) != size:
        raise Refused
    return taken


def _nullable(source: io.BytesIO) -> bytes | None:
    size = _varint(source)
    return None if size < 0 else _take(source, size)


def _size(count: int, source: io.BytesIO) -> int:
    """Read a count of items, each of which takes at least a byte."""
    if not 0 <= count <= len(source.getbuffer()) - source.tell():
        raise Refused
    return count


def _varint(source: io.BytesIO, bits: int = 32) -> int:
    value = 0
    for shift in range(0, bits, 7):
        (byte,) = _take(source, 1)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value %= 2**bits
            return value >> 1 if value % 2 == 0 else -(value >> 1) - 1
    raise Refused


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRCS = [_crc_of(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C checksum (Castagnoli)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRCS[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
