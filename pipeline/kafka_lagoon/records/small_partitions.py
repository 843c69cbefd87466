"""Decodes fetched records of several small partitions into the same Arrow buffers, which are set up once for all of them.

Only whole partitions without special cases are decoded here. Partitions with damage, aborted transactions, old formats,
header keys that must be escaped, or a gap at the end are refused, and columns.py decodes them.
"""

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray

from kafka_lagoon.errors import RecordsError
from kafka_lagoon.records import arena, layout
from kafka_lagoon.records.batches import Batches, Table
from kafka_lagoon.records.buffers import Buffers, are_in_headers, schema_of
from kafka_lagoon.records.columns import HEADER_BYTES, LARGEST, counts_of, first_index, stop_index
from kafka_lagoon.records.decoding import Counts, DecodeOptions
from kafka_lagoon.records.dispositions import COVERED_BY_CRC, count_whole
from kafka_lagoon.records.kernels import decode_batches, read_markers

_COUNTED = slice(layout.RECORD_COUNT, layout.FAULT_COUNT + 1)


class SharedColumns:
    """Add partitions one after the other, and take the Arrow batch of those that were added; the rows are in that order."""

    def __init__(self, options: DecodeOptions, *, read_committed: bool) -> None:
        self._options, self._read_committed = options, read_committed
        self._limit = min(options.batch_limit_bytes, LARGEST)
        self._schema = schema_of(options.columns)
        self._wants_headers_only = are_in_headers(self._schema)
        self._state = np.zeros(layout.STATE_SIZE, np.int64)
        self._state[layout.MOST_HEADERS] = self._limit // HEADER_BYTES
        self._buffers: Buffers | None = None
        self._tables: list[Table] = []

    @property
    def is_full(self) -> bool:
        """True if it is time to `take`: the other half of the buffers is room for one more partition."""
        return self._buffers is not None and 2 * int(self._state[layout.FILLED_BYTES]) >= self._options.expanded_bytes

    def add(self, batches: Batches, from_offset: int, to_offset: int) -> Counts | None:
        """Decode a partition's records from `from_offset` to `to_offset`, which is not included; returns what they were.

        None, and nothing is added, if they are not plain, or if the buffers have no room for them. The caller has made
        sure that the offsets of the batches ascend up to `to_offset`, and that no transaction there was aborted.
        """
        first = first_index(batches.table, from_offset)
        table = batches.table[first : stop_index(batches.table, to_offset)].copy()
        if not self._is_plain(batches, table):
            return None
        self._buffers = self._buffers or self._new_buffers()
        before = self._state.copy()
        self._state[_COUNTED] = 0
        self._state[[layout.NEXT_OFFSET, layout.TO_OFFSET, layout.BATCHES]] = from_offset, to_offset, len(table)
        if self._wants_headers_only:
            count_whole(table, self._state)
        if self._decode(batches, table) and self._is_sound(before, to_offset):
            self._tables.append(table)
            return counts_of(self._state, table)
        self._state[:] = before
        return None

    def take(self) -> pa.RecordBatch | None:
        """The records that were added since the last time, None if there are none."""
        buffers, tables = self._buffers, self._tables
        self._buffers, self._tables = None, []
        return buffers.arrow_batch(np.concatenate(tables)) if buffers and buffers.rows else None

    def _new_buffers(self) -> Buffers:
        size = self._options.expanded_bytes
        return Buffers(self._state, self._schema, rows=size // layout.MIN_RECORD_SIZE + 1, size=size)

    def _is_plain(self, batches: Batches, table: Table) -> bool:
        """True if all batches have the current format and the right checksum, and none needs its transaction's end."""
        attributes = table[:, layout.ATTRIBUTES]
        some = int(np.bitwise_or.reduce(attributes)) if len(table) else 0
        if not len(table) or (table[:, layout.DISPOSITION] != layout.DECODE).any():
            return False
        if some & layout.TRANSACTION_BIT and not self._read_committed:
            return False
        if self._options.check_crcs and not _have_right_checksums(batches, table):
            return False
        return not some & layout.CONTROL_BIT or _read_controls(table)

    def _decode(self, batches: Batches, table: Table) -> bool:
        """Decode all batches; False if they do not fit, or if one cannot be decompressed."""
        is_wanted = table[:, layout.DISPOSITION] == layout.DECODE
        packed = np.flatnonzero(is_wanted & (table[:, layout.ATTRIBUTES] & layout.CODEC_BITS > 0)).tolist()
        if not packed:
            return self._run(table, 0, len(table)) == len(table)
        lent, index = arena.take(), 0
        try:
            for number in packed:
                if not _expand(lent, batches, table[number], self._limit):
                    index = self._run(table, index, number)
                    lent.clear()
                    _expand(lent, batches, table[number], self._limit)
            return self._run(table, index, len(table)) == len(table)
        except RecordsError:
            return False
        finally:
            arena.give_back(lent)

    def _run(self, table: Table, index: int, stop: int) -> int:
        return int(decode_batches(table.ctypes.data, index, stop, self._state.ctypes.data))

    def _is_sound(self, before: NDArray[np.int64], to_offset: int) -> bool:
        """True if every offset is accounted for without a fault."""
        state = self._state
        return bool(
            state[layout.NEXT_OFFSET] == to_offset
            and not state[layout.FAULT_COUNT]
            and state[layout.ESCAPED] == before[layout.ESCAPED]
        )


def _have_right_checksums(batches: Batches, table: Table) -> bool:
    starts = table[:, layout.POSITION]
    ends, crcs = (starts + table[:, layout.SIZE]).tolist(), table[:, layout.CRC].tolist()
    data = batches.data
    return all(
        crc32c(data[start + COVERED_BY_CRC : end]) == crc
        for start, end, crc in zip(starts.tolist(), ends, crcs, strict=True)
    )


def _read_controls(table: Table) -> bool:
    """Check the control batches; False if one is compressed, which is legal and rare, or makes no sense."""
    attributes = table[:, layout.ATTRIBUTES]
    if ((attributes & layout.CONTROL_BIT > 0) & (attributes & layout.CODEC_BITS > 0)).any():
        return False
    read_markers(table.ctypes.data, 0, len(table))
    return bool(np.isin(table[:, layout.DISPOSITION], (layout.DECODE, layout.CONTROL)).all())


def _expand(lent: arena.Arena, batches: Batches, entry: NDArray[np.int64], limit: int) -> bool:
    """Decompress a batch; False if the arena must be cleared first. Raises RecordsError."""
    position, size, attributes = entry[[layout.POSITION, layout.SIZE, layout.ATTRIBUTES]].tolist()
    source = batches.data[position + layout.BATCH_HEADER_SIZE : position + size]
    plain = lent.expand(attributes & layout.CODEC_BITS, source, limit)
    if plain:
        entry[layout.RECORDS_START], entry[layout.RECORDS_END] = plain
    return plain is not None
