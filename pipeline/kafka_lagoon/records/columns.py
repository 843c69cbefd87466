"""A table of batches in; Arrow batches of records, and what became of every offset, out.

Guards one rule: an offset that is passed is counted once, as what it was. A batch that lies costs its own records, never
those of its neighbours: it becomes a problem with its raw bytes, and reading goes on behind it.

Python sees batches, the kernels see records. What Python does for every batch is its checksum and decompression, each about
0.3 us a call; what takes several steps it does only where there are control batches or aborted transactions.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafka_lagoon.errors import RecordsError
from kafka_lagoon.records import arena, layout
from kafka_lagoon.records.batches import Batches, Table
from kafka_lagoon.records.buffers import Buffers, schema_of
from kafka_lagoon.records.codecs import CODEC_NAMES
from kafka_lagoon.records.decoding import Counts, DecodeOptions, Problem
from kafka_lagoon.records.dispositions import Dispositions
from kafka_lagoon.records.kernels import decode_batches
from kafka_lagoon.records.legacy import LegacyRecord, decode_messages
from kafka_lagoon.records.legacy_columns import message_batch

HEADER_KEY_NOT_UTF8 = "HEADER_KEY_NOT_UTF8"
_OFFSETS = schema_of(frozenset({"offset"}))

_WINDOW = 1 << 20  # bytes that are checked, expanded and decoded while they are in the cache
_LARGEST = (1 << 31) - 1  # Arrow's offsets of keys and values are int32
_MIN_ROOM, _USUAL_EXPANSION = 1 << 16, 16
_MIN_SLICE = 4 << 20
_ROW_BYTES, _HEADER_BYTES = 56, 16  # of Arrow for a record without its key, value and headers, and for an empty header

_FAULTS = {
    layout.BAD_HEADER: "a header that contradicts itself",
    layout.BAD_MAGIC: "unknown magic",
    layout.BAD_CHECKSUM: "checksum",
    layout.BAD_COUNT: "more records than bytes, or fewer than none",
    layout.BAD_RECORD: "a record that does not fit its length",
    layout.BAD_ORDER: "offsets that do not ascend, or beyond the batch's last",
    layout.BAD_END: "bytes behind the last record",
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

    `aborted` are producer id and first offset of the aborted transactions that a Fetch answer names. Their records are
    left out if `read_committed`, else flagged; the flag of transactional records from `stable_end` on is null then.
    """
    return Decoding(batches, from_offset, to_offset, aborted, options, None if read_committed else stable_end)


class Decoding:
    """Iterated once, for Arrow batches of at most about `options.expanded_bytes` of plain records each.

    Afterwards it has `counts`, `problems` by offset, `leader_epoch` of the last batch (-1 unknown), and `next_offset`, which
    can be below `batches.next_offset`: at `to_offset`, and behind a corrupt batch where aborted transactions were open, for
    only another Fetch answer can tell which of them still are; and at a corrupt batch whose end only the next one can tell.
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
        self._batches, self._options, self._flags_until = batches, options, flags_until
        self._limit = min(options.batch_limit_bytes, _LARGEST)
        self._schema = schema_of(options.columns)
        self._table = batches.table.copy()
        self._errors: dict[int, RecordsError] = {}
        self._run = np.zeros(layout.RUN_SIZE, np.int64)
        self._run[layout.NEXT_OFFSET] = from_offset
        self._run[layout.TO_OFFSET] = max(from_offset, to_offset)
        self._run[layout.LINES] = batches.count
        self._run[layout.MOST_HEADERS] = self._limit // _HEADER_BYTES
        first_line = _first_line(self._table, from_offset)
        self._dispositions = Dispositions(
            batches,
            self._table,
            from_offset=from_offset,
            first_line=first_line,
            aborted=aborted,
            flags_until=flags_until,
            check_crcs=options.check_crcs,
            expand=self._expand_alone,
        )
        self._has_packed = bool((self._table[:, layout.ATTRIBUTES] & layout.CODEC_BITS).any())
        self._has_messages = bool((self._table[:, layout.DISPOSITION] == layout.LEGACY).any())
        self._line = 0 if aborted else first_line  # markers before it count, too
        self._stop = self._end = max(self._line, _stop_line(self._table, to_offset))
        self._buffers: Buffers | None = None
        self._buffers_line = self._line
        self._arena = arena.take()

    @property
    def next_offset(self) -> int:
        """First offset that is not accounted for."""
        return int(self._run[layout.NEXT_OFFSET])

    @property
    def leader_epoch(self) -> int:
        """Term of the last batch, -1 if it is not known."""
        lines = self._table[: self._stop]
        told = lines[(lines[:, layout.MAGIC] > 1) & (lines[:, layout.DISPOSITION] != layout.UNTRUSTED), layout.EPOCH]
        return int(told[-1]) if len(told) else -1

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        first = self._line
        try:
            for stop in self._windows():
                if self._line < self._stop:
                    yield from self._decode_window(min(stop, self._stop))
            yield from self._flush()
        finally:
            arena.give_back(self._arena)
        self._pass_end()
        self._reconcile(first)

    def _windows(self) -> list[int]:
        """The lines at which windows end."""
        number = self._table[self._line : self._stop, layout.POSITION] // _WINDOW
        return [*(np.flatnonzero(np.diff(number)) + self._line + 1).tolist(), self._stop]

    def _decode_window(self, stop: int) -> Iterator[pa.RecordBatch]:
        decided = self._dispositions.decide(self._line, stop)
        if self._dispositions.is_over:
            self._stop = decided
        if not self._has_messages:
            yield from self._decode_lines(decided)
            return
        is_message = (self._table[self._line : decided, layout.DISPOSITION] == layout.LEGACY).tolist()
        for are_messages, lines in groupby(is_message):
            end = self._line + sum(1 for _ in lines)
            yield from self._decode_messages(end) if are_messages else self._decode_lines(end)

    def _decode_lines(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode lines of the current format, decompressing as much at a time as the arena holds."""
        if self._has_packed:
            lines = self._table[self._line : stop]
            is_packed = (lines[:, layout.ATTRIBUTES] & layout.CODEC_BITS > 0) & (
                lines[:, layout.DISPOSITION] == layout.DECODE
            )
            for line in (np.flatnonzero(is_packed) + self._line).tolist():
                if not self._expand(line):
                    yield from self._run_kernel(line)
                    self._arena.clear()
                    self._expand(line)
        yield from self._run_kernel(stop)
        self._arena.clear()

    def _expand_alone(self, line: int) -> None:
        """Decompress a batch whose records are not needed for long."""
        self._expand(line)
        self._arena.clear()

    def _expand(self, line: int) -> bool:
        """Decompress a batch; False if there is no room for it before others have been decoded."""
        entry = self._table[line]
        codec = int(entry[layout.ATTRIBUTES]) & layout.CODEC_BITS
        start = int(entry[layout.POSITION]) + layout.BATCH_HEADER_SIZE
        source = self._batches.data[start : int(entry[layout.POSITION] + entry[layout.SIZE])]
        try:
            plain = self._arena.expand(codec, source, self._limit)
        except RecordsError as error:
            self._errors[line] = error
            entry[layout.DISPOSITION] = layout.CORRUPT
            return True
        if plain:
            entry[layout.START], entry[layout.END] = plain
        return plain is not None

    def _run_kernel(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode lines whose records are plain, and hand out Arrow batches whenever the buffers are full."""
        while self._line < stop:
            if self._buffers is None:
                if self._is_large(self._line):
                    yield from self._decode_in_slices(self._line)
                    continue
                self._buffers, self._buffers_line = self._allocate(), self._line
            self._line = decode_batches(self._table.ctypes.data, self._line, stop, self._run.ctypes.data)
            if self._line < stop:
                yield from self._flush()

    def _allocate(self) -> Buffers:
        """Buffers for what is left to decode, or for as much of it as may be in one Arrow batch."""
        rest = self._table[self._line : self._stop]
        is_packed = rest[:, layout.ATTRIBUTES] & layout.CODEC_BITS > 0
        expected = int((rest[:, layout.SIZE] * np.where(is_packed, _USUAL_EXPANSION, 1)).sum())
        first = int(rest[0, layout.END] - rest[0, layout.START]) if len(rest) else 0
        size = max(first, min(self._options.expanded_bytes, max(expected, _MIN_ROOM), _LARGEST))
        most = max(_rows_of(rest[0]) if len(rest) else 0, self._slice_bytes // _ROW_BYTES)
        rows = min(int(rest[:, layout.COUNT].clip(0).sum()), size // layout.MIN_RECORD_SIZE + 1, most)
        return Buffers(self._run, self._schema, rows=rows, size=size)

    @property
    def _slice_bytes(self) -> int:
        return max(self._options.expanded_bytes, _MIN_SLICE)

    def _is_large(self, line: int) -> bool:
        """Whether a batch would make an Arrow batch of much more than the usual size, and has several records."""
        entry = self._table[line]
        if entry[layout.DISPOSITION] != layout.DECODE or (rows := _rows_of(entry)) < 2:  # noqa: PLR2004  one cannot be divided
            return False
        return int(entry[layout.END] - entry[layout.START]) + rows * _ROW_BYTES > 2 * self._slice_bytes

    def _decode_in_slices(self, line: int) -> Iterator[pa.RecordBatch]:
        """Decode one batch into several Arrow batches, after it has been read once without keeping more than offsets."""
        entry, to_offset = self._table[line].copy(), int(self._run[layout.TO_OFFSET])
        size, rows = int(entry[layout.END] - entry[layout.START]), _rows_of(entry)
        offsets = self._check_alone(line, rows, size)
        if not len(offsets):
            return
        self._table[line] = entry
        at_once = max(1, min(len(offsets) * self._slice_bytes // (2 * size), self._slice_bytes // _ROW_BYTES))
        ends = [*offsets[at_once::at_once].tolist(), to_offset]
        for end in ends:
            self._run[layout.TO_OFFSET] = end
            self._buffers, self._buffers_line = Buffers(self._run, self._schema, rows=rows, size=size), line
            self._line = decode_batches(self._table.ctypes.data, line, line + 1, self._run.ctypes.data)
            yield from self._flush()
        self._run[layout.DECODED_BYTES] -= size * (len(ends) - 1)

    def _check_alone(self, line: int, rows: int, size: int) -> NDArray[np.int64]:
        """The offsets of a batch's wanted records; none, and the batch is accounted for, if it is corrupt or has none."""
        run = self._run.copy()
        found = Buffers(run, _OFFSETS, rows=rows, size=size)
        decode_batches(self._table.ctypes.data, line, line + 1, run.ctypes.data)
        if self._table[line, layout.DISPOSITION] == layout.DECODE and found.rows:
            return found.offsets().copy()
        self._run[: layout.FILLED_ROWS] = run[: layout.FILLED_ROWS]
        self._line = line + 1
        return np.empty(0, np.int64)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        """Hand out what the buffers hold."""
        buffers, self._buffers = self._buffers, None
        if buffers and buffers.rows:
            for _, offset in buffers.spelled():
                self.problems.append(Problem(base_offset=offset, last_offset=offset, reason=HEADER_KEY_NOT_UTF8))
            yield buffers.arrow_batch(self._table[self._buffers_line : self._line])

    def _decode_messages(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode entries of magic 0 and 1 in Python, in order with the others."""
        yield from self._flush()
        records, size = list[LegacyRecord](), 0
        while self._line < stop:
            records += self._read_entry(self._line)
            size += int(self._table[self._line, layout.END])
            self._line = decode_batches(self._table.ctypes.data, self._line, self._line + 1, self._run.ctypes.data)
            if records and (size >= self._options.expanded_bytes or self._line == stop):
                yield message_batch(records, self._schema)
                records, size = [], 0

    def _read_entry(self, line: int) -> list[LegacyRecord]:
        """The wanted records of an entry, whose own offset is its last record's: where it begins, nothing tells."""
        entry, following = self._table[line], self.next_offset
        start, entry[layout.BASE] = int(entry[layout.POSITION]), following
        try:
            records = decode_messages(self._batches.data, start, start + int(entry[layout.SIZE]), options=self._options)
        except RecordsError as error:
            self._errors[line], entry[layout.DISPOSITION] = error, layout.CORRUPT
            return []
        entry[layout.LAST] = max(int(entry[layout.LAST]), records[-1].offset)
        kept = [record for record in records if following <= record.offset < self._run[layout.TO_OFFSET]]
        entry[layout.ROWS] = len(kept)
        entry[layout.END] = sum(len(record.key or b"") + len(record.value or b"") for record in records)
        return kept

    def _pass_end(self) -> None:
        """If a batch behind the end was seen, there is nothing between it and the last one."""
        if self._stop == self._end < self._batches.count and self._dispositions.is_sound(self._end):
            left = int(self._run[layout.TO_OFFSET] - self._run[layout.NEXT_OFFSET])
            self._run[layout.COMPACTEDS] += left
            self._run[layout.NEXT_OFFSET] += left

    def _reconcile(self, first: int) -> None:
        """Make counts and problems of what the kernels noted."""
        run, lines = self._run.tolist(), self._table[first : self._stop]
        self.counts = Counts(
            records=run[layout.RECORDS],
            control=run[layout.CONTROLS],
            aborted=run[layout.ABORTEDS],
            compacted=run[layout.COMPACTEDS],
            corrupt=run[layout.CORRUPTS],
            bytes_fetched=int(lines[:, layout.SIZE].sum()),
            bytes_decoded=run[layout.DECODED_BYTES],
            codecs={name for codec, name in CODEC_NAMES.items() if run[layout.CODECS] >> codec & 1},
        )
        if run[layout.FAULTS]:
            is_faulty = np.isin(lines[:, layout.DISPOSITION], (layout.CORRUPT, layout.UNTRUSTED))
            told = np.flatnonzero(is_faulty & (lines[:, layout.TO] > lines[:, layout.FROM])) + first
            self.problems += map(self._problem, told.tolist())
        self.problems.sort(key=lambda problem: problem.base_offset)

    def _problem(self, line: int) -> Problem:
        entry = self._table[line]
        start = int(entry[layout.POSITION])
        stop = start + min(int(entry[layout.SIZE]), self._options.raw_limit_bytes)
        error = self._errors.get(line)
        return Problem(
            base_offset=int(entry[layout.FROM]),
            last_offset=int(entry[layout.TO]) - 1,
            reason=_REASONS[type(error).__name__] if error else _reason(int(entry[layout.FAULT])),
            detail=str(error) if error else _FAULTS[int(entry[layout.FAULT])],
            raw=bytes(self._batches.data[start:stop]),
        )


def _reason(fault: int) -> str:
    kinds = {layout.BAD_MAGIC: "UnsupportedMagic", layout.TOO_MANY_HEADERS: "ExpandedTooLarge"}
    return _REASONS[kinds.get(fault, "CorruptBatch")]


def _rows_of(entry: NDArray[np.int64]) -> int:
    """How many records a batch can have at most."""
    size, count = int(entry[layout.END] - entry[layout.START]), int(entry[layout.COUNT])
    return max(0, min(count, size // layout.MIN_RECORD_SIZE))


def _first_line(table: Table, from_offset: int) -> int:
    """The last line that begins at or before an offset. Where lines end is not asked: corrupt ones lie.

    No checksum covers where a line begins either, so lines behind one that goes back are not looked at.
    """
    bases = table[:, layout.BASE]
    back = np.flatnonzero(np.diff(bases) < 0)
    ascending = bases[: int(back[0]) + 1] if len(back) else bases
    behind = np.flatnonzero(ascending > from_offset)
    return max(0, (int(behind[0]) if len(behind) else len(ascending)) - 1)


def _stop_line(table: Table, to_offset: int) -> int:
    """The first line that begins at or behind an offset; entries of magic 0 and 1 tell where they end."""
    tells = (table[:, layout.DISPOSITION] == layout.DECODE) | (table[:, layout.FAULT] == layout.BAD_LAST)
    behind = np.flatnonzero(
        (table[:, layout.BASE] >= to_offset) & tells & (table[:, layout.MAGIC] == layout.CURRENT_MAGIC)
    )
    return int(behind[0]) if len(behind) else len(table)
