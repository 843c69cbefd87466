"""Kernels that find the batches in a buffer, read their headers into the table of batches, and check control batches.

Nothing outside the bounds that a caller gave is read or written, whatever the bytes are. A batch whose header cannot be true
gets a disposition and a fault in the table, and the walk continues after it.
"""

from kafka_lagoon.records import layout
from kafka_lagoon.records.compiler import inlined, kernel, load8, load16_big, load32_big, load64_big
from kafka_lagoon.records.fields import MAX_INT64, entry_at, get, is_sound, put, varint, varlong

_MIN_BATCH_SIZE, _OVERHEAD, _LENGTH_AT, _MAGIC_AT, _LEGACY_ATTRIBUTES_AT = 26, 12, 8, 16, 17
_VERSION_AND_TYPE = 4


@inlined
def _describe_current(address: int, size: int, base: int, entry: int) -> None:
    last_delta = load32_big(address + 23)
    put(entry, layout.LEADER_EPOCH, load32_big(address + 12))
    put(entry, layout.CRC, load32_big(address + 17) & 0xFFFFFFFF)
    put(entry, layout.ATTRIBUTES, load16_big(address + 21))
    put(entry, layout.BASE_TIMESTAMP, load64_big(address + 27))
    put(entry, layout.MAX_TIMESTAMP, load64_big(address + 35))
    put(entry, layout.PRODUCER_ID, load64_big(address + 43))
    put(entry, layout.PRODUCER_EPOCH, load16_big(address + 51))
    put(entry, layout.COUNT, load32_big(address + 57))
    put(entry, layout.RECORDS_START, address + layout.BATCH_HEADER_SIZE)
    put(entry, layout.RECORDS_END, address + size)
    if base < 0 or last_delta < 0 or base > MAX_INT64 - 1 - last_delta:
        put(entry, layout.DISPOSITION, layout.UNTRUSTED)
        put(entry, layout.FAULT, layout.BAD_HEADER)
    else:
        put(entry, layout.LAST_OFFSET, base + last_delta)


@inlined
def _describe(address: int, position: int, size: int, entry: int) -> None:
    magic = load8(address + _MAGIC_AT)
    base = load64_big(address)
    put(entry, layout.POSITION, position)
    put(entry, layout.SIZE, size)
    put(entry, layout.BASE_OFFSET, base)
    put(entry, layout.LAST_OFFSET, base)
    put(entry, layout.MAGIC, magic)
    put(entry, layout.LEADER_EPOCH, -1)
    for column in range(layout.CRC, layout.COLUMNS):
        put(entry, column, 0)
    if magic < layout.CURRENT_MAGIC:
        put(entry, layout.ATTRIBUTES, load8(address + _LEGACY_ATTRIBUTES_AT))
        put(entry, layout.DISPOSITION, layout.LEGACY)
    elif magic > layout.CURRENT_MAGIC:
        put(entry, layout.DISPOSITION, layout.UNTRUSTED)
        put(entry, layout.FAULT, layout.BAD_MAGIC)
    elif size < layout.BATCH_HEADER_SIZE:
        put(entry, layout.DISPOSITION, layout.UNTRUSTED)
        put(entry, layout.FAULT, layout.BAD_HEADER)
    else:
        _describe_current(address, size, base, entry)


@inlined
def _bound(before: int, entry: int) -> None:
    """Correct the last offset of a batch by the base offset of the next one.

    A last offset is wrong if it is not below the next base, or if the batch has more records than offsets. It is corrected,
    and the batch is not trusted, if the records fit before the next base. Too few records prove nothing: compaction removes
    records and keeps a batch's last offset.
    """
    base, last, count = get(before, layout.BASE_OFFSET), get(before, layout.LAST_OFFSET), get(before, layout.COUNT)
    following = get(entry, layout.BASE_OFFSET)
    are_sound = get(before, layout.DISPOSITION) == layout.DECODE and get(entry, layout.DISPOSITION) == layout.DECODE
    is_too_large, is_too_small = base < following <= last, following > last + 1 and count > last - base + 1
    if are_sound and count <= following - base and (is_too_large or is_too_small):
        put(before, layout.LAST_OFFSET, following - 1)
        put(before, layout.DISPOSITION, layout.UNTRUSTED)
        put(before, layout.FAULT, layout.BAD_LAST)


@kernel("int64(int64, int64, int64)")
def walk_batches(address: int, size: int, table: int) -> int:
    """Number of whole batches at the beginning of the buffer; each gets an entry in the table, unless the table is 0.

    Stops at a length that no batch can have, which is after the last entry's position and size.
    """
    count = position = 0
    while position + _OVERHEAD <= size:
        batch_size = load32_big(address + position + _LENGTH_AT) + _OVERHEAD
        if batch_size < _MIN_BATCH_SIZE or batch_size > size - position:
            break
        if table:
            _describe(address + position, position, batch_size, entry_at(table, count))
            if count:
                _bound(entry_at(table, count - 1), entry_at(table, count))
        count += 1
        position += batch_size
    return count


@inlined
def _read_marker(entry: int) -> int:
    address, end, count = get(entry, layout.RECORDS_START), get(entry, layout.RECORDS_END), get(entry, layout.COUNT)
    last, last_delta = -1, get(entry, layout.LAST_OFFSET) - get(entry, layout.BASE_OFFSET)
    if count < 0 or count > (end - address) // layout.MIN_RECORD_SIZE:
        return layout.BAD_COUNT
    for record in range(count):
        size, address = varint(address, end)
        if size > end - address or size < 1:
            return layout.BAD_RECORD
        record_end = address + size
        _, address = varlong(address + 1, record_end)
        delta, address = varint(address, record_end)
        if not is_sound(address, record_end):
            return layout.BAD_RECORD
        if delta <= last or delta > last_delta:
            return layout.BAD_ORDER
        last = delta
        key_size, address = varint(address, record_end)
        # Versions and types that this code does not know are accepted.
        if key_size < _VERSION_AND_TYPE or load16_big(address) < 0:
            return layout.BAD_CONTROL
        if record == 0:
            put(entry, layout.MARKER, load16_big(address + 2))
        address = record_end
    return layout.NO_FAULT if address == end else layout.BAD_END


@kernel("int64(int64, int64, int64)")
def read_markers(table: int, first: int, stop: int) -> int:
    """Check the control batches among entries of the table and note the type of each first record, -1 if there is none."""
    controls = 0
    for index in range(first, stop):
        is_control = get(entry_at(table, index), layout.ATTRIBUTES) & layout.CONTROL_BIT
        if is_control and get(entry_at(table, index), layout.DISPOSITION) == layout.DECODE:
            put(entry_at(table, index), layout.MARKER, -1)
            fault = _read_marker(entry_at(table, index))
            put(
                entry_at(table, index),
                layout.DISPOSITION,
                layout.CONTROL if fault == layout.NO_FAULT else layout.UNTRUSTED,
            )
            put(entry_at(table, index), layout.FAULT, fault)
            controls += 1
    return controls
