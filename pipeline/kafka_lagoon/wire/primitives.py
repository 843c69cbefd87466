"""Reads and writes values of variable width: varints, lengths and ids.

A varint has at most five bytes, and a length of -1 is null everywhere.
"""

import base64
import struct
from collections.abc import Callable

Frame = bytes | memoryview  # messages are read from it; a view where the frame is large and stays in place

ReadLength = Callable[[Frame, int], tuple[int, int]]
WriteLength = Callable[[bytearray, int], None]

# Group ids and client ids are whatever clients sent. Undecodable bytes are kept when reading and writing, so that requests can
# name such a group; the table layer makes them printable.
TEXT_ERRORS = "surrogateescape"

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")


class Broken(Exception):
    """Reading stopped at a position; `reading.decode`, which knows message and version, makes a DecodeError of it."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)
        self.position, self.reason = position, reason


def read_uvarint(buffer: Frame, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits and the position after it; ValueError when it is longer."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, position
        shift += 7
        if shift > 28:
            raise ValueError("a varint of more than five bytes")


def write_uvarint(out: bytearray, value: int) -> None:
    """Append an unsigned varint."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _read_compact_length(buffer: Frame, position: int) -> tuple[int, int]:
    length = buffer[position]
    if length < 0x80:
        return length - 1, position + 1
    length, position = read_uvarint(buffer, position)
    return length - 1, position


def _read_int16_length(buffer: Frame, position: int) -> tuple[int, int]:
    return _INT16.unpack_from(buffer, position)[0], position + 2


def _read_int32_length(buffer: Frame, position: int) -> tuple[int, int]:
    return _INT32.unpack_from(buffer, position)[0], position + 4


def text_length_reader(flexible: bool) -> ReadLength:
    """Reads the length of a string; negative is null."""
    return _read_compact_length if flexible else _read_int16_length


def length_reader(flexible: bool) -> ReadLength:
    """Reads the length of bytes or the count of an array; negative is null."""
    return _read_compact_length if flexible else _read_int32_length


def _write_compact_length(out: bytearray, length: int) -> None:
    write_uvarint(out, length + 1)


def text_length_writer(flexible: bool) -> WriteLength:
    """Writes the length of a string; -1 is null. struct.error beyond 32,767 bytes in the classic encoding."""
    return _write_compact_length if flexible else lambda out, length: out.extend(_INT16.pack(length))


def length_writer(flexible: bool) -> WriteLength:
    """Writes the length of bytes or the count of an array; -1 is null."""
    return _write_compact_length if flexible else lambda out, length: out.extend(_INT32.pack(length))


NO_ID = bytes(16)


def uuid_text(raw: bytes) -> str | None:
    """Kafka's spelling of an id (22 characters of URL-safe base64), None for the zero id that means "no id"."""
    if not any(raw):
        return None
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def uuid_bytes(text: str | None) -> bytes:
    """The 16 bytes of an id in Kafka's spelling; the inverse of `uuid_text`."""
    return NO_ID if text is None else base64.urlsafe_b64decode(text + "==")
