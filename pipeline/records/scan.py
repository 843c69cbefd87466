"""Addresses in, columns out: the kernels that walk batches and records and write Arrow's buffers.

Guards one rule: nothing outside the bounds that a caller gave is read or written, whatever the bytes say. What lies is given
a fate and a fault in the table of batches, and the walk goes on behind it.

This is the one numeric module; `tests/reference` holds the same in slow and obvious Python. All numbers are int64, for numba
makes floats of mixed signs. A table has a line of `COLUMNS` numbers for each batch, a run is an array of numbers that a
decoder hands from call to call: what it wants, where it goes, how far it came.

Measured (tests/bench): 22 ns for a record of 116 bytes whose offset, time, key and value are wanted.
"""

from pipeline.records.compiled import (
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

# The columns of the table of batches. Positions are in the buffer; START and END are addresses of plain records.
(POSITION, SIZE, BASE, LAST, EPOCH, MAGIC, CRC, ATTRIBUTES, BASE_TIME, MAX_TIME) = range(10)
(PRODUCER, PRODUCER_EPOCH, COUNT, START, END) = range(10, 15)
(FATE, FAULT, ROWS, IS_ABORTED, FROM, TO, MARKER) = range(15, 22)
COLUMNS = 22

# What becomes of a batch. The header of an UNTRUSTED one may lie about where it ends.
DECODE, CONTROL, ABORTED, CORRUPT, UNTRUSTED, LEGACY = range(6)

# What is wrong with a batch.
(NO_FAULT, BAD_HEADER, BAD_MAGIC, BAD_CHECKSUM, BAD_COUNT, BAD_RECORD, BAD_ORDER, BAD_END, BAD_CONTROL) = range(9)

# The attributes of a batch.
CODEC_BITS, APPEND_TIME_BIT, TRANSACTION_BIT, CONTROL_BIT = 0x07, 0x08, 0x10, 0x20

# A run: where it is and may go, what it came to, ...
(NEXT_OFFSET, TO_OFFSET, LINES, ROOM_BYTES, ROOM_ROWS) = range(5)
(RECORDS, CONTROLS, ABORTEDS, COMPACTEDS, CORRUPTS, DECODED_BYTES, CODECS, FAULTS) = range(5, 13)
# ... how far its buffers are filled, ...
(FILLED_ROWS, FILLED_BYTES, KEY_BYTES, VALUE_BYTES, HEADERS, HEADER_KEY_BYTES, HEADER_VALUE_BYTES) = range(13, 20)
NULL_TIMES, NULL_KEYS, NULL_VALUES, SPELLED = range(20, 24)
# ... and their addresses, 0 for what is not wanted. Bits say what is not null.
(OFFSETS, TIMES, TIME_BITS, TIMES_MS, KEY_ENDS, KEYS, KEY_BITS, VALUE_ENDS, VALUES, VALUE_BITS) = range(24, 34)
(HEADER_ENDS, HEADER_KEY_ENDS, HEADER_KEYS, HEADER_VALUE_ENDS, HEADER_VALUES, HEADER_VALUE_BITS) = range(34, 40)
SPELLED_ROWS = 40  # pairs of row and offset of records with header keys that are not UTF-8
RUN_SIZE = 41

NO_TIME = -1
YEAR_1_MS, YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000
BATCH_HEADER_SIZE, MIN_RECORD_SIZE = 61, 7
_MIN_ENTRY_SIZE, _OVERHEAD, _LENGTH_AT, _MAGIC_AT, _LEGACY_ATTRIBUTES_AT = 26, 12, 8, 16, 17
_CURRENT_MAGIC = 2
_NOWHERE = 1 << 62  # behind every end: what is read there fails, so a walk is checked once, at its end
_MAX_OFFSET = (1 << 63) - 1


@inlined
def _cell(table, line, column):
    return table + ((line * COLUMNS + column) << 3)


@inlined
def _describe_current(address, size, base, line):
    last_delta = load32_big(address + 23)
    store64(line + (EPOCH << 3), load32_big(address + 12))
    store64(line + (CRC << 3), load32_big(address + 17) & 0xFFFFFFFF)
    store64(line + (ATTRIBUTES << 3), load16_big(address + 21))
    store64(line + (BASE_TIME << 3), load64_big(address + 27))
    store64(line + (MAX_TIME << 3), load64_big(address + 35))
    store64(line + (PRODUCER << 3), load64_big(address + 43))
    store64(line + (PRODUCER_EPOCH << 3), load16_big(address + 51))
    store64(line + (COUNT << 3), load32_big(address + 57))
    store64(line + (START << 3), address + BATCH_HEADER_SIZE)
    store64(line + (END << 3), address + size)
    if base < 0 or last_delta < 0 or base > _MAX_OFFSET - 1 - last_delta:
        store64(line + (FATE << 3), UNTRUSTED)
        store64(line + (FAULT << 3), BAD_HEADER)
    else:
        store64(line + (LAST << 3), base + last_delta)


@inlined
def _describe(address, position, size, line):
    magic = load8(address + _MAGIC_AT)
    base = load64_big(address)
    store64(line + (POSITION << 3), position)
    store64(line + (SIZE << 3), size)
    store64(line + (BASE << 3), base)
    store64(line + (LAST << 3), base)
    store64(line + (MAGIC << 3), magic)
    store64(line + (EPOCH << 3), -1)
    for column in range(CRC, COLUMNS):
        store64(line + (column << 3), 0)
    if magic < _CURRENT_MAGIC:
        store64(line + (ATTRIBUTES << 3), load8(address + _LEGACY_ATTRIBUTES_AT))
        store64(line + (FATE << 3), LEGACY)
    elif magic > _CURRENT_MAGIC:
        store64(line + (FATE << 3), UNTRUSTED)
        store64(line + (FAULT << 3), BAD_MAGIC)
    elif size < BATCH_HEADER_SIZE:
        store64(line + (FATE << 3), UNTRUSTED)
        store64(line + (FAULT << 3), BAD_HEADER)
    else:
        _describe_current(address, size, base, line)


@kernel("int64(int64, int64, int64)")
def walk_batches(address, size, table):
    """How many whole entries the buffer begins with; each is described in the table, unless the table is 0.

    Stops at a length that no entry can have. Where that is, the last line of the table tells.
    """
    lines = position = 0
    while position + _OVERHEAD <= size:
        entry_size = load32_big(address + position + _LENGTH_AT) + _OVERHEAD
        if entry_size < _MIN_ENTRY_SIZE or entry_size > size - position:
            break
        if table:
            _describe(address + position, position, entry_size, _cell(table, lines, 0))
        lines += 1
        position += entry_size
    return lines


@inlined
def _varint(at, end):
    """A zigzag number of 32 bits and where it ends; longer forms of small numbers are read as Java reads them."""
    if at >= end:
        return 0, _NOWHERE
    byte = load8(at)
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        if at >= end or shift > 28:
            return 0, _NOWHERE
        byte = load8(at)
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), at


@inlined
def _varlong(at, end):
    """A zigzag number of 64 bits and where it ends."""
    if at >= end:
        return 0, _NOWHERE
    byte = load8(at)
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        if at >= end or shift > 63:
            return 0, _NOWHERE
        byte = load8(at)
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return ((value >> 1) & _MAX_OFFSET) ^ -(value & 1), at


@inlined
def _is_utf8(at, end):
    while at < end:
        byte = load8(at)
        at += 1
        if byte < 0x80:
            continue
        if byte < 0xC2 or byte > 0xF4:
            return False
        more = 1 + (byte >= 0xE0) + (byte >= 0xF0)
        if more > end - at:
            return False
        second = load8(at)
        least = 0xA0 if byte == 0xE0 else (0x90 if byte == 0xF0 else 0x80)
        most = 0x9F if byte == 0xED else (0x8F if byte == 0xF4 else 0xBF)
        if second < least or second > most:
            return False
        for further in range(1, more):
            if load8(at + further) & 0xC0 != 0x80:
                return False
        at += more
    return True


@inlined
def _clear(bits, index):
    byte = bits + (index >> 3)
    store8(byte, load8(byte) & ~(1 << (index & 7)))


@inlined
def _set_from(bits, index, count):
    """Set `count` bits from `index` on, and some behind them."""
    if bits:
        first = bits + (index >> 3)
        store8(first, load8(first) | (0xFF << (index & 7)))
        for byte in range(first + 1, bits + ((index + count + 7) >> 3)):
            store8(byte, 0xFF)


@inlined
def _skip(at, end):
    """Where a nullable field behind its length ends."""
    size, at = _varint(at, end)
    if size > end - at:
        return _NOWHERE
    return at + size if size > 0 else at


@inlined
def _is_sound(at, end):
    """Whether key, value and headers fill a record from `at` to `end`."""
    at = _skip(_skip(at, end), end)
    headers, at = _varint(at, end)
    if headers < 0 or headers > end - at:
        return False
    for _ in range(headers):
        size, at = _varint(at, end)
        if size < 0 or size > end - at:
            return False
        at = _skip(at + size, end)
    return at == end


@inlined
def _read_header(at, end, run, headers, key_bytes, value_bytes):
    """Write one header; where it ends, and how far the bytes of keys and values are filled then."""
    size, at = _varint(at, end)
    if size < 0 or size > end - at:
        return _NOWHERE, key_bytes, value_bytes, 0
    copy(load64(run + (HEADER_KEYS << 3)) + key_bytes, at, size)
    key_bytes += size
    is_spelled = 0 if _is_utf8(at, at + size) else 1
    at += size
    size, at = _varint(at, end)
    if size > end - at:
        return _NOWHERE, key_bytes, value_bytes, 0
    if size >= 0:
        copy(load64(run + (HEADER_VALUES << 3)) + value_bytes, at, size)
        value_bytes += size
        at += size
    else:
        _clear(load64(run + (HEADER_VALUE_BITS << 3)), headers)
    store32(load64(run + (HEADER_KEY_ENDS << 3)) + ((headers + 1) << 2), key_bytes)
    store32(load64(run + (HEADER_VALUE_ENDS << 3)) + ((headers + 1) << 2), value_bytes)
    return at, key_bytes, value_bytes, is_spelled


@inlined
def _read_headers(at, end, count, run, headers, key_bytes, value_bytes):
    """Write a record's headers; as `_read_header`, and how many keys are not UTF-8."""
    spelled = 0
    _set_from(load64(run + (HEADER_VALUE_BITS << 3)), headers, count)
    for header in range(headers, headers + count):
        at, key_bytes, value_bytes, is_spelled = _read_header(at, end, run, header, key_bytes, value_bytes)
        if at > end:
            break
        spelled += is_spelled
    return at, key_bytes, value_bytes, spelled


@inlined
def _read_records(line, run):  # noqa: C901, PLR0911, PLR0912, PLR0914, PLR0915 - one loop, where all the time is spent
    """Write a batch's records from the next offset to the end of the run; the fault, and nothing is kept if there is one."""
    at, end, count = load64(line + (START << 3)), load64(line + (END << 3)), load64(line + (COUNT << 3))
    base, last_delta = load64(line + (BASE << 3)), load64(line + (LAST << 3)) - load64(line + (BASE << 3))
    base_time, append_time = load64(line + (BASE_TIME << 3)), load64(line + (MAX_TIME << 3))
    is_append_time = load64(line + (ATTRIBUTES << 3)) & APPEND_TIME_BIT
    low, high = load64(run + (NEXT_OFFSET << 3)), load64(run + (TO_OFFSET << 3))
    offsets, times, times_ms = load64(run + (OFFSETS << 3)), load64(run + (TIMES << 3)), load64(run + (TIMES_MS << 3))
    key_ends, keys, value_ends = (
        load64(run + (KEY_ENDS << 3)),
        load64(run + (KEYS << 3)),
        load64(run + (VALUE_ENDS << 3)),
    )
    values, header_ends = load64(run + (VALUES << 3)), load64(run + (HEADER_ENDS << 3))
    time_bits, key_bits, value_bits = (
        load64(run + (TIME_BITS << 3)),
        load64(run + (KEY_BITS << 3)),
        load64(run + (VALUE_BITS << 3)),
    )
    row, key_bytes, value_bytes = (
        load64(run + (FILLED_ROWS << 3)),
        load64(run + (KEY_BYTES << 3)),
        load64(run + (VALUE_BYTES << 3)),
    )
    headers, header_key_bytes, header_value_bytes = (
        load64(run + (HEADERS << 3)),
        load64(run + (HEADER_KEY_BYTES << 3)),
        load64(run + (HEADER_VALUE_BYTES << 3)),
    )
    null_times = null_keys = null_values = 0
    spelled = load64(run + (SPELLED << 3))
    first_row, last = row, -1
    if count < 0 or count > (end - at) // MIN_RECORD_SIZE:
        return BAD_COUNT
    _set_from(time_bits, row, count)
    _set_from(key_bits, row, count)
    _set_from(value_bits, row, count)
    for _ in range(count):
        size, at = _varint(at, end)
        if size > end - at or size < 1:
            return BAD_RECORD
        record_end = at + size
        time, at = _varlong(at + 1, record_end)
        delta, at = _varint(at, record_end)
        if delta <= last or delta > last_delta:
            return BAD_RECORD if at > record_end else BAD_ORDER
        last = delta
        if base + delta < low or base + delta >= high:
            if not _is_sound(at, record_end):
                return BAD_RECORD
            at = record_end
            continue
        key_size, at = _varint(at, record_end)
        if key_size > record_end - at:
            return BAD_RECORD
        if key_size >= 0:
            if keys:
                copy(keys + key_bytes, at, key_size)
                key_bytes += key_size
            at += key_size
        elif keys:
            null_keys += 1
            _clear(key_bits, row)
        value_size, at = _varint(at, record_end)
        if value_size > record_end - at:
            return BAD_RECORD
        if value_size >= 0:
            if values:
                copy(values + value_bytes, at, value_size)
                value_bytes += value_size
            at += value_size
        elif values:
            null_values += 1
            _clear(value_bits, row)
        header_count, at = _varint(at, record_end)
        if header_count != 0:
            if header_count < 0 or header_count > (record_end - at) >> 1:
                return BAD_RECORD
            if header_ends:
                at, header_key_bytes, header_value_bytes, bad_keys = _read_headers(
                    at, record_end, header_count, run, headers, header_key_bytes, header_value_bytes
                )
                headers += header_count
                if bad_keys:
                    store64(load64(run + (SPELLED_ROWS << 3)) + (spelled << 4), row)
                    store64(load64(run + (SPELLED_ROWS << 3)) + (spelled << 4) + 8, base + delta)
                    spelled += 1
            else:
                for _header in range(header_count):
                    name_size, at = _varint(at, record_end)
                    if name_size < 0 or name_size > record_end - at:
                        return BAD_RECORD
                    at = _skip(at + name_size, record_end)
        if at != record_end:
            return BAD_RECORD
        if offsets:
            store64(offsets + (row << 3), base + delta)
        time = append_time if is_append_time else base_time + time
        if times_ms:
            store64(times_ms + (row << 3), time)
        if times:
            if time == NO_TIME or time < YEAR_1_MS or time >= YEAR_10000_MS:
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
        return BAD_END
    store64(line + (ROWS << 3), row - first_row)
    store64(run + (FILLED_ROWS << 3), row)
    store64(run + (FILLED_BYTES << 3), load64(run + (FILLED_BYTES << 3)) + end - load64(line + (START << 3)))
    store64(run + (KEY_BYTES << 3), key_bytes)
    store64(run + (VALUE_BYTES << 3), value_bytes)
    store64(run + (HEADERS << 3), headers)
    store64(run + (HEADER_KEY_BYTES << 3), header_key_bytes)
    store64(run + (HEADER_VALUE_BYTES << 3), header_value_bytes)
    store64(run + (NULL_TIMES << 3), load64(run + (NULL_TIMES << 3)) + null_times)
    store64(run + (NULL_KEYS << 3), load64(run + (NULL_KEYS << 3)) + null_keys)
    store64(run + (NULL_VALUES << 3), load64(run + (NULL_VALUES << 3)) + null_values)
    store64(run + (SPELLED << 3), spelled)
    return NO_FAULT


@inlined
def _add(run, field, amount):
    store64(run + (field << 3), load64(run + (field << 3)) + amount)


@inlined
def _end(table, line, run):
    """Behind a batch's last offset. Of one that may lie, the batch behind it tells where that is."""
    end = load64(_cell(table, line, LAST)) + 1
    is_followed = line + 1 < load64(run + (LINES << 3)) and load64(_cell(table, line + 1, MAGIC)) == _CURRENT_MAGIC
    if load64(_cell(table, line, FATE)) == UNTRUSTED and is_followed:
        following = load64(_cell(table, line + 1, BASE))
        if following > load64(run + (NEXT_OFFSET << 3)):
            end = following
    return min(end, load64(run + (TO_OFFSET << 3)))


@inlined
def _is_full(table, line, run):
    size = load64(_cell(table, line, END)) - load64(_cell(table, line, START))
    rows = min(load64(_cell(table, line, COUNT)), size // MIN_RECORD_SIZE)
    has_bytes = size <= load64(run + (ROOM_BYTES << 3)) - load64(run + (FILLED_BYTES << 3))
    return not has_bytes or rows > load64(run + (ROOM_ROWS << 3)) - load64(run + (FILLED_ROWS << 3))


@inlined
def _count(table, line, start, end, run):
    """Account for a batch's offsets, which are `start` to `end`."""
    fate, rows = load64(_cell(table, line, FATE)), load64(_cell(table, line, ROWS))
    if fate in (DECODE, LEGACY):
        _add(run, RECORDS, rows)
        _add(run, COMPACTEDS, end - start - rows)
        _add(run, DECODED_BYTES, load64(_cell(table, line, END)) - load64(_cell(table, line, START)))
        codec = load64(_cell(table, line, ATTRIBUTES)) & CODEC_BITS
        store64(run + (CODECS << 3), load64(run + (CODECS << 3)) | (1 << codec))
    elif fate == CONTROL:
        _add(run, CONTROLS, end - start)
    elif fate == ABORTED:
        _add(run, ABORTEDS, end - start)
    else:
        _add(run, CORRUPTS, end - start)
        _add(run, FAULTS, 1)


@kernel("int64(int64, int64, int64, int64)")
def decode_batches(table, line, stop, run):
    """Decode and account for lines of the table; the line that it stopped at, for the buffers are full there."""
    while line < stop:
        following, end = load64(run + (NEXT_OFFSET << 3)), _end(table, line, run)
        if end > following:
            if load64(_cell(table, line, FATE)) == DECODE:
                if _is_full(table, line, run):
                    break
                fault = _read_records(_cell(table, line, 0), run)
                if fault != NO_FAULT:
                    store64(_cell(table, line, FATE), CORRUPT)
                    store64(_cell(table, line, FAULT), fault)
            start = max(following, load64(_cell(table, line, BASE)))
            if start >= end:  # an untrusted batch whose base is as wrong
                start = following
            _add(run, COMPACTEDS, start - following)
            _count(table, line, start, end, run)
            store64(_cell(table, line, FROM), start)
            store64(_cell(table, line, TO), end)
            store64(run + (NEXT_OFFSET << 3), end)
        line += 1
    return line


@inlined
def _read_marker(line):
    at, end, count = load64(line + (START << 3)), load64(line + (END << 3)), load64(line + (COUNT << 3))
    last, last_delta = -1, load64(line + (LAST << 3)) - load64(line + (BASE << 3))
    if count < 0 or count > (end - at) // MIN_RECORD_SIZE:
        return BAD_COUNT
    for record in range(count):
        size, at = _varint(at, end)
        if size > end - at or size < 1:
            return BAD_RECORD
        record_end = at + size
        _, at = _varlong(at + 1, record_end)
        delta, at = _varint(at, record_end)
        if not _is_sound(at, record_end):
            return BAD_RECORD
        if delta <= last or delta > last_delta:
            return BAD_ORDER
        last = delta
        key_size, at = _varint(at, record_end)
        if key_size < 4 or load16_big(at) < 0:  # version and type, which may be ones that we do not know
            return BAD_CONTROL
        if record == 0:
            store64(line + (MARKER << 3), load16_big(at + 2))
        at = record_end
    return NO_FAULT if at == end else BAD_END


@kernel("int64(int64, int64, int64)")
def read_markers(table, line, stop):
    """Check the control batches among lines of the table and note the type of each first record, -1 if there is none."""
    found = 0
    for control in range(line, stop):
        is_control = load64(_cell(table, control, ATTRIBUTES)) & CONTROL_BIT
        if is_control and load64(_cell(table, control, FATE)) == DECODE:
            store64(_cell(table, control, MARKER), -1)
            fault = _read_marker(_cell(table, control, 0))
            store64(_cell(table, control, FATE), CONTROL if fault == NO_FAULT else CORRUPT)
            store64(_cell(table, control, FAULT), fault)
            found += 1
    return found
