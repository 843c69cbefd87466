"""Decodes batches into Arrow batches, and counts every offset by its disposition.

Every offset is counted once. A corrupt batch costs its own records, never those of its neighbours: it becomes a problem
with its raw bytes, and decoding continues after it.

Python handles batches, the kernels handle records. For every batch Python verifies the checksum and decompresses, each about
0.3 us a call; further steps are done only if there are control batches or aborted transactions.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafka_lagoon.errors import RecordsError
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.records import arena, layout
from kafka_lagoon.records.batches import Batches, Table
from kafka_lagoon.records.buffers import Buffers, are_in_headers, schema_of
from kafka_lagoon.records.codecs import CODEC_NAMES
from kafka_lagoon.records.decoding import Counts, DecodeOptions, Problem
from kafka_lagoon.records.dispositions import Dispositions, count_whole
from kafka_lagoon.records.kernels import decode_batches, skip_records
from kafka_lagoon.records.legacy import LegacyRecord, decode_entry
from kafka_lagoon.records.legacy_columns import legacy_arrow_batch

HEADER_KEY_NOT_UTF8 = "HEADER_KEY_NOT_UTF8"
_OFFSETS = schema_of(frozenset({"offset"}))

_WINDOW = 1 << 20  # bytes that are checked, expanded and decoded while they are in the cache
LARGEST = MOST_INT32  # Arrow's offsets of keys and values are int32
_MIN_BUFFER, _USUAL_EXPANSION = 1 << 16, 16
_MIN_SLICE = 4 << 20
_ROW_BYTES, HEADER_BYTES = 56, 16  # of Arrow for a record without its key, value and headers, and for an empty header

_FAULTS = {
    layout.BAD_HEADER: "a header that contradicts itself",
    layout.BAD_MAGIC: "unknown magic",
    layout.BAD_CHECKSUM: "checksum",
    layout.BAD_COUNT: "more records than bytes, or fewer than none",
    layout.BAD_RECORD: "a record that does not fit its length",
    layout.BAD_ORDER: "offsets that do not ascend, or beyond the batch's last",
    layout.BAD_END: "bytes after the last record",
    layout.BAD_CONTROL: "a control record without a version and a type",
    layout.TOO_MANY_HEADERS: "a record with more headers than fit into the limit of a batch",
    layout.BAD_LAST: "a last offset that the next batch contradicts",
}
_REASONS = {
    "CorruptBatch": "CORRUPT_BATCH",
    "UnsupportedMagic": "UNSUPPORTED_MAGIC",
    "UnsupportedCodec": "UNSUPPORTED_CODEC",
    "ExpandedTooLarge": "EXPANDED_TOO_LARGE",
}


def decode(
    batches: Batches,
    *,
    from_offset: int,
    to_offset: int,
    aborted: Sequence[tuple[int, int]],
    read_committed: bool,
    stable_end: int,
    options: DecodeOptions,
) -> "Decoding":
    """Decode the records from `from_offset` to `to_offset`, which is not included.

    `aborted` has producer id and first offset of the aborted transactions that the Fetch response names. Their records are
    left out if `read_committed`, else flagged; then the flag of transactional records from `stable_end` on is null.
    """
    return Decoding(batches, from_offset, to_offset, aborted, options, None if read_committed else stable_end)


class Decoding:
    """Iterate it once, for Arrow batches of at most about `options.expanded_bytes` of plain records each.

    Afterwards it has `counts`, `problems` by offset, `leader_epoch` of the last batch (-1 unknown), and `next_offset`. That
    can be below `batches.next_offset`: at `to_offset`; after a corrupt batch while aborted transactions were open, because
    only another Fetch response says which of them still are; and at a corrupt batch that only the next batch can bound.
    """

    def __init__(
        self,
        batches: Batches,
        from_offset: int,
        to_offset: int,
        aborted: Sequence[tuple[int, int]],
        options: DecodeOptions,
        flags_until: int | None,
    ) -> None:
        self.counts, self.problems = Counts(), list[Problem]()
        self._batches, self._options = batches, options
        self._limit = min(options.batch_limit_bytes, LARGEST)
        self._schema = schema_of(options.columns)
        self._wants_headers_only = are_in_headers(self._schema)
        self._table = batches.table.copy()
        self._errors: dict[int, RecordsError] = {}
        self._state = np.zeros(layout.STATE_SIZE, np.int64)
        self._state[layout.NEXT_OFFSET] = from_offset
        self._state[layout.TO_OFFSET] = max(from_offset, to_offset)
        self._state[layout.BATCHES] = batches.count
        self._state[layout.MOST_HEADERS] = self._limit // HEADER_BYTES
        first = first_index(self._table, from_offset)
        self._dispositions = Dispositions(
            batches,
            self._table,
            from_offset=from_offset,
            aborted=aborted,
            flags_until=flags_until,
            check_crcs=options.check_crcs,
        )
        self._has_packed = bool((self._table[:, layout.ATTRIBUTES] & layout.CODEC_BITS).any())
        self._has_legacy = bool((self._table[:, layout.DISPOSITION] == layout.LEGACY).any())
        self._index = 0 if aborted else first  # markers before it count, too
        self._stop = self._end = max(self._index, stop_index(self._table, to_offset))
        self._buffers: Buffers | None = None
        self._buffers_index = self._index
        self._arena = arena.take()

    @property
    def next_offset(self) -> int:
        """The first offset that is not counted yet."""
        return int(self._state[layout.NEXT_OFFSET])

    @property
    def leader_epoch(self) -> int:
        """Leader epoch of the last batch, -1 if it is not known."""
        entries = self._table[: self._stop]
        epochs = entries[
            (entries[:, layout.MAGIC] > 1) & (entries[:, layout.DISPOSITION] != layout.UNTRUSTED), layout.LEADER_EPOCH
        ]
        return int(epochs[-1]) if len(epochs) else -1

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        first = self._index
        try:
            for stop in self._windows():
                if self._index < self._stop:
                    yield from self._decode_window(min(stop, self._stop))
            yield from self._flush()
        finally:
            arena.give_back(self._arena)
        self._pass_end()
        self._reconcile(first)

    def _windows(self) -> list[int]:
        """The indexes at which windows end."""
        number = self._table[self._index : self._stop, layout.POSITION] // _WINDOW
        return [*(np.flatnonzero(np.diff(number)) + self._index + 1).tolist(), self._stop]

    def _decode_window(self, stop: int) -> Iterator[pa.RecordBatch]:
        decided = self._dispositions.decide(self._index, stop, self._expand_alone)
        if self._dispositions.is_over:
            self._stop = decided
        if self._wants_headers_only:
            count_whole(self._table[self._index : decided], self._state)
        if not self._has_legacy:
            yield from self._decode_entries(decided)
            return
        is_legacy = (self._table[self._index : decided, layout.DISPOSITION] == layout.LEGACY).tolist()
        for are_legacy, entries in groupby(is_legacy):
            end = self._index + sum(1 for _ in entries)
            yield from self._decode_legacy(end) if are_legacy else self._decode_entries(end)

    def _decode_entries(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode batches of the current format; as much as the arena holds is decompressed at a time."""
        if self._has_packed:
            entries = self._table[self._index : stop]
            is_packed = (entries[:, layout.ATTRIBUTES] & layout.CODEC_BITS > 0) & (
                entries[:, layout.DISPOSITION] == layout.DECODE
            )
            for index in (np.flatnonzero(is_packed) + self._index).tolist():
                if not self._expand(index):
                    yield from self._run_kernel(index)
                    self._arena.clear()
                    self._expand(index)
        yield from self._run_kernel(stop)
        self._arena.clear()

    def _expand_alone(self, index: int) -> None:
        """Decompress a batch whose records are read before anything else is decompressed."""
        self._expand(index)
        self._arena.clear()

    def _expand(self, index: int) -> bool:
        """Decompress a batch; False if the arena has no room for it before it is cleared."""
        entry = self._table[index]
        codec = int(entry[layout.ATTRIBUTES]) & layout.CODEC_BITS
        start = int(entry[layout.POSITION]) + layout.BATCH_HEADER_SIZE
        source = self._batches.data[start : int(entry[layout.POSITION] + entry[layout.SIZE])]
        try:
            plain = self._arena.expand(codec, source, self._limit)
        except RecordsError as error:
            self._errors[index] = error
            entry[layout.DISPOSITION] = layout.CORRUPT
            return True
        if plain:
            entry[layout.RECORDS_START], entry[layout.RECORDS_END] = plain
        return plain is not None

    def _run_kernel(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode batches whose records are plain, and yield an Arrow batch whenever the buffers are full."""
        while self._index < stop:
            if self._buffers is None:
                if self._is_large(self._index):
                    yield from self._decode_in_slices(self._index)
                    continue
                self._buffers, self._buffers_index = self._allocate(), self._index
            self._index = decode_batches(self._table.ctypes.data, self._index, stop, self._state.ctypes.data)
            if self._index < stop:
                yield from self._flush()

    def _allocate(self) -> Buffers:
        """Buffers for the records that are left to decode, or for the largest part of them that one Arrow batch may hold."""
        rest = self._table[self._index : self._stop]
        is_packed = rest[:, layout.ATTRIBUTES] & layout.CODEC_BITS > 0
        expected = int((rest[:, layout.SIZE] * np.where(is_packed, _USUAL_EXPANSION, 1)).sum())
        first = int(rest[0, layout.RECORDS_END] - rest[0, layout.RECORDS_START]) if len(rest) else 0
        size = max(first, min(self._options.expanded_bytes, max(expected, _MIN_BUFFER), LARGEST))
        most = max(_rows_of(rest[0]) if len(rest) else 0, self._slice_bytes // _ROW_BYTES)
        rows = min(int(rest[:, layout.COUNT].clip(0).sum()), size // layout.MIN_RECORD_SIZE + 1, most)
        return Buffers(self._state, self._schema, rows=rows, size=size)

    @property
    def _slice_bytes(self) -> int:
        return max(self._options.expanded_bytes, _MIN_SLICE)

    def _is_large(self, index: int) -> bool:
        """True if a batch has several records and would make an Arrow batch much larger than usual."""
        entry = self._table[index]
        if entry[layout.DISPOSITION] != layout.DECODE or (rows := _rows_of(entry)) < 2:  # noqa: PLR2004  one record cannot be divided
            return False
        return int(entry[layout.RECORDS_END] - entry[layout.RECORDS_START]) + rows * _ROW_BYTES > 2 * self._slice_bytes

    def _decode_in_slices(self, index: int) -> Iterator[pa.RecordBatch]:
        """Decode one batch into several Arrow batches, after a first pass that keeps nothing but its offsets.

        For the kernel each slice is a batch: it has the records from the first wanted one on, up to that of the next slice.
        """
        entry, to_offset = self._table[index].copy(), int(self._state[layout.TO_OFFSET])
        size, rows = int(entry[layout.RECORDS_END] - entry[layout.RECORDS_START]), _rows_of(entry)
        offsets = self._check_alone(index, rows, size)
        if not len(offsets):
            return
        decoded_bytes = int(self._state[layout.DECODED_BYTES]) + size  # also those of records that are not wanted
        at_once = max(1, min(len(offsets) * self._slice_bytes // (2 * size), self._slice_bytes // _ROW_BYTES))
        base, end = int(entry[layout.BASE_OFFSET]), int(entry[layout.RECORDS_END])
        start = skip_records(int(entry[layout.RECORDS_START]), end, int(offsets[0]) - base)
        for first in range(0, len(offsets), at_once):
            following = first + at_once
            is_last = following >= len(offsets)
            next_offset = int(offsets[-1]) + 1 if is_last else int(offsets[following])
            stop = skip_records(start, end, next_offset - base)
            self._table[index] = entry
            self._table[index, layout.RECORDS_START], self._table[index, layout.RECORDS_END] = start, stop
            self._table[index, layout.COUNT] = count = min(at_once, len(offsets) - first)
            self._state[layout.TO_OFFSET] = to_offset if is_last else next_offset
            self._buffers, self._buffers_index = (
                Buffers(self._state, self._schema, rows=count, size=stop - start),
                index,
            )
            self._index = decode_batches(self._table.ctypes.data, index, index + 1, self._state.ctypes.data)
            yield from self._flush()
            start = stop
        self._state[layout.DECODED_BYTES] = decoded_bytes

    def _check_alone(self, index: int, rows: int, size: int) -> NDArray[np.int64]:
        """The offsets of a batch's wanted records; if it has none or is corrupt, the batch is counted and passed."""
        state = self._state.copy()
        buffers = Buffers(state, _OFFSETS, rows=rows, size=size)
        decode_batches(self._table.ctypes.data, index, index + 1, state.ctypes.data)
        if self._table[index, layout.DISPOSITION] == layout.DECODE and buffers.rows:
            return buffers.offsets().copy()
        self._state[: layout.FILLED_ROWS] = state[: layout.FILLED_ROWS]
        self._index = index + 1
        return np.empty(0, np.int64)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        """Yield the content of the buffers."""
        buffers, self._buffers = self._buffers, None
        if buffers and buffers.rows:
            for _, offset in buffers.escaped():
                self.problems.append(Problem(base_offset=offset, last_offset=offset, reason=HEADER_KEY_NOT_UTF8))
            yield buffers.arrow_batch(self._table[self._buffers_index : self._index])

    def _decode_legacy(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode entries of magic 0 and 1 in Python, in order with the others."""
        yield from self._flush()
        records, size = list[LegacyRecord](), 0
        while self._index < stop:
            records += self._read_entry(self._index)
            size += int(self._table[self._index, layout.RECORDS_END])
            self._index = decode_batches(self._table.ctypes.data, self._index, self._index + 1, self._state.ctypes.data)
            if records and (size >= self._options.expanded_bytes or self._index == stop):
                yield legacy_arrow_batch(records, self._schema)
                records, size = [], 0

    def _read_entry(self, index: int) -> list[LegacyRecord]:
        """The wanted records of a legacy entry. Its offset is that of its last record; nothing says where it begins."""
        entry, following = self._table[index], self.next_offset
        start, entry[layout.BASE_OFFSET] = int(entry[layout.POSITION]), following
        try:
            records = decode_entry(self._batches.data, start, start + int(entry[layout.SIZE]), options=self._options)
        except RecordsError as error:
            self._errors[index], entry[layout.DISPOSITION] = error, layout.CORRUPT
            return []
        entry[layout.LAST_OFFSET] = max(int(entry[layout.LAST_OFFSET]), records[-1].offset)
        kept = [record for record in records if following <= record.offset < self._state[layout.TO_OFFSET]]
        entry[layout.ROWS] = len(kept)
        entry[layout.RECORDS_END] = sum(len(record.key or b"") + len(record.value or b"") for record in records)
        return kept

    def _pass_end(self) -> None:
        """If there is a batch after the end of the range, no record is missing between it and the last one."""
        if self._stop == self._end < self._batches.count and self._dispositions.is_sound(self._end):
            left = int(self._state[layout.TO_OFFSET] - self._state[layout.NEXT_OFFSET])
            self._state[layout.COMPACTED_COUNT] += left
            self._state[layout.NEXT_OFFSET] += left

    def _reconcile(self, first: int) -> None:
        """Make counts and problems from the decoder's state and the table of batches."""
        entries = self._table[first : self._stop]
        self.counts = counts_of(self._state, entries)
        if self._state[layout.FAULT_COUNT]:
            is_faulty = np.isin(entries[:, layout.DISPOSITION], (layout.CORRUPT, layout.UNTRUSTED))
            faulty = (
                np.flatnonzero(is_faulty & (entries[:, layout.COUNTED_TO] > entries[:, layout.COUNTED_FROM])) + first
            )
            self.problems += map(self._problem, faulty.tolist())
        self.problems.sort(key=lambda problem: problem.base_offset)

    def _problem(self, index: int) -> Problem:
        entry = self._table[index]
        start = int(entry[layout.POSITION])
        stop = start + min(int(entry[layout.SIZE]), self._options.raw_limit_bytes)
        error = self._errors.get(index)
        return Problem(
            base_offset=int(entry[layout.COUNTED_FROM]),
            last_offset=int(entry[layout.COUNTED_TO]) - 1,
            reason=_REASONS[type(error).__name__] if error else _reason(int(entry[layout.FAULT])),
            detail=str(error) if error else _FAULTS[int(entry[layout.FAULT])],
            raw=bytes(self._batches.data[start:stop]),
        )


def _reason(fault: int) -> str:
    kinds = {layout.BAD_MAGIC: "UnsupportedMagic", layout.TOO_MANY_HEADERS: "ExpandedTooLarge"}
    return _REASONS[kinds.get(fault, "CorruptBatch")]


def _rows_of(entry: NDArray[np.int64]) -> int:
    """The largest number of records that a batch can have."""
    size, count = int(entry[layout.RECORDS_END] - entry[layout.RECORDS_START]), int(entry[layout.COUNT])
    return max(0, min(count, size // layout.MIN_RECORD_SIZE))


def counts_of(state: NDArray[np.int64], entries: Table) -> Counts:
    """The decoder's counts for the batches of these entries."""
    counted = state.tolist()
    return Counts(
        records=counted[layout.RECORD_COUNT],
        control=counted[layout.CONTROL_COUNT],
        aborted=counted[layout.ABORTED_COUNT],
        compacted=counted[layout.COMPACTED_COUNT],
        corrupt=counted[layout.CORRUPT_COUNT],
        bytes_fetched=int(entries[:, layout.SIZE].sum()),
        bytes_decoded=counted[layout.DECODED_BYTES],
        codecs={name for codec, name in CODEC_NAMES.items() if counted[layout.CODECS] >> codec & 1},
    )


def first_index(table: Table, from_offset: int) -> int:
    """The last batch whose base offset is at or below an offset. Last offsets are not used: those of corrupt batches are wrong.

    No checksum covers the base offset either, so batches after one that goes back, or that begins where the one before it does,
    are not looked at.
    """
    bases = table[:, layout.BASE_OFFSET]
    back = np.flatnonzero(np.diff(bases) <= 0)
    ascending = bases[: int(back[0]) + 1] if len(back) else bases
    later = np.flatnonzero(ascending > from_offset)
    return max(0, (int(later[0]) if len(later) else len(ascending)) - 1)


def stop_index(table: Table, to_offset: int) -> int:
    """The first batch whose base offset is at or above an offset; entries of magic 0 and 1 do not say where they begin."""
    has_base = (table[:, layout.DISPOSITION] == layout.DECODE) | (table[:, layout.FAULT] == layout.BAD_LAST)
    later = np.flatnonzero(
        (table[:, layout.BASE_OFFSET] >= to_offset) & has_base & (table[:, layout.MAGIC] == layout.CURRENT_MAGIC)
    )
    return int(later[0]) if len(later) else len(table)
