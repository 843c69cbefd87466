"""Draws descriptions of batches, and damages their bytes, by a random number generator.

Chances are set so that in some thousand batches every rule of the formats meets every other one; a failing test names
the seed. Nothing here is read by our own decoders but the checksum's place.
"""

import struct
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import cramjam
import crc32c
import lz4.frame
import zstandard

from tests.oracle.memory_records import batch, record

CODECS = {0: ("none", "gzip", "snappy", "lz4"), 1: ("none", "gzip", "snappy", "lz4")}
CODECS[2] = (*CODECS[1], "zstd")
HEADER_KEYS = ("", "h", "trace-id", "ü", "\U0001f600", "x" * 130)

_LOG_OVERHEAD = 12
_MAGIC_AT = 16
_V2_RECORDS_AT = 61
_V2_CRC_AT, _V2_ATTRIBUTES_AT = 17, 21
_V2_COUNT_AT = 57


def any_batch(random: Random, base_offset: int) -> dict[str, Any]:
    """Draw a batch of any format that starts at `base_offset` or later."""
    magic = random.choices((0, 1, 2), (2, 3, 7))[0]
    records = _records(random, base_offset, magic)
    made = batch(
        magic=magic,
        codec=random.choice(CODECS[magic]),
        base_offset=base_offset if magic else records[0]["offset"],
        records=records,
        removed=_removed(random, [one["offset"] for one in records]),
        **_timestamps(random, magic),
    )
    return made if magic < 2 else made | _of_magic_2(random, made)


def _timestamps(random: Random, magic: int) -> dict[str, Any]:
    if magic == 0:
        return {"timestamp_type": "NoTimestampType"}
    if random.random() < 0.3:
        return {"timestamp_type": "LogAppendTime", "log_append_time": random.choice((0, 1, 1_700_000_000_000))}
    return {"timestamp_type": "CreateTime"}


def _of_magic_2(random: Random, made: dict[str, Any]) -> dict[str, Any]:
    """Draw the values of the producer and of the leader."""
    last = made["records"][-1]["offset"]
    more: dict[str, Any] = {"leader_epoch": random.choice((-1, 0, 7, 2**31 - 1))}
    if random.random() < 0.2:
        more["last_offset"] = last + random.choice((0, 1, 1000))
    if random.random() < 0.1:
        more["delete_horizon"] = random.choice((0, 1_700_000_000_000))
    kind = random.choice(("plain", "idempotent", "transactional", "control"))
    if kind != "plain":
        more |= {"producer_id": random.choice((0, 1, 2**40)), "producer_epoch": random.choice((0, 2**15 - 1))}
        more |= {"base_sequence": random.choice((0, 2**31 - 2)), "transactional": kind != "idempotent"}
    if kind == "control":
        more |= {"control": True, "codec": "none", "base_sequence": -1, "timestamp_type": "CreateTime"}
        more |= {"log_append_time": -1, "removed": made["removed"] and [last], "last_offset": -1}
        marker = struct.pack(">hh", 0, random.randrange(2))
        more["records"] = [
            record(last, timestamp_ms=random.choice((0, 77)), key=marker, value=struct.pack(">hi", 0, 5))
        ]
    return more


def _records(random: Random, base_offset: int, magic: int) -> list[dict[str, Any]]:
    count = random.choices((1, random.randrange(2, 9), 300), (6, 20, 1))[0]
    offset = base_offset if random.random() < 0.7 else base_offset + random.randrange(5)
    time = random.choice((-1, 0, 1_700_000_000_000, 2**62))
    records = []
    for _ in range(count):
        shaken = max(-1, time + random.choice((0, 0, 1, -1, 63, 64, -(2**33))))
        headers = _headers(random) if magic == 2 else ()
        key, value = _bytes(random), _bytes(random)
        records.append(record(offset, timestamp_ms=shaken if magic else -1, key=key, value=value, headers=headers))
        offset += random.choices((1, 2, 70), (30, 3, 1))[0]
    return records


def _headers(random: Random) -> list[tuple[str, bytes | None]]:
    count = random.choices((0, 1, 3, 70), (10, 5, 5, 0.2))[0]
    return [(random.choice(HEADER_KEYS), _bytes(random)) for _ in range(count)]


def _bytes(random: Random) -> bytes | None:
    size = random.choices((-1, 0, random.randrange(1, 20), 63, 64, 127, 128, 9000), (4, 3, 20, 1, 1, 1, 1, 0.1))[0]
    return None if size < 0 else random.choice((bytes(size), random.randbytes(size), b"json " * (size // 5)))


def _removed(random: Random, offsets: Sequence[int]) -> list[int]:
    """Draw records that compaction removes: usually none, sometimes some, sometimes all."""
    share = random.choices((0, 0.4, 1), (8, 2, 1))[0]
    return [offset for offset in offsets if random.random() < share]


def damaged(random: Random, raw: bytes) -> bytes:
    """Damage the bytes of one batch, usually with a corrected checksum."""
    how = random.choice((_flipped, _field, _cut, _spliced, _repacked, _repacked, _repacked, _repacked))
    changed = how(random, raw)
    return changed if random.random() < 0.1 else with_right_checksum(changed)


def _flipped(random: Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(random.choice((1, 1, 2, 5))):
        position = random.randrange(len(changed))
        changed[position] = random.choice((changed[position] ^ 1 << random.randrange(8), random.randrange(256)))
    return bytes(changed)


def _field(random: Random, raw: bytes) -> bytes:
    """Write an odd number to one of the header's fields, at their positions in magic 2."""
    position, width = random.choice(((0, 8), (8, 4), (16, 1), (21, 2), (23, 4), (27, 8), (35, 8), (43, 8), (57, 4)))
    number = random.choice((-(2 ** (8 * width - 1)), -1, 0, 1, 2, random.randrange(64), 2 ** (8 * width - 1) - 1))
    return raw[:position] + number.to_bytes(width, "big", signed=True) + raw[position + width :]


def _cut(random: Random, raw: bytes) -> bytes:
    """Cut off the end, and half of the time correct the length."""
    cut = raw[: random.randrange(len(raw))]
    return _with_right_length(cut) if random.random() < 0.5 else cut


def _spliced(random: Random, raw: bytes) -> bytes:
    position, back = random.randrange(len(raw) + 1), random.randrange(len(raw) + 1)
    return _with_right_length(raw[:position] + raw[back:])


def _repacked(random: Random, raw: bytes) -> bytes:
    """Damage the records of an uncompressed batch, and compress it then."""
    if raw[_MAGIC_AT] < 2:
        return _wrapped(random, raw)
    if len(raw) <= _V2_RECORDS_AT or raw[_V2_ATTRIBUTES_AT + 1] & 7:
        return _flipped(random, raw)
    codec = random.randrange(5)
    packed = PACKERS[codec](_flipped(random, raw[_V2_RECORDS_AT:]))
    attributes = bytes((raw[_V2_ATTRIBUTES_AT + 1] | codec,))
    header = raw[: _V2_ATTRIBUTES_AT + 1] + attributes + raw[_V2_ATTRIBUTES_AT + 2 : _V2_RECORDS_AT]
    return _with_right_length(header + packed)


def _wrapped(random: Random, raw: bytes) -> bytes:
    """Damage a message set of magic 0 or 1, correct its checksums, and wrap it in a compressed message."""
    entries = _entries(_flipped(random, raw) if random.random() < 0.7 else raw)
    packed = PACKERS[codec := random.choice((1, 2, 3))](b"".join(map(with_right_checksum, entries)))
    last = int.from_bytes(entries[-1][:8], "big", signed=True)
    offset = random.choice((last, last, last, min(last + 5, 2**63 - 1), 0))
    timestamp = struct.pack(">q", 77) if raw[_MAGIC_AT] else b""
    body = bytes((raw[_MAGIC_AT], codec | random.choice((0, 8)))) + timestamp + struct.pack(">ii", -1, len(packed))
    return struct.pack(">qii", offset, len(body) + len(packed) + 4, 0) + body + packed


def _entries(raw: bytes) -> list[bytes]:
    """Divide the bytes into entries by their lengths; the last may be incomplete."""
    entries, position = [], 0
    while position < len(raw):
        size = int.from_bytes(raw[position + 8 : position + _LOG_OVERHEAD], "big", signed=True)
        end = position + _LOG_OVERHEAD + size if size > 0 else len(raw)
        entries.append(raw[position:end])
        position = end
    return entries


def _xerial(plain: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(plain))
    return b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(block)) + block


PACKERS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: lambda plain: zlib.compress(plain, 6, 31),
    2: _xerial,
    3: lambda plain: lz4.frame.compress(plain, block_linked=False, store_size=False),
    4: lambda plain: zstandard.ZstdCompressor(write_checksum=False).compress(plain),
}


def _with_right_length(raw: bytes) -> bytes:
    if len(raw) < _LOG_OVERHEAD:
        return raw
    return raw[:8] + struct.pack(">i", len(raw) - _LOG_OVERHEAD) + raw[_LOG_OVERHEAD:]


def with_right_checksum(raw: bytes) -> bytes:
    """Return the bytes with the first batch's checksum corrected."""
    if len(raw) <= _MAGIC_AT:
        return raw
    end = _LOG_OVERHEAD + struct.unpack_from(">i", raw, 8)[0]
    if raw[_MAGIC_AT] == 2:
        position, checksum = _V2_CRC_AT, crc32c.crc32c(raw[_V2_ATTRIBUTES_AT : max(end, 0)])
    else:
        position, checksum = _LOG_OVERHEAD, zlib.crc32(raw[_MAGIC_AT : max(end, 0)])
    return raw[:position] + struct.pack(">I", checksum) + raw[position + 4 :] if position + 4 <= len(raw) else raw
