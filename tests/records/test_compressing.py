"""Compressed bytes can be decompressed, and have the framing of Java's producer."""

import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import UnsupportedCodec
from kafka_lagoon.records.codecs import decompress_into
from kafka_lagoon.records.compressing import CODECS, LZ4, NONE, SNAPPY, compress


@given(st.binary() | st.integers(1, 200_000).map(bytes), st.sampled_from([codec for codec in CODECS.values() if codec]))
def test_what_was_compressed_comes_back(plain: bytes, codec: int) -> None:
    """Bytes of any size, compressed by any codec, are decompressed to the same bytes."""
    target = memoryview(bytearray(len(plain) + 1))
    size = decompress_into(codec, memoryview(compress(codec, plain)), target)
    assert target[:size] == plain


def test_no_codec_is_no_copy() -> None:
    """Codec 0 leaves the bytes as they are."""
    plain = b"plain"
    assert compress(NONE, plain) is plain


@pytest.mark.parametrize("codec", CODECS.values())
def test_the_time_changes_nothing(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes give the same output at any time: the time in gzip's header is not set."""
    first = compress(codec, b"plain")
    monkeypatch.setattr(time, "time", lambda: 5_000_000.0)
    assert compress(codec, b"plain") == first


def test_framing() -> None:
    """snappy-java's blocks of 32 KiB, and lz4 frames of independent blocks of 64 KiB without checksums or sizes."""
    packed = compress(SNAPPY, bytes(100_000))
    assert packed.startswith(b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1))
    blocks, position = 0, 16
    while position < len(packed):
        position += 4 + struct.unpack_from(">i", packed, position)[0]
        blocks += 1
    assert (blocks, position) == (4, len(packed))
    assert compress(LZ4, bytes(100))[:6] == b"\x04\x22\x4d\x18\x60\x40"


def test_a_codec_that_kafka_does_not_have() -> None:
    """An unknown codec is refused."""
    with pytest.raises(UnsupportedCodec, match="codec 5"):
        compress(5, b"")
