"""Batches in, columns out: the kernel that reads records and writes Arrow's buffers.

Guards one rule: nothing outside the bounds that a caller gave is read or written, whatever the bytes say. A batch that lies
is given a fault in the table of batches, and the next one is read.

walk_kernel.py fills the table; fields.py has the parts of both, layout.py their arrays; `tests/reference` holds the same in
slow and obvious Python. All numbers are int64, for numba makes floats of mixed signs.

Measured: 20 ns for a record of 116 bytes whose offset, time, key and value are wanted, of which 5 are memory's; 26 with its
share of the checksum. Copying short keys and values by vector instructions instead of memcpy gained nothing.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import copy, inlined, kernel, load8, store8, store32, store64
from kafka_lagoon.records.fields import NOWHERE, get, is_sound, is_utf8, line_at, put, skip, varint, varlong


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
    spelled, most_headers = get(run, layout.SPELLED), get(run, layout.MOST_HEADERS)
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
            if header_count > most_headers:
                return layout.TOO_MANY_HEADERS
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
    end = get(line_at(table, line), layout.LAST) + 1
    is_followed = (
        line + 1 < get(run, layout.LINES) and get(line_at(table, line + 1), layout.MAGIC) == layout.CURRENT_MAGIC
    )
    if get(line_at(table, line), layout.DISPOSITION) == layout.UNTRUSTED and is_followed:
        following = get(line_at(table, line + 1), layout.BASE)
        if following > min(get(line_at(table, line), layout.BASE), get(run, layout.NEXT_OFFSET)):
            end = following
    return min(end, get(run, layout.TO_OFFSET))


@inlined
def _is_full(table: int, line: int, run: int) -> bool:
    size = get(line_at(table, line), layout.END) - get(line_at(table, line), layout.START)
    rows = min(get(line_at(table, line), layout.COUNT), size // layout.MIN_RECORD_SIZE)
    has_bytes = size <= get(run, layout.ROOM_BYTES) - get(run, layout.FILLED_BYTES)
    return not has_bytes or rows > get(run, layout.ROOM_ROWS) - get(run, layout.FILLED_ROWS)


@inlined
def _count(table: int, line: int, start: int, end: int, run: int) -> None:
    """Account for a batch's offsets, which are `start` to `end`."""
    disposition, rows = get(line_at(table, line), layout.DISPOSITION), get(line_at(table, line), layout.ROWS)
    if disposition in (layout.DECODE, layout.LEGACY):
        _add(run, layout.RECORDS, rows)
        _add(run, layout.COMPACTEDS, end - start - rows)
        _add(run, layout.DECODED_BYTES, get(line_at(table, line), layout.END) - get(line_at(table, line), layout.START))
        codec = get(line_at(table, line), layout.ATTRIBUTES) & layout.CODEC_BITS
        put(run, layout.CODECS, get(run, layout.CODECS) | (1 << codec))
    elif disposition == layout.CONTROL:
        _add(run, layout.CONTROLS, end - start)
    elif disposition == layout.ABORTED:
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
            if get(line_at(table, line), layout.DISPOSITION) == layout.DECODE:
                if _is_full(table, line, run):
                    break
                fault = _read_records(line_at(table, line), run)
                if fault == layout.TOO_MANY_HEADERS:
                    put(line_at(table, line), layout.DISPOSITION, layout.CORRUPT)
                    put(line_at(table, line), layout.FAULT, fault)
                elif fault != layout.NO_FAULT:  # the header and the records contradict each other, on the end too
                    put(line_at(table, line), layout.DISPOSITION, layout.UNTRUSTED)
                    put(line_at(table, line), layout.FAULT, fault)
                    end = _end(table, line, run)
            start = max(following, get(line_at(table, line), layout.BASE))
            if start >= end:  # an untrusted batch whose base is as wrong
                start = following
            _add(run, layout.COMPACTEDS, start - following)
            _count(table, line, start, end, run)
            put(line_at(table, line), layout.FROM, start)
            put(line_at(table, line), layout.TO, end)
            put(run, layout.NEXT_OFFSET, end)
        line += 1
    return line
