"""The kernel that encodes rows of Arrow columns as the records of a batch of format 2.

What it reads are the buffers of Arrow arrays, which are sound; nothing is written beyond the size that a caller gave.

encode_layout.py names what it shares with Python; `tests/reference/encode.py` does the same in slow and obvious Python. All
numbers are int64, because numba turns mixed signs into floats; what has no sign is shifted by `_rest`.
"""

from kafka_lagoon.records import encode_layout as layout
from kafka_lagoon.records.compiler import copy, inlined, kernel, load8, load32, load64, store8, store16
from kafka_lagoon.records.fields import get, put

_MORE, _SEVEN, _REST_OF_64 = 0x80, 0x7F, (1 << 57) - 1
_NULL = 1  # the number -1, in zigzag form
_TWO_BYTES = 1 << 14


@inlined
def _zigzag(value: int) -> int:
    return (value << 1) ^ (value >> 63)


@inlined
def _rest(bits: int) -> int:
    return (bits >> 7) & _REST_OF_64


@inlined
def _size_of(bits: int) -> int:
    """Bytes of a number of variable length, which is given in zigzag form."""
    size = 1
    bits = _rest(bits)
    while bits != 0:
        size += 1
        bits = _rest(bits)
    return size


@inlined
def _write(out: int, bits: int) -> int:
    """Write a number of variable length, which is given in zigzag form; returns where it ends."""
    rest = _rest(bits)
    if rest == 0:
        store8(out, bits)
        return out + 1
    if bits < _TWO_BYTES and bits > 0:
        store16(out, (bits & _SEVEN) | _MORE | (rest << 8))
        return out + 2
    while rest != 0:
        store8(out, (bits & _SEVEN) | _MORE)
        out += 1
        bits = rest
        rest = _rest(bits)
    store8(out, bits)
    return out + 1


@inlined
def _end(ends: int, wide: int, index: int) -> int:
    return load64(ends + (index << 3)) if wide else load32(ends + (index << 2))


@inlined
def _is_null(bits: int, first: int, index: int) -> bool:
    return bits != 0 and load8(bits + ((first + index) >> 3)) >> ((first + index) & 7) & 1 == 0


@inlined
def _size_of_headers(state: int, first: int, stop: int) -> int:
    """Bytes of some headers."""
    names, names_wide = get(state, layout.NAME_ENDS), get(state, layout.NAME_WIDE)
    contents, contents_wide = get(state, layout.CONTENT_ENDS), get(state, layout.CONTENT_WIDE)
    bits, first_bit = get(state, layout.CONTENT_BITS), get(state, layout.CONTENT_FIRST_BIT)
    total = 0
    for header in range(first, stop):
        size = _end(names, names_wide, header + 1) - _end(names, names_wide, header)
        total += _size_of(size << 1) + size
        if _is_null(bits, first_bit, header):
            total += 1
        else:
            size = _end(contents, contents_wide, header + 1) - _end(contents, contents_wide, header)
            total += _size_of(size << 1) + size
    return total


@inlined
def _write_headers(out: int, state: int, first: int, stop: int) -> int:
    names, names_wide = get(state, layout.NAME_ENDS), get(state, layout.NAME_WIDE)
    contents, contents_wide = get(state, layout.CONTENT_ENDS), get(state, layout.CONTENT_WIDE)
    bits, first_bit = get(state, layout.CONTENT_BITS), get(state, layout.CONTENT_FIRST_BIT)
    for header in range(first, stop):
        start = _end(names, names_wide, header)
        size = _end(names, names_wide, header + 1) - start
        out = _write(out, size << 1)
        copy(out, get(state, layout.NAMES) + start, size)
        out += size
        if _is_null(bits, first_bit, header):
            store8(out, _NULL)
            out += 1
        else:
            start = _end(contents, contents_wide, header)
            size = _end(contents, contents_wide, header + 1) - start
            out = _write(out, size << 1)
            copy(out, get(state, layout.CONTENTS) + start, size)
            out += size
    return out


@kernel("int64(int64, int64, int64, int64, int64, int64)")
def encode_records(state: int, position: int, stop: int, out: int, limit: int, capacity: int) -> int:  # noqa: C901, PLR0915 - one loop, where all the time is spent
    """Write rows from `position` up to `stop`, as many as `limit` bytes hold but at least one, as one batch's records to `out`.

    Returns the position after them. If not even the first fits into `capacity` bytes nothing is written, and NEEDED_BYTES
    says how many it takes.
    """
    key_ends, key_wide, keys = get(state, layout.KEY_ENDS), get(state, layout.KEY_WIDE), get(state, layout.KEYS)
    key_bits, key_first = get(state, layout.KEY_BITS), get(state, layout.KEY_FIRST_BIT)
    value_ends, value_wide, values = (
        get(state, layout.VALUE_ENDS),
        get(state, layout.VALUE_WIDE),
        get(state, layout.VALUES),
    )
    value_bits, value_first = get(state, layout.VALUE_BITS), get(state, layout.VALUE_FIRST_BIT)
    times, time_bits, time_first = (
        get(state, layout.TIMES),
        get(state, layout.TIME_BITS),
        get(state, layout.TIME_FIRST_BIT),
    )
    header_ends, header_wide = get(state, layout.HEADER_ENDS), get(state, layout.HEADER_WIDE)
    header_bits, header_first = get(state, layout.HEADER_BITS), get(state, layout.HEADER_FIRST_BIT)
    rows, default_time = get(state, layout.ROWS), get(state, layout.DEFAULT_TIME)
    first_position, start, address = position, out, out
    first_time = max_time = 0
    while position < stop:
        row = load64(rows + (position << 3)) if rows else position
        time = default_time
        if times and not _is_null(time_bits, time_first, row):
            time = load64(times + (row << 3))
        if position == first_position:
            first_time = max_time = time
        delta = _zigzag(time - first_time)
        number = (position - first_position) << 1
        key_size = value_size = -1
        key_start = value_start = 0
        if key_ends and not _is_null(key_bits, key_first, row):
            key_start = _end(key_ends, key_wide, row)
            key_size = _end(key_ends, key_wide, row + 1) - key_start
        if value_ends and not _is_null(value_bits, value_first, row):
            value_start = _end(value_ends, value_wide, row)
            value_size = _end(value_ends, value_wide, row + 1) - value_start
        first_header = last_header = 0
        if header_ends and not _is_null(header_bits, header_first, row):
            first_header = _end(header_ends, header_wide, row)
            last_header = _end(header_ends, header_wide, row + 1)
        headers = (last_header - first_header) << 1
        size = 1 + _size_of(delta) + _size_of(number) + _size_of(headers)
        size += _size_of(_zigzag(key_size)) + max(key_size, 0) + _size_of(_zigzag(value_size)) + max(value_size, 0)
        if headers:
            size += _size_of_headers(state, first_header, last_header)
        needed = _size_of(size << 1) + size
        if address - start + needed > (capacity if position == first_position else limit):
            put(state, layout.NEEDED_BYTES, needed)
            break
        address = _write(address, size << 1)
        store8(address, 0)
        address = _write(address + 1, delta)
        address = _write(address, number)
        address = _write(address, _zigzag(key_size))
        if key_size > 0:
            copy(address, keys + key_start, key_size)
            address += key_size
        address = _write(address, _zigzag(value_size))
        if value_size > 0:
            copy(address, values + value_start, value_size)
            address += value_size
        address = _write(address, headers)
        if headers:
            address = _write_headers(address, state, first_header, last_header)
        max_time = max(max_time, time)
        position += 1
    put(state, layout.RECORD_BYTES, address - start)
    put(state, layout.FIRST_TIME, first_time)
    put(state, layout.MAX_TIME, max_time)
    return position
