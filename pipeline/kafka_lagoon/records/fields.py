"""Inlined functions that kernels are made of: table entries, numbers of variable length, fields after their length, UTF-8.

Nothing at or after `end` is read. A field that does not fit ends NOWHERE, which is after every end, so that the next field
fails, too: a walk over several fields is checked once, at its end.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import inlined, load8, load64, store64

NOWHERE = 1 << 62
MAX_INT64 = (1 << 63) - 1

_MORE, _LAST_SHIFT_32, _LAST_SHIFT_64 = 0x80, 28, 63
_LEAST_OF_2, _LEAST_OF_3, _SURROGATES, _LEAST_OF_4, _MOST_OF_4 = 0xC2, 0xE0, 0xED, 0xF0, 0xF4  # first bytes of so many


@inlined
def get(numbers: int, field: int) -> int:
    """A number of the decoder's state, or of an entry of the table."""
    return load64(numbers + (field << 3))


@inlined
def put(numbers: int, field: int, value: int) -> None:
    """Set a number of the decoder's state, or of an entry of the table."""
    store64(numbers + (field << 3), value)


@inlined
def entry_at(table: int, index: int) -> int:
    """The address of an entry of the table of batches."""
    return table + ((index * layout.COLUMNS) << 3)


@inlined
def _sevens(address: int, end: int, last_shift: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, the last one shifted by `last_shift` at most; and where it ends."""
    if address >= end:
        return 0, NOWHERE
    byte = load8(address)
    address += 1
    value = byte & 0x7F
    shift = 7
    while byte >= _MORE:
        if address >= end or shift > last_shift:
            return 0, NOWHERE
        byte = load8(address)
        address += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, address


@inlined
def varint(address: int, end: int) -> tuple[int, int]:
    """A zigzag number of 32 bits and where it ends; longer forms of small numbers are read as Java reads them."""
    value, address = _sevens(address, end, _LAST_SHIFT_32)
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), address


@inlined
def varlong(address: int, end: int) -> tuple[int, int]:
    """A zigzag number of 64 bits and where it ends."""
    value, address = _sevens(address, end, _LAST_SHIFT_64)
    return ((value >> 1) & MAX_INT64) ^ -(value & 1), address


@inlined
def is_utf8(address: int, end: int) -> bool:
    """True if these bytes are UTF-8: no surrogates, no overlong encodings."""
    while address < end:
        byte = load8(address)
        address += 1
        if byte < _MORE:
            continue
        if byte < _LEAST_OF_2 or byte > _MOST_OF_4:
            return False
        more = 1 + (byte >= _LEAST_OF_3) + (byte >= _LEAST_OF_4)
        if more > end - address:
            return False
        second = load8(address)
        least = 0xA0 if byte == _LEAST_OF_3 else (0x90 if byte == _LEAST_OF_4 else 0x80)
        most = 0x9F if byte == _SURROGATES else (0x8F if byte == _MOST_OF_4 else 0xBF)
        if second < least or second > most:
            return False
        for further in range(1, more):
            if load8(address + further) & 0xC0 != _MORE:
                return False
        address += more
    return True


@inlined
def skip(address: int, end: int) -> int:
    """The end of a nullable field, which begins with its length."""
    size, address = varint(address, end)
    if size > end - address:
        return NOWHERE
    return address + size if size > 0 else address


@inlined
def is_sound(address: int, end: int) -> bool:
    """True if key, value and headers fill a record from `at` to `end`."""
    address = skip(skip(address, end), end)
    headers, address = varint(address, end)
    if headers < 0 or headers > end - address:
        return False
    for _ in range(headers):
        size, address = varint(address, end)
        if size < 0 or size > end - address:
            return False
        address = skip(address + size, end)
    return address == end
