"""The kernels that encode rows of Arrow columns as the records of a batch of format 2, and that choose their partitions.

They read the buffers of Arrow arrays, which are valid; nothing is written beyond the size that a caller gave.

encode_layout.py names what it shares with Python; `tests/reference/encode.py` does the same in slow and obvious Python. All
numbers are int64, because numba turns mixed signs into floats; unsigned numbers are shifted by `_rest`.
"""

from kafka_lagoon.records import encode_layout as layout
from kafka_lagoon.records.compiler import (
    copy,
    inlined,
    kernel,
    load8,
    load32,
    load64,
    prefetch,
    store8,
    store16,
    store64,
)
from kafka_lagoon.records.fields import get, put

_MORE, _SEVEN, _REST_OF_64 = 0x80, 0x7F, (1 << 57) - 1
_NULL = 1  # the number -1, in zigzag form
_TWO_BYTES = 1 << 14
_AHEAD, _LINE = 16, 64  # rows that are loaded before they are encoded, and bytes that a processor loads at once
_LEAST_BYTES = 7  # of a record
_SEED, _FACTOR, _MASK, _POSITIVE = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF, 0x7FFFFFFF  # of MurmurHash2


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
def encode_records(state: int, position: int, stop: int, out: int, limit: int, capacity: int) -> int:  # noqa: C901, PLR0912, PLR0915 - one loop, where all the time is spent
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
        if rows and position + _AHEAD < stop:  # chosen rows are apart: twice the speed where they are not in the cache
            ahead = load64(rows + ((position + _AHEAD) << 3))
            if key_ends:
                prefetch(keys + _end(key_ends, key_wide, ahead))
            if value_ends:
                start_ahead = _end(value_ends, value_wide, ahead)
                prefetch(values + start_ahead)
                prefetch(values + start_ahead + _LINE)
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


@inlined
def _murmur2(address: int, size: int) -> int:
    """As Kafka's `Utils.murmur2`, without a sign."""
    hashed = _SEED ^ size
    for word in range(address, address + (size & ~3), 4):
        mixed = (load32(word) * _FACTOR) & _MASK
        hashed = ((hashed * _FACTOR) & _MASK) ^ (((mixed ^ (mixed >> 24)) * _FACTOR) & _MASK)
    rest, tail = size & 3, address + (size & ~3)
    if rest:
        last = load8(tail)
        if rest > 1:
            last |= load8(tail + 1) << 8
        if rest > 2:  # noqa: PLR2004  three bytes
            last |= load8(tail + 2) << 16
        hashed = ((hashed ^ last) * _FACTOR) & _MASK
    hashed = ((hashed ^ (hashed >> 13)) * _FACTOR) & _MASK
    return hashed ^ (hashed >> 15)


@inlined
def _unkeyed_size(state: int, row: int) -> int:
    """Bytes of a record without a key, but for the few of its numbers."""
    size = 0
    ends, wide = get(state, layout.VALUE_ENDS), get(state, layout.VALUE_WIDE)
    if ends:
        size += _end(ends, wide, row + 1) - _end(ends, wide, row)
    ends, wide = get(state, layout.HEADER_ENDS), get(state, layout.HEADER_WIDE)
    if ends and not _is_null(get(state, layout.HEADER_BITS), get(state, layout.HEADER_FIRST_BIT), row):
        size += _size_of_headers(state, _end(ends, wide, row), _end(ends, wide, row + 1))
    return size + _LEAST_BYTES


@kernel("int64(int64, int64, int64, int64, int64)")
def choose_partitions(state: int, choice: int, position: int, stop: int, out: int) -> int:
    """Write the partitions of rows from `position` up to `stop` to `out`, as int64 by position.

    A partition in GIVEN is taken if it is not negative. Else the key chooses among PARTITIONS, as in Kafka's Java producer, or
    for a null key STICKY is chosen. Returns early, at the first row that needs another STICKY because STICKY_BYTES have gone
    to the present one.
    """
    key_ends, key_wide, keys = get(state, layout.KEY_ENDS), get(state, layout.KEY_WIDE), get(state, layout.KEYS)
    key_bits, key_first = get(state, layout.KEY_BITS), get(state, layout.KEY_FIRST_BIT)
    rows, given = get(state, layout.ROWS), get(choice, layout.GIVEN)
    partitions, most = get(choice, layout.PARTITIONS), get(choice, layout.STICKY_BYTES)
    produced = get(choice, layout.PRODUCED_BYTES)
    while position < stop:
        row = load64(rows + (position << 3)) if rows else position
        chosen = load64(given + (row << 3)) if given else -1
        if chosen < 0 and key_ends and not _is_null(key_bits, key_first, row):
            start = _end(key_ends, key_wide, row)
            size = _end(key_ends, key_wide, row + 1) - start
            chosen = (_murmur2(keys + start, size) & _POSITIVE) % partitions
        elif chosen < 0:
            if produced >= most:
                break
            chosen = get(choice, layout.STICKY)
            produced += _unkeyed_size(state, row)
        store64(out + (position << 3), chosen)
        position += 1
    put(choice, layout.PRODUCED_BYTES, produced)
    return position


@kernel("int64(int64, int64, int64, int64, int64)")
def group_positions(partitions: int, stop: int, count: int, starts: int, out: int) -> int:
    """Write the positions below `stop` to `out`, ordered by partition and within one as they come, and where each begins.

    `starts` has `count` + 1 numbers, all 0 before. Returns the first position whose partition is not below `count`, else -1;
    then nothing else is written.
    """
    for position in range(stop):
        partition = load64(partitions + (position << 3))
        if partition < 0 or partition >= count:
            return position
        put(starts, partition + 1, get(starts, partition + 1) + 1)
    for partition in range(count):
        put(starts, partition + 1, get(starts, partition + 1) + get(starts, partition))
    for position in range(stop):  # each start moves to its end, which is where the next one begins
        partition = load64(partitions + (position << 3))
        place = get(starts, partition)
        store64(out + (place << 3), position)
        put(starts, partition, place + 1)
    for partition in range(count, 0, -1):
        put(starts, partition, get(starts, partition - 1))
    put(starts, 0, 0)
    return -1
