"""Fields of records: the compiled functions that kernels are made of, against Python."""

import ctypes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_lagoon.records import fields

pytestmark = pytest.mark.long  # numba compiles what the kernels inline


@given(st.binary(max_size=12))
@example(b"\xed\xa0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"\xe0\x9f\xbf")
@example(b"\xf0\x8f\xbf\xbf")
@example("\U0010ffff\ud7ff\ue000".encode())
def test_utf8(raw):
    """The kernel takes bytes for text if and only if Python does."""
    memory = ctypes.create_string_buffer(raw, max(1, len(raw)))
    address = ctypes.addressof(memory)
    try:
        raw.decode()
    except UnicodeDecodeError:
        assert not fields.is_utf8(address, address + len(raw))
    else:
        assert fields.is_utf8(address, address + len(raw))


@given(st.binary(max_size=12), st.sampled_from([32, 64]))
@example(b"\x80\x00", 32)
@example(b"\xff\xff\xff\xff\x7f", 32)
@example(b"\xff" * 9 + b"\x7f", 64)
@example(b"\x80" * 10 + b"\x00", 64)
def test_numbers_of_variable_length(raw, bits):
    """Varints are read as by the slow decoder: longer forms are accepted, more than 5 or 10 bytes are refused."""
    expected, end = _varint(raw, bits)
    memory = ctypes.create_string_buffer(raw, max(1, len(raw)))
    address = ctypes.addressof(memory)
    value, end_address = (fields.varint if bits == 32 else fields.varlong)(address, address + len(raw))
    assert (value, end_address) == ((expected, address + end) if end else (0, fields.NOWHERE))


def _varint(raw: bytes, bits: int) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(raw[: -(-bits // 7)]):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            value %= 2**bits
            return value >> 1 if value % 2 == 0 else -(value >> 1) - 1, position + 1
    return 0, 0
