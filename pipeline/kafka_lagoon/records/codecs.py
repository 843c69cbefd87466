"""Decompresses Kafka's four codecs into memory of the caller.

No call writes or allocates more than the target that it is given, whatever sizes the data claim.

Measured with a batch of 130 KB of JSON records and one of 190 bytes, best of five on one core of two, in MB/s and in
microseconds a call, `decompress_into` included; beside it the libraries that were not taken, alone:

    codec   taken                       not taken
    gzip    isal's igzip    920   3.3   zlib 440, 2.4; cramjam 530, 7.4
    snappy  cramjam        2100   0.9   python-snappy, which is cramjam and a copy: 1900, 0.8
    lz4     lz4, a copy    3300   1.2   cramjam, in place: 3300, 5.6 (from 1 MB on it is a quarter faster)
    zstd    zstandard      1830   4.0   cramjam 1480, 22; zstandard with a new context for each call 1320, 23

All four release the GIL while they work. Contexts of lz4 and zstd are kept for each thread.
"""

import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from struct import Struct

import cramjam
import zstandard
from isal import igzip_lib
from lz4 import frame as lz4_frame

from kafka_lagoon.errors import CorruptBatch, UnsupportedCodec
from kafka_lagoon.records.compressing import CODECS, GZIP, LZ4, SNAPPY, ZSTD

CODEC_NAMES = {codec: name for name, codec in CODECS.items()}

_BIG_ENDIAN_INT = Struct(">i").unpack_from
_LITTLE_ENDIAN_UINT = Struct("<I").unpack_from

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_MIN_SIZE = 18  # header and trailer
_GZIP_MAX_MEMBERS = 64  # each costs a copy of what follows it; no producer is known to write more than one

_SNAPPY_MAX_RATIO = 22  # three bytes copy 64 at most
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE = 16  # magic, version, lowest compatible version
_XERIAL_LENGTH_SIZE = 4

_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_MIN_HEADER_SIZE = 7
_LZ4_SIZE_FLAG, _LZ4_CHECKSUM_FLAG, _LZ4_CHECKSUM_SIZE = 0x08, 0x04, 4

_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50  # its last four bits are free
# zstd's own default, and what the highest levels of Kafka's producers ask for. The window is memory that is reserved,
# but only touched as far as there is output, which the target limits.
_ZSTD_MAX_WINDOW = 1 << 27


# lz4 has no class of its own; isal's type stub takes its class for an instance.
_LIBRARY_ERRORS: tuple[type[Exception], ...] = (
    igzip_lib.IsalError,  # type: ignore[assignment]
    cramjam.DecompressionError,
    RuntimeError,
    zstandard.ZstdError,
)


class TargetTooSmall(Exception):
    """The output is larger than the target; at least `at_least` bytes are needed, as far as is known or claimed."""

    def __init__(self, at_least: int) -> None:
        super().__init__(at_least)
        self.at_least = at_least


class _Contexts(threading.local):
    """Contexts that a thread keeps between calls; making them costs more than a small batch."""

    def __init__(self) -> None:
        self.lz4 = lz4_frame.create_decompression_context()
        self.zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)


_contexts = _Contexts()


def decompress_into(codec: int, source: memoryview, target: memoryview, *, magic: int = 2) -> int:
    """Decompress `source` into `target` and return how many bytes that are; `magic` is the format of the batch around it.

    Raises TargetTooSmall when there is more, CorruptBatch for bytes that the codec cannot read, and UnsupportedCodec.
    The content of `target` is undefined in all three cases.
    """
    decompress = _DECOMPRESSORS.get(codec)
    if decompress is None:
        raise UnsupportedCodec("UNSUPPORTED_CODEC", f"codec {codec}")
    try:
        return decompress(source, target, magic)
    except _LIBRARY_ERRORS as error:
        raise CorruptBatch("CORRUPT_BATCH", f"bad {CODEC_NAMES[codec]} data: {error}") from error


def _decompress_gzip(source: memoryview, target: memoryview, _magic: int) -> int:
    """Reads gzip members one after another; like Java, it ignores bytes after them that are no member."""
    written = 0
    rest: memoryview | bytes = source
    for _ in range(_GZIP_MAX_MEMBERS):
        member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        plain = member.decompress(rest, len(target) - written + 1)
        written = _put(plain, target, written)
        if not member.eof:
            raise CorruptBatch("CORRUPT_BATCH", "bad gzip data: it ends in the middle")
        rest = member.unused_data
        if len(rest) < _GZIP_MIN_SIZE or rest[:2] != _GZIP_MAGIC:
            return written
    raise CorruptBatch("CORRUPT_BATCH", f"bad gzip data: more than {_GZIP_MAX_MEMBERS} members")


def _decompress_snappy(source: memoryview, target: memoryview, _magic: int) -> int:
    """Reads one raw block, or the blocks of a snappy-java stream, which librdkafka calls xerial."""
    if source[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC or len(source) < _XERIAL_HEADER_SIZE:
        return _snappy_block(source, target)
    written = 0
    for block in _xerial_blocks(source):
        written += _snappy_block(block, target[written:], written)
    return written


def _xerial_blocks(source: memoryview) -> Iterator[memoryview]:
    """The compressed blocks; streams may follow each other; fewer bytes at the end than a length has are ignored."""
    position, end = _XERIAL_HEADER_SIZE, len(source)
    while end - position >= _XERIAL_LENGTH_SIZE:
        if source[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            position += _XERIAL_HEADER_SIZE
            continue
        (size,) = _BIG_ENDIAN_INT(source, position)
        position += _XERIAL_LENGTH_SIZE
        # CVE-2023-34455, CVE-2023-43642: a length that is negative, or beyond what there is, is never allocated.
        if not 0 < size <= end - position:
            raise CorruptBatch(
                "CORRUPT_BATCH", f"bad snappy data: a block of {size} bytes where {end - position} are left"
            )
        yield source[position : position + size]
        position += size


def _snappy_block(block: memoryview, target: memoryview, written: int = 0) -> int:
    claimed: int = cramjam.snappy.decompress_raw_len(block)
    if claimed > _SNAPPY_MAX_RATIO * len(block):
        raise CorruptBatch("CORRUPT_BATCH", f"bad snappy data: {len(block)} bytes claim to be {claimed}")
    if claimed > len(target):
        raise TargetTooSmall(written + claimed)
    count: int = cramjam.snappy.decompress_raw_into(block, target)
    return count


def _decompress_lz4(source: memoryview, target: memoryview, magic: int) -> int:
    """Reads the first frame; like Java, it ignores the bytes after it."""
    context = _contexts.lz4
    lz4_frame.reset_decompression_context(context)
    frame = source if bytes(source[:_LZ4_MIN_HEADER_SIZE]) in _LZ4_USUAL_HEADERS else _relaxed_lz4(source, magic)
    plain, end, is_whole = lz4_frame.decompress_chunk(context, frame, max_length=len(target) + 1)
    written = _put(plain, target, 0)
    if not is_whole or (source[4] & _LZ4_CHECKSUM_FLAG and len(frame) - end < _LZ4_CHECKSUM_SIZE):
        raise CorruptBatch("CORRUPT_BATCH", "bad lz4 data: it ends in the middle")
    return written


def _relaxed_lz4(source: memoryview, magic: int) -> bytes:
    """The frame without its content size and checksum. Kafka's own reader looks at neither, but the checksum must be there.

    In magic 0 the header's checksum is not looked at either: old writers computed it over the frame's magic, too
    (KAFKA-3160).
    """
    flags = source[4] if len(source) >= _LZ4_MIN_HEADER_SIZE and source[:4] == _LZ4_MAGIC else 0
    size = 10 if flags & _LZ4_SIZE_FLAG else 2
    descriptor = bytes(source[4 : 4 + size])
    if not flags or len(source) < 5 + size:
        raise CorruptBatch("CORRUPT_BATCH", "bad lz4 data: no frame")
    if magic > 0 and source[4 + size] != _header_checksum(descriptor):
        raise CorruptBatch("CORRUPT_BATCH", "bad lz4 data: the checksum of the frame's header")
    plainest = bytes((flags & ~(_LZ4_SIZE_FLAG | _LZ4_CHECKSUM_FLAG), descriptor[1]))
    return b"".join((_LZ4_MAGIC, plainest, bytes((_header_checksum(plainest),)), source[5 + size :]))


@lru_cache(maxsize=64)
def _header_checksum(descriptor: bytes) -> int:
    """The second lowest byte of the descriptor's XXH32, whose main loop starts at 16 bytes only."""
    mask, (p1, p2, p3, p4, p5) = 0xFFFFFFFF, (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
    lanes = len(descriptor) // 4 * 4
    hashed = p5 + len(descriptor)
    for position in range(0, lanes, 4):
        hashed = (hashed + _LITTLE_ENDIAN_UINT(descriptor, position)[0] * p3) & mask
        hashed = (hashed << 17 | hashed >> 15) * p4 & mask
    for byte in descriptor[lanes:]:
        hashed = (hashed + byte * p5) & mask
        hashed = (hashed << 11 | hashed >> 21) * p1 & mask
    hashed = (hashed ^ hashed >> 15) * p2 & mask
    hashed = (hashed ^ hashed >> 13) * p3 & mask
    return (hashed ^ hashed >> 16) >> 8 & 0xFF


# Independent blocks of 64 KB to 4 MB and no checksum: Java's and librdkafka's producers. These need no copy.
_LZ4_USUAL_HEADERS = frozenset(
    _LZ4_MAGIC + descriptor + bytes((_header_checksum(descriptor),))
    for descriptor in (bytes((0x60, size)) for size in (0x40, 0x50, 0x60, 0x70))
)


def _decompress_zstd(source: memoryview, target: memoryview, _magic: int) -> int:
    """Frames one after another, with and without their size, decompressed in place."""
    if not target:
        raise TargetTooSmall(1)
    reader = _contexts.zstd.stream_reader(source, read_across_frames=True)
    written = reader.readinto(target)
    if written == len(target) and reader.read(1):
        raise TargetTooSmall(max(written + 1, zstandard.frame_content_size(source)))
    if _zstd_frames_end(source) != len(source):
        raise CorruptBatch("CORRUPT_BATCH", "bad zstd data: it ends in the middle")
    return written


def _zstd_frames_end(source: memoryview) -> int:
    """The end of the last whole frame; the library takes a stream that is cut off for a short one."""
    end = len(source)
    whole = position = 0
    while position + 8 <= end:
        (magic,) = _LITTLE_ENDIAN_UINT(source, position)
        if magic == _ZSTD_MAGIC:
            position = _zstd_frame_end(source, position)
        elif magic & ~0xF == _ZSTD_SKIPPABLE_MAGIC:
            position += 8 + _LITTLE_ENDIAN_UINT(source, position + 4)[0]
        if not whole < position <= end:
            break
        whole = position
    return whole


def _zstd_frame_end(source: memoryview, start: int) -> int:
    """The position after the frame's last block and its checksum, which may be larger than the size of `source`."""
    position, is_last = start + zstandard.frame_header_size(source[start : start + 18]), False
    while not is_last and position + 3 <= len(source):
        header = int.from_bytes(source[position : position + 3], "little")
        is_last, is_run, size = bool(header & 1), header >> 1 & 3 == 1, header >> 3
        position += 3 + (1 if is_run else size)
    has_checksum = source[start + 4] & 4
    return position + (4 if has_checksum else 0) if is_last else len(source) + 1


def _put(plain: bytes, target: memoryview, position: int) -> int:
    """Copy `plain` into the target, and return the position up to which it is filled."""
    end = position + len(plain)
    if end > len(target):
        raise TargetTooSmall(end)
    target[position:end] = plain
    return end


_Decompressor = Callable[[memoryview, memoryview, int], int]
_DECOMPRESSORS: dict[int, _Decompressor] = {
    GZIP: _decompress_gzip,
    SNAPPY: _decompress_snappy,
    LZ4: _decompress_lz4,
    ZSTD: _decompress_zstd,
}
