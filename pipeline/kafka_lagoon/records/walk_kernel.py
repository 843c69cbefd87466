"""A buffer in, a line for each of its batches out: the kernels that read the headers of batches, and control batches.

Guards one rule: nothing outside the bounds that a caller gave is read or written, whatever the bytes say. What lies is given
a disposition and a fault in the table of batches, and the walk goes on behind it.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import inlined, kernel, load8, load16_big, load32_big, load64_big
from kafka_lagoon.records.fields import MAX_INT64, get, is_sound, line_at, put, varint, varlong

_MIN_ENTRY_SIZE, _OVERHEAD, _LENGTH_AT, _MAGIC_AT, _LEGACY_ATTRIBUTES_AT = 26, 12, 8, 16, 17
_VERSION_AND_TYPE = 4


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
        put(line, layout.DISPOSITION, layout.UNTRUSTED)
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
        put(line, layout.DISPOSITION, layout.LEGACY)
    elif magic > layout.CURRENT_MAGIC:
        put(line, layout.DISPOSITION, layout.UNTRUSTED)
        put(line, layout.FAULT, layout.BAD_MAGIC)
    elif size < layout.BATCH_HEADER_SIZE:
        put(line, layout.DISPOSITION, layout.UNTRUSTED)
        put(line, layout.FAULT, layout.BAD_HEADER)
    else:
        _describe_current(address, size, base, line)


@inlined
def _bound(before: int, line: int) -> None:
    """A batch ends before the next one begins. It lies if it ends later, or if it has more records than offsets.

    Only if its records fit between the two. Too few records prove nothing: compaction removes records and keeps a batch's
    last offset.
    """
    base, last, count = get(before, layout.BASE), get(before, layout.LAST), get(before, layout.COUNT)
    following = get(line, layout.BASE)
    are_sound = get(before, layout.DISPOSITION) == layout.DECODE and get(line, layout.DISPOSITION) == layout.DECODE
    is_too_large, is_too_small = base < following <= last, following > last + 1 and count > last - base + 1
    if are_sound and count <= following - base and (is_too_large or is_too_small):
        put(before, layout.LAST, following - 1)
        put(before, layout.DISPOSITION, layout.UNTRUSTED)
        put(before, layout.FAULT, layout.BAD_LAST)


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
            _describe(address + position, position, entry_size, line_at(table, lines))
            if lines:
                _bound(line_at(table, lines - 1), line_at(table, lines))
        lines += 1
        position += entry_size
    return lines


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
        is_control = get(line_at(table, control), layout.ATTRIBUTES) & layout.CONTROL_BIT
        if is_control and get(line_at(table, control), layout.DISPOSITION) == layout.DECODE:
            put(line_at(table, control), layout.MARKER, -1)
            fault = _read_marker(line_at(table, control))
            put(
                line_at(table, control),
                layout.DISPOSITION,
                layout.CONTROL if fault == layout.NO_FAULT else layout.UNTRUSTED,
            )
            put(line_at(table, control), layout.FAULT, fault)
            found += 1
    return found
