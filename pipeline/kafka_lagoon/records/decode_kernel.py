"""The kernel that decodes records and writes them into Arrow's buffers.

Nothing outside the bounds that a caller gave is read or written, whatever the bytes are. A corrupt batch gets a fault in the
table of batches, and the next batch is read.

walk_kernel.py fills the table; fields.py has what both kernels are made of, layout.py the arrays that they share with
Python; `tests/reference` does the same in slow and obvious Python. All numbers are int64, because numba turns mixed signs
into floats.

Measured: 20 ns for a record of 116 bytes whose offset, time, key and value are wanted, of which 5 are memory's; 26 with its
share of the checksum. Copying short keys and values by vector instructions instead of memcpy gained nothing.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import copy, inlined, kernel, load8, store8, store32, store64
from kafka_lagoon.records.fields import NOWHERE, entry_at, get, is_sound, is_utf8, put, skip, varint, varlong


@inlined
def _clear(bits: int, index: int) -> None:
    byte = bits + (index >> 3)
    store8(byte, load8(byte) & ~(1 << (index & 7)))


@inlined
def _set_from(bits: int, index: int, count: int) -> None:
    """Set `count` bits from `index` on, and some after them."""
    if bits:
        first = bits + (index >> 3)
        store8(first, load8(first) | (0xFF << (index & 7)))
        for byte in range(first + 1, bits + ((index + count + 7) >> 3)):
            store8(byte, 0xFF)


@inlined
def _read_header(
    address: int, end: int, state: int, headers: int, key_bytes: int, value_bytes: int
) -> tuple[int, int, int, int]:
    """Write one header; returns where it ends, how far the bytes of keys and values are filled, and if its key is no UTF-8."""
    size, address = varint(address, end)
    if size < 0 or size > end - address:
        return NOWHERE, key_bytes, value_bytes, 0
    copy(get(state, layout.HEADER_KEYS) + key_bytes, address, size)
    key_bytes += size
    is_escaped = 0 if is_utf8(address, address + size) else 1
    address += size
    size, address = varint(address, end)
    if size > end - address:
        return NOWHERE, key_bytes, value_bytes, 0
    if size >= 0:
        copy(get(state, layout.HEADER_VALUES) + value_bytes, address, size)
        value_bytes += size
        address += size
    else:
        _clear(get(state, layout.HEADER_VALUE_BITS), headers)
    store32(get(state, layout.HEADER_KEY_ENDS) + ((headers + 1) << 2), key_bytes)
    store32(get(state, layout.HEADER_VALUE_ENDS) + ((headers + 1) << 2), value_bytes)
    return address, key_bytes, value_bytes, is_escaped


@inlined
def _read_headers(
    address: int, end: int, count: int, state: int, headers: int, key_bytes: int, value_bytes: int
) -> tuple[int, int, int, int]:
    """Write a record's headers; returns the same as `_read_header`, with the number of keys that are no UTF-8."""
    escaped = 0
    _set_from(get(state, layout.HEADER_VALUE_BITS), headers, count)
    for header in range(headers, headers + count):
        address, key_bytes, value_bytes, is_escaped = _read_header(address, end, state, header, key_bytes, value_bytes)
        if address > end:
            break
        escaped += is_escaped
    return address, key_bytes, value_bytes, escaped


@inlined
def _read_records(entry: int, state: int) -> int:  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop, where all the time is spent
    """Write a batch's records from the next offset to the end of the range; returns the fault, if any, and then keeps none."""
    address, end, count = get(entry, layout.RECORDS_START), get(entry, layout.RECORDS_END), get(entry, layout.COUNT)
    base, last_delta = get(entry, layout.BASE_OFFSET), get(entry, layout.LAST_OFFSET) - get(entry, layout.BASE_OFFSET)
    base_time, append_time = get(entry, layout.BASE_TIMESTAMP), get(entry, layout.MAX_TIMESTAMP)
    is_append_time = get(entry, layout.ATTRIBUTES) & layout.APPEND_TIME_BIT
    low, high = get(state, layout.NEXT_OFFSET), get(state, layout.TO_OFFSET)
    offsets, times, times_ms = (
        get(state, layout.OFFSETS),
        get(state, layout.TIMESTAMPS),
        get(state, layout.TIMESTAMPS_MS),
    )
    key_ends, keys, value_ends = (
        get(state, layout.KEY_ENDS),
        get(state, layout.KEYS),
        get(state, layout.VALUE_ENDS),
    )
    values, header_ends = get(state, layout.VALUES), get(state, layout.HEADER_ENDS)
    time_bits, key_bits, value_bits = (
        get(state, layout.TIMESTAMP_BITS),
        get(state, layout.KEY_BITS),
        get(state, layout.VALUE_BITS),
    )
    row, key_bytes, value_bytes = (
        get(state, layout.FILLED_ROWS),
        get(state, layout.KEY_BYTES),
        get(state, layout.VALUE_BYTES),
    )
    headers, header_key_bytes, header_value_bytes = (
        get(state, layout.HEADERS),
        get(state, layout.HEADER_KEY_BYTES),
        get(state, layout.HEADER_VALUE_BYTES),
    )
    null_times = null_keys = null_values = 0
    escaped, most_headers = get(state, layout.ESCAPED), get(state, layout.MOST_HEADERS)
    first_row, last = row, -1
    if count < 0 or count > (end - address) // layout.MIN_RECORD_SIZE:
        return layout.BAD_COUNT
    _set_from(time_bits, row, count)
    _set_from(key_bits, row, count)
    _set_from(value_bits, row, count)
    for _ in range(count):
        size, address = varint(address, end)
        if size > end - address or size < 1:
            return layout.BAD_RECORD
        record_end = address + size
        time, address = varlong(address + 1, record_end)
        delta, address = varint(address, record_end)
        if delta <= last or delta > last_delta:
            return layout.BAD_RECORD if address > record_end else layout.BAD_ORDER
        last = delta
        if base + delta < low or base + delta >= high:
            if not is_sound(address, record_end):
                return layout.BAD_RECORD
            address = record_end
            continue
        key_size, address = varint(address, record_end)
        if key_size > record_end - address:
            return layout.BAD_RECORD
        if key_size >= 0:
            if keys:
                copy(keys + key_bytes, address, key_size)
                key_bytes += key_size
            address += key_size
        elif keys:
            null_keys += 1
            _clear(key_bits, row)
        value_size, address = varint(address, record_end)
        if value_size > record_end - address:
            return layout.BAD_RECORD
        if value_size >= 0:
            if values:
                copy(values + value_bytes, address, value_size)
                value_bytes += value_size
            address += value_size
        elif values:
            null_values += 1
            _clear(value_bits, row)
        header_count, address = varint(address, record_end)
        if header_count != 0:
            if header_count < 0 or header_count > (record_end - address) >> 1:
                return layout.BAD_RECORD
            if header_count > most_headers:
                return layout.TOO_MANY_HEADERS
            if header_ends:
                address, header_key_bytes, header_value_bytes, bad_keys = _read_headers(
                    address, record_end, header_count, state, headers, header_key_bytes, header_value_bytes
                )
                headers += header_count
                if bad_keys:
                    store64(get(state, layout.ESCAPED_ROWS) + (escaped << 4), row)
                    store64(get(state, layout.ESCAPED_ROWS) + (escaped << 4) + 8, base + delta)
                    escaped += 1
            else:
                for _header in range(header_count):
                    name_size, address = varint(address, record_end)
                    if name_size < 0 or name_size > record_end - address:
                        return layout.BAD_RECORD
                    address = skip(address + name_size, record_end)
        if address != record_end:
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
    if address != end:
        return layout.BAD_END
    put(entry, layout.ROWS, row - first_row)
    put(state, layout.FILLED_ROWS, row)
    put(state, layout.FILLED_BYTES, get(state, layout.FILLED_BYTES) + end - get(entry, layout.RECORDS_START))
    put(state, layout.KEY_BYTES, key_bytes)
    put(state, layout.VALUE_BYTES, value_bytes)
    put(state, layout.HEADERS, headers)
    put(state, layout.HEADER_KEY_BYTES, header_key_bytes)
    put(state, layout.HEADER_VALUE_BYTES, header_value_bytes)
    put(state, layout.NULL_TIMESTAMPS, get(state, layout.NULL_TIMESTAMPS) + null_times)
    put(state, layout.NULL_KEYS, get(state, layout.NULL_KEYS) + null_keys)
    put(state, layout.NULL_VALUES, get(state, layout.NULL_VALUES) + null_values)
    put(state, layout.ESCAPED, escaped)
    return layout.NO_FAULT


@inlined
def _add(state: int, field: int, amount: int) -> None:
    put(state, field, get(state, field) + amount)


@inlined
def _end(table: int, index: int, state: int) -> int:
    """The offset after a batch's last one. If the last offset is not trusted, the next batch's base offset is taken."""
    to_offset = get(state, layout.TO_OFFSET)
    # Not `last + 1`: a wrong last offset may be the largest int64.
    end = min(get(entry_at(table, index), layout.LAST_OFFSET), to_offset - 1) + 1
    is_followed = (
        index + 1 < get(state, layout.BATCHES) and get(entry_at(table, index + 1), layout.MAGIC) == layout.CURRENT_MAGIC
    )
    if get(entry_at(table, index), layout.DISPOSITION) == layout.UNTRUSTED and is_followed:
        following = get(entry_at(table, index + 1), layout.BASE_OFFSET)
        if following > min(get(entry_at(table, index), layout.BASE_OFFSET), get(state, layout.NEXT_OFFSET)):
            end = min(following, to_offset)
    return end


@inlined
def _is_full(table: int, index: int, state: int) -> bool:
    size = get(entry_at(table, index), layout.RECORDS_END) - get(entry_at(table, index), layout.RECORDS_START)
    rows = min(get(entry_at(table, index), layout.COUNT), size // layout.MIN_RECORD_SIZE)
    has_bytes = size <= get(state, layout.CAPACITY_BYTES) - get(state, layout.FILLED_BYTES)
    return not has_bytes or rows > get(state, layout.CAPACITY_ROWS) - get(state, layout.FILLED_ROWS)


@inlined
def _count(table: int, index: int, start: int, end: int, state: int) -> None:
    """Account for a batch's offsets, which are `start` to `end`."""
    disposition, rows = get(entry_at(table, index), layout.DISPOSITION), get(entry_at(table, index), layout.ROWS)
    if disposition in (layout.DECODE, layout.LEGACY, layout.COUNTED):
        _add(state, layout.RECORD_COUNT, rows)
        _add(state, layout.COMPACTED_COUNT, end - start - rows)
        if disposition == layout.COUNTED:
            _add(state, layout.FILLED_ROWS, rows)
        else:
            size = get(entry_at(table, index), layout.RECORDS_END) - get(entry_at(table, index), layout.RECORDS_START)
            _add(state, layout.DECODED_BYTES, size)
        codec = get(entry_at(table, index), layout.ATTRIBUTES) & layout.CODEC_BITS
        put(state, layout.CODECS, get(state, layout.CODECS) | (1 << codec))
    elif disposition == layout.CONTROL:
        _add(state, layout.CONTROL_COUNT, end - start)
    elif disposition == layout.ABORTED:
        _add(state, layout.ABORTED_COUNT, end - start)
    else:
        _add(state, layout.CORRUPT_COUNT, end - start)
        _add(state, layout.FAULT_COUNT, 1)


@kernel("int64(int64, int64, int64, int64)")
def decode_batches(table: int, index: int, stop: int, state: int) -> int:
    """Decode and count entries of the table; returns `stop`, or the index at which the buffers were full."""
    while index < stop:
        following, end = get(state, layout.NEXT_OFFSET), _end(table, index, state)
        if end > following:
            if get(entry_at(table, index), layout.DISPOSITION) == layout.DECODE:
                if _is_full(table, index, state):
                    break
                fault = _read_records(entry_at(table, index), state)
                if fault == layout.TOO_MANY_HEADERS:
                    put(entry_at(table, index), layout.DISPOSITION, layout.CORRUPT)
                    put(entry_at(table, index), layout.FAULT, fault)
                elif fault != layout.NO_FAULT:
                    # The header and the records contradict each other, so its last offset may be wrong, too.
                    put(entry_at(table, index), layout.DISPOSITION, layout.UNTRUSTED)
                    put(entry_at(table, index), layout.FAULT, fault)
                    end = _end(table, index, state)
                    if end <= following:  # it ends before the range, as the next batch shows
                        index += 1
                        continue
            start = max(following, get(entry_at(table, index), layout.BASE_OFFSET))
            if start >= end:  # an untrusted batch whose base offset is wrong, too
                start = following
            _add(state, layout.COMPACTED_COUNT, start - following)
            _count(table, index, start, end, state)
            put(entry_at(table, index), layout.COUNTED_FROM, start)
            put(entry_at(table, index), layout.COUNTED_TO, end)
            put(state, layout.NEXT_OFFSET, end)
        index += 1
    return index


@kernel("int64(int64, int64, int64)")
def skip_records(address: int, end: int, delta: int) -> int:
    """The address of the first record of a decoded batch whose offset delta is not below `delta`; `end` if there is none."""
    while address < end:
        size, start = varint(address, end)
        _, position = varlong(start + 1, end)
        record_delta, _ = varint(position, end)
        if record_delta >= delta:
            break
        address = start + size
    return address
