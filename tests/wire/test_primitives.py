"""Varints and ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.wire.primitives import read_uvarint, uuid_bytes, uuid_text, write_uvarint


@given(st.integers(0, 2**32 - 1))
def test_varint_round_trip(value: int) -> None:
    """Every number of 32 bits is decoded as it was encoded, in at most five bytes."""
    out = bytearray(b"..")
    write_uvarint(out, value)
    assert read_uvarint(bytes(out), 2) == (value, len(out))
    assert len(out) - 2 <= 5


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**31 - 1, "ffffffff07"), (2**32 - 1, "ffffffff0f")],
)
def test_varint_bytes(value: int, encoded: str) -> None:
    """A varint has seven bits per byte, lowest first."""
    out = bytearray()
    write_uvarint(out, value)
    assert out.hex() == encoded


def test_varint_of_more_than_five_bytes() -> None:
    """A sixth byte is always refused."""
    with pytest.raises(ValueError, match="more than five bytes"):
        read_uvarint(b"\x80\x80\x80\x80\x80\x00", 0)


def test_varint_of_more_than_32_bits() -> None:
    """The bits above are lost, as in Java."""
    assert read_uvarint(b"\x81\x80\x80\x80\x70", 0) == (1, 5)


def test_varint_without_end() -> None:
    """A varint that is cut off is refused."""
    with pytest.raises(IndexError):
        read_uvarint(b"\x80\x80", 0)


def test_varint_padded_with_zeros() -> None:
    """A number that is encoded in more bytes than it needs is accepted, as in Kafka."""
    assert read_uvarint(b"\x81\x80\x80\x80\x00", 0) == (1, 5)


def test_zero_uuid_is_no_id() -> None:
    """Brokers without topic ids return the zero id, which has no text."""
    assert uuid_text(bytes(16)) is None


@given(st.binary(min_size=16, max_size=16).filter(any))
def test_uuid_round_trip(raw: bytes) -> None:
    """An id has 22 characters of URL-safe base64 as in Kafka, and is decoded to the same bytes."""
    text = uuid_text(raw)
    assert text is not None
    assert len(text) == 22
    assert uuid_bytes(text) == raw


def test_uuid_spelling() -> None:
    """The id of the metadata topic is spelled as by Kafka's tools."""
    assert uuid_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
