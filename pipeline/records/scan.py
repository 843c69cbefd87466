"""Addresses in, columns out: the kernels that walk batches and records and write Arrow's buffers.

Guards one rule: nothing outside the bounds that a caller gave is read or written, whatever the bytes say. What lies is given
a fate and a fault in the table of batches, and the walk goes on behind it.

This is the one numeric module, with its parts in fields.py and its arrays in layout.py; `tests/reference` holds the same in
slow and obvious Python. All numbers are int64, for numba makes floats of mixed signs.

Measured: 20 ns for a record of 116 bytes whose offset, time, key and value are wanted, of which 5 are memory's; 26 with its
share of the checksum. Copying short keys and values by vector instructions instead of memcpy gained nothing.
"""

from pipeline.records import layout
from pipeline.records.compiler import (
    copy,
    inlined,
    kernel,
    load8,
    load16_big,
    load32_big,
    load64,
    load64_big,
    store8,
    store32,
    store64,
)
from pipeline.records.fields import MAX_INT64, NOWHERE, is_sound, is_utf8, skip, varint, varlong

_MIN_ENTRY_SIZE, _OVERHEAD, _LENGTH_AT, _MAGIC_AT, _LEGACY_ATTRIBUTES_AT = 26, 12, 8, 16, 17
_VERSION_AND_TYPE = 4


@inlined
def get(numbers: int, field: int) -> int:
    """A number of a run, or of a line of a table."""
    return load64(numbers + (field << 3))


@inlined
def put(numbers: int, field: int, value: int) -> None:
    """Set a number of a run, or of a line of a table."""
    store64(numbers + (field << 3), value)


@inlined
def _line(table: int, line: int) -> int:
    return table + ((line * layout.COLUMNS) << 3)


@inlined
def _describe_current(address: int, size: int, base: int, line: int) -> None:
    last_delta = load32_big(address + 23)
    put(line, layout.EPOCH, load32_big(address + 12))
    put(line, layout.CRC, load32_big(address + 17) & 0xFFFFFFFF)
    put(line, layout.ATTRIBUTES, load16_big(address + 21))
    put(line, layout.BASE_TIME, load64_big(address + 27))
    put(line, layout.MAX_TIME, load64_big(address + 35))
    put(line, layout.PRODUCER, load64_big(address + 43))
    put(line, layout.PRODUCER_EPOCH, load16_big(address + 51))
    put(line, layout.COUNT, load32_big(address + 57))
    put(line, layout.START, address + layout.BATCH_HEADER_SIZE)
    put(line, layout.END, address + size)
    if base < 0 or last_delta < 0 or base > MAX_INT64 - 1 - last_delta:
        put(line, layout.FATE, layout.UNTRUSTED)
        put(line, layout.FAULT, layout.BAD_HEADER)
    else:
        put(line, layout.LAST, base + last_delta)


@inlined
def _describe(address: int, position: int, size: int, line: int) -> None:
    magic = load8(address + _MAGIC_AT)
    base = load64_big(address)
    put(line, layout.POSITION, position)
    put(line, layout.SIZE, size)
    put(line, layout.BASE, base)
    put(line, layout.LAST, base)
    put(line, layout.MAGIC, magic)
    put(line, layout.EPOCH, -1)
    for column in range(layout.CRC, layout.COLUMNS):
        put(line, column, 0)
    if magic < layout.CURRENT_MAGIC:
        put(line, layout.ATTRIBUTES, load8(address + _LEGACY_ATTRIBUTES_AT))
        put(line, layout.FATE, layout.LEGACY)
    elif magic > layout.CURRENT_MAGIC:
        put(line, layout.FATE, layout.UNTRUSTED)
        put(line, layout.FAULT, layout.BAD_MAGIC)
    elif size < layout.BATCH_HEADER_SIZE:
        put(line, layout.FATE, layout.UNTRUSTED)
        put(line, layout.FAULT, layout.BAD_HEADER)
    else:
        _describe_current(address, size, base, line)


@kernel("int64(int64, int64, int64)")
def walk_batches(address: int, size: int, table: int) -> int:
    """How many whole entries the buffer begins with; each is described in the table, unless the table is 0.

    Stops at a length that no entry can have. Where that is, the last line of the table tells.
    """
    lines = position = 0
    while position + _OVERHEAD <= size:
        entry_size = load32_big(address + position + _LENGTH_AT) + _OVERHEAD
        if entry_size < _MIN_ENTRY_SIZE or entry_size > size - position:
            break
        if table:
            _describe(address + position, position, entry_size, _line(table, lines))
        lines += 1
        position += entry_size
    return lines


@inlined
def _clear(bits: int, index: int) -> None:
    byte = bits + (index >> 3)
    store8(byte, load8(byte) & ~(1 << (index & 7)))


@inlined
def _set_from(bits: int, index: int, count: int) -> None:
    """Set `count` bits from `index` on, and some behind them."""
    if bits:
        first = bits + (index >> 3)
        store8(first, load8(first) | (0xFF << (index & 7)))
        for byte in range(first + 1, bits + ((index + count + 7) >> 3)):
            store8(byte, 0xFF)


@inlined
def _read_header(
    at: int, end: int, run: int, headers: int, key_bytes: int, value_bytes: int
) -> tuple[int, int, int, int]:
    """Write one header; where it ends, and how far the bytes of keys and values are filled then."""
    size, at = varint(at, end)
    if size < 0 or size > end - at:
        return NOWHERE, key_bytes, value_bytes, 0
    copy(get(run, layout.HEADER_KEYS) + key_bytes, at, size)
    key_bytes += size
    is_spelled = 0 if is_utf8(at, at + size) else 1
    at += size
    size, at = varint(at, end)
    if size > end - at:
        return NOWHERE, key_bytes, value_bytes, 0
    if size >= 0:
        copy(get(run, layout.HEADER_VALUES) + value_bytes, at, size)
        value_bytes += size
        at += size
    else:
        _clear(get(run, layout.HEADER_VALUE_BITS), headers)
    store32(get(run, layout.HEADER_KEY_ENDS) + ((headers + 1) << 2), key_bytes)
    store32(get(run, layout.HEADER_VALUE_ENDS) + ((headers + 1) << 2), value_bytes)
    return at, key_bytes, value_bytes, is_spelled


@inlined
def _read_headers(
    at: int, end: int, count: int, run: int, headers: int, key_bytes: int, value_bytes: int
) -> tuple[int, int, int, int]:
    """Write a record's headers; as `_read_header`, and how many keys are not UTF-8."""
    spelled = 0
    _set_from(get(run, layout.HEADER_VALUE_BITS), headers, count)
    for header in range(headers, headers + count):
        at, key_bytes, value_bytes, is_spelled = _read_header(at, end, run, header, key_bytes, value_bytes)
        if at > end:
            break
        spelled += is_spelled
    return at, key_bytes, value_bytes, spelled


@inlined
def _read_records(line: int, run: int) -> int:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop, where all the time is spent
    """Write a batch's records from the next offset to the end of the run; the fault, and nothing is kept if there is one."""
    at, end, count = get(line, layout.START), get(line, layout.END), get(line, layout.COUNT)
    base, last_delta = get(line, layout.BASE), get(line, layout.LAST) - get(line, layout.BASE)
    base_time, append_time = get(line, layout.BASE_TIME), get(line, layout.MAX_TIME)
    is_append_time = get(line, layout.ATTRIBUTES) & layout.APPEND_TIME_BIT
    low, high = get(run, layout.NEXT_OFFSET), get(run, layout.TO_OFFSET)
    offsets, times, times_ms = get(run, layout.OFFSETS), get(run, layout.TIMES), get(run, layout.TIMES_MS)
    key_ends, keys, value_ends = (
        get(run, layout.KEY_ENDS),
        get(run, layout.KEYS),
        get(run, layout.VALUE_ENDS),
    )
    values, header_ends = get(run, layout.VALUES), get(run, layout.HEADER_ENDS)
    time_bits, key_bits, value_bits = (
        get(run, layout.TIME_BITS),
        get(run, layout.KEY_BITS),
        get(run, layout.VALUE_BITS),
    )
    row, key_bytes, value_bytes = (
        get(run, layout.FILLED_ROWS),
        get(run, layout.KEY_BYTES),
        get(run, layout.VALUE_BYTES),
    )
    headers, header_key_bytes, header_value_bytes = (
        get(run, layout.HEADERS),
        get(run, layout.HEADER_KEY_BYTES),
        get(run, layout.HEADER_VALUE_BYTES),
    )
    null_times = null_keys = null_values = 0
    spelled = get(run, layout.SPELLED)
    first_row, last = row, -1
    if count < 0 or count > (end - at) // layout.MIN_RECORD_SIZE:
        return layout.BAD_COUNT
    _set_from(time_bits, row, count)
    _set_from(key_bits, row, count)
    _set_from(value_bits, row, count)
    for _ in range(count):
        size, at = varint(at, end)
        if size > end - at or size < 1:
            return layout.BAD_RECORD
        record_end = at + size
        time, at = varlong(at + 1, record_end)
        delta, at = varint(at, record_end)
        if delta <= last or delta > last_delta:
            return layout.BAD_RECORD if at > record_end else layout.BAD_ORDER
        last = delta
        if base + delta < low or base + delta >= high:
            if not is_sound(at, record_end):
                return layout.BAD_RECORD
            at = record_end
            continue
        key_size, at = varint(at, record_end)
        if key_size > record_end - at:
            return layout.BAD_RECORD
        if key_size >= 0:
            if keys:
                copy(keys + key_bytes, at, key_size)
                key_bytes += key_size
            at += key_size
        elif keys:
            null_keys += 1
            _clear(key_bits, row)
        value_size, at = varint(at, record_end)
        if value_size > record_end - at:
            return layout.BAD_RECORD
        if value_size >= 0:
            if values:
                copy(values + value_bytes, at, value_size)
                value_bytes += value_size
            at += value_size
        elif values:
            null_values += 1
            _clear(value_bits, row)
        header_count, at = varint(at, record_end)
        if header_count != 0:
            if header_count < 0 or header_count > (record_end - at) >> 1:
                return layout.BAD_RECORD
            if header_ends:
                at, header_key_bytes, header_value_bytes, bad_keys = _read_headers(
                    at, record_end, header_count, run, headers, header_key_bytes, header_value_bytes
                )
                headers += header_count
                if bad_keys:
                    store64(get(run, layout.SPELLED_ROWS) + (spelled << 4), row)
                    store64(get(run, layout.SPELLED_ROWS) + (spelled << 4) + 8, base + delta)
                    spelled += 1
            else:
                for _header in range(header_count):
                    name_size, at = varint(at, record_end)
                    if name_size < 0 or name_size > record_end - at:
                        return layout.BAD_RECORD
                    at = skip(at + name_size, record_end)
        if at != record_end:
            return layout.BAD_RECORD
        if offsets:
            store64(offsets + (row << 3), base + delta)
        time = append_time if is_append_time else base_time + time
        if times_ms:
            store64(times_ms + (row << 3), time)
        if times:
            if time == layout.NO_TIME or time < layout.YEAR_1_MS or time >= layout.YEAR_10000_MS:
                null_times += 1
                _clear(time_bits, row)
                time = 0
            store64(times + (row << 3), time * 1000)
        row += 1
        if key_ends:
            store32(key_ends + (row << 2), key_bytes)
        if value_ends:
            store32(value_ends + (row << 2), value_bytes)
        if header_ends:
            store32(header_ends + (row << 2), headers)
    if at != end:
        return layout.BAD_END
    put(line, layout.ROWS, row - first_row)
    put(run, layout.FILLED_ROWS, row)
    put(run, layout.FILLED_BYTES, get(run, layout.FILLED_BYTES) + end - get(line, layout.START))
    put(run, layout.KEY_BYTES, key_bytes)
    put(run, layout.VALUE_BYTES, value_bytes)
    put(run, layout.HEADERS, headers)
    put(run, layout.HEADER_KEY_BYTES, header_key_bytes)
    put(run, layout.HEADER_VALUE_BYTES, header_value_bytes)
    put(run, layout.NULL_TIMES, get(run, layout.NULL_TIMES) + null_times)
    put(run, layout.NULL_KEYS, get(run, layout.NULL_KEYS) + null_keys)
    put(run, layout.NULL_VALUES, get(run, layout.NULL_VALUES) + null_values)
    put(run, layout.SPELLED, spelled)
    return layout.NO_FAULT


@inlined
def _add(run: int, field: int, amount: int) -> None:
    put(run, field, get(run, field) + amount)


@inlined
def _end(table: int, line: int, run: int) -> int:
    """Behind a batch's last offset. Of one that may lie, the batch behind it tells where that is."""
    end = get(_line(table, line), layout.LAST) + 1
    is_followed = (
        line + 1 < get(run, layout.LINES) and get(_line(table, line + 1), layout.MAGIC) == layout.CURRENT_MAGIC
    )
    if get(_line(table, line), layout.FATE) == layout.UNTRUSTED and is_followed:
        following = get(_line(table, line + 1), layout.BASE)
        if following > min(get(_line(table, line), layout.BASE), get(run, layout.NEXT_OFFSET)):
            end = following
    return min(end, get(run, layout.TO_OFFSET))


@inlined
def _is_full(table: int, line: int, run: int) -> bool:
    size = get(_line(table, line), layout.END) - get(_line(table, line), layout.START)
    rows = min(get(_line(table, line), layout.COUNT), size // layout.MIN_RECORD_SIZE)
    has_bytes = size <= get(run, layout.ROOM_BYTES) - get(run, layout.FILLED_BYTES)
    return not has_bytes or rows > get(run, layout.ROOM_ROWS) - get(run, layout.FILLED_ROWS)


@inlined
def _count(table: int, line: int, start: int, end: int, run: int) -> None:
    """Account for a batch's offsets, which are `start` to `end`."""
    fate, rows = get(_line(table, line), layout.FATE), get(_line(table, line), layout.ROWS)
    if fate in (layout.DECODE, layout.LEGACY):
        _add(run, layout.RECORDS, rows)
        _add(run, layout.COMPACTEDS, end - start - rows)
        _add(run, layout.DECODED_BYTES, get(_line(table, line), layout.END) - get(_line(table, line), layout.START))
        codec = get(_line(table, line), layout.ATTRIBUTES) & layout.CODEC_BITS
        put(run, layout.CODECS, get(run, layout.CODECS) | (1 << codec))
    elif fate == layout.CONTROL:
        _add(run, layout.CONTROLS, end - start)
    elif fate == layout.ABORTED:
        _add(run, layout.ABORTEDS, end - start)
    else:
        _add(run, layout.CORRUPTS, end - start)
        _add(run, layout.FAULTS, 1)


@kernel("int64(int64, int64, int64, int64)")
def decode_batches(table: int, line: int, stop: int, run: int) -> int:
    """Decode and account for lines of the table; the line that it stopped at, for the buffers are full there."""
    while line < stop:
        following, end = get(run, layout.NEXT_OFFSET), _end(table, line, run)
        if end > following:
            if get(_line(table, line), layout.FATE) == layout.DECODE:
                if _is_full(table, line, run):
                    break
                fault = _read_records(_line(table, line), run)
                if fault != layout.NO_FAULT:
                    put(_line(table, line), layout.FATE, layout.CORRUPT)
                    put(_line(table, line), layout.FAULT, fault)
            start = max(following, get(_line(table, line), layout.BASE))
            if start >= end:  # an untrusted batch whose base is as wrong
                start = following
            _add(run, layout.COMPACTEDS, start - following)
            _count(table, line, start, end, run)
            put(_line(table, line), layout.FROM, start)
            put(_line(table, line), layout.TO, end)
            put(run, layout.NEXT_OFFSET, end)
        line += 1
    return line


@inlined
def _read_marker(line: int) -> int:
    at, end, count = get(line, layout.START), get(line, layout.END), get(line, layout.COUNT)
    last, last_delta = -1, get(line, layout.LAST) - get(line, layout.BASE)
    if count < 0 or count > (end - at) // layout.MIN_RECORD_SIZE:
        return layout.BAD_COUNT
    for record in range(count):
        size, at = varint(at, end)
        if size > end - at or size < 1:
            return layout.BAD_RECORD
        record_end = at + size
        _, at = varlong(at + 1, record_end)
        delta, at = varint(at, record_end)
        if not is_sound(at, record_end):
            return layout.BAD_RECORD
        if delta <= last or delta > last_delta:
            return layout.BAD_ORDER
        last = delta
        key_size, at = varint(at, record_end)
        if (
            key_size < _VERSION_AND_TYPE or load16_big(at) < 0
        ):  # version and type, which may be ones that we do not know
            return layout.BAD_CONTROL
        if record == 0:
            put(line, layout.MARKER, load16_big(at + 2))
        at = record_end
    return layout.NO_FAULT if at == end else layout.BAD_END


@kernel("int64(int64, int64, int64)")
def read_markers(table: int, line: int, stop: int) -> int:
    """Check the control batches among lines of the table and note the type of each first record, -1 if there is none."""
    found = 0
    for control in range(line, stop):
        is_control = get(_line(table, control), layout.ATTRIBUTES) & layout.CONTROL_BIT
        if is_control and get(_line(table, control), layout.FATE) == layout.DECODE:
            put(_line(table, control), layout.MARKER, -1)
            fault = _read_marker(_line(table, control))
            put(_line(table, control), layout.FATE, layout.CONTROL if fault == layout.NO_FAULT else layout.CORRUPT)
            put(_line(table, control), layout.FAULT, fault)
            found += 1
    return found
