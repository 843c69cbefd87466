"""Compresses records with Kafka's four codecs, in the framing of Java's producer, which every reader has been tested with.

A codec's library is imported when it is first used, so that a command that writes ten lines does not wait for four of them.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct

from kafka_lagoon.errors import UnsupportedCodec

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

_Plain = bytes | memoryview
_Compressor = Callable[[_Plain], bytes]

_XERIAL_HEADER = b"\x82SNAPPY\x00" + Struct(">ii").pack(1, 1)  # version, lowest compatible version
_XERIAL_BLOCK_SIZE = 32 << 10
_SIZE = Struct(">i").pack


def compress(codec: int, plain: _Plain) -> bytes:
    """The compressed bytes; `plain` itself for codec 0. UnsupportedCodec for a codec that Kafka does not have."""
    new_compressor = _COMPRESSORS.get(codec)
    if new_compressor is None:
        raise UnsupportedCodec("UNSUPPORTED_CODEC", f"codec {codec}")
    return new_compressor()(plain)


@cache
def _none() -> _Compressor:
    return bytes  # the same object where it is bytes already


@cache
def _gzip() -> _Compressor:
    """Without the time, as Java writes it: the same records are always the same bytes."""
    from isal import igzip  # noqa: PLC0415  see the top of this file

    def compressed(plain: _Plain) -> bytes:
        packed: bytes = igzip.compress(plain, mtime=0)
        return packed

    return compressed


@cache
def _snappy() -> _Compressor:
    """A stream of snappy-java: a header, then blocks, each after its length."""
    from cramjam import snappy  # noqa: PLC0415  see the top of this file

    def compressed(plain: _Plain) -> bytes:
        parts = [_XERIAL_HEADER]
        for start in range(0, len(plain), _XERIAL_BLOCK_SIZE):
            block = bytes(snappy.compress_raw(plain[start : start + _XERIAL_BLOCK_SIZE]))
            parts += (_SIZE(len(block)), block)
        return b"".join(parts)

    return compressed


@cache
def _lz4() -> _Compressor:
    """One frame of independent blocks of 64 KiB without checksums or sizes, neither of which Kafka's reader looks at."""
    from lz4 import frame  # noqa: PLC0415  see the top of this file

    def compressed(plain: _Plain) -> bytes:
        packed: bytes = frame.compress(
            plain, block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, content_checksum=False, store_size=False
        )
        return packed

    return compressed


@cache
def _zstd() -> _Compressor:
    from zstandard import ZstdCompressor  # noqa: PLC0415  see the top of this file

    return lambda plain: ZstdCompressor().compress(plain)  # level 3, as Java's; a compressor is not shared by threads


_COMPRESSORS: dict[int, Callable[[], _Compressor]] = {NONE: _none, GZIP: _gzip, SNAPPY: _snappy, LZ4: _lz4, ZSTD: _zstd}
