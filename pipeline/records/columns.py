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
from crc32c import crc32c
from numpy.typing import NDArray

from pipeline.errors import RecordsError
from pipeline.records import arena, scan
from pipeline.records.batches import Batches, Table
from pipeline.records.buffers import Buffers, schema_of
from pipeline.records.codecs import CODEC_NAMES
from pipeline.records.decoding import Counts, DecodeOptions, Problem
from pipeline.records.legacy import LegacyRecord, decode_messages
from pipeline.records.messages import message_batch
from pipeline.records.transactions import AbortedTransactions

HEADER_KEY_NOT_UTF8 = "HEADER_KEY_NOT_UTF8"

_WINDOW = 1 << 19  # bytes that are checked, expanded and decoded while they are in the cache
_LARGEST = (1 << 31) - 1  # Arrow's offsets of keys and values are int32
_MIN_ROOM, _USUAL_EXPANSION = 1 << 16, 16
_COVERED_BY_CRC = 21
_TOLD = [scan.FATE, scan.LAST, scan.PRODUCER, scan.ATTRIBUTES, scan.MARKER]

_FAULTS = {
    scan.BAD_HEADER: "a header that contradicts itself",
    scan.BAD_MAGIC: "unknown magic",
    scan.BAD_CHECKSUM: "checksum",
    scan.BAD_COUNT: "more records than bytes, or fewer than none",
    scan.BAD_RECORD: "a record that does not fit its length",
    scan.BAD_ORDER: "offsets that do not ascend, or beyond the batch's last",
    scan.BAD_END: "bytes behind the last record",
    scan.BAD_CONTROL: "a control record without a version and a type",
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
        self._transactions = AbortedTransactions(aborted) if aborted else None
        self._limit = min(options.batch_limit_bytes, _LARGEST)
        self._schema = schema_of(options.columns)
        self._table = batches.table.copy()
        self._errors: dict[int, RecordsError] = {}
        self._from = from_offset
        self._run = np.zeros(scan.RUN_SIZE, np.int64)
        self._run[scan.NEXT_OFFSET] = from_offset
        self._run[scan.TO_OFFSET] = max(from_offset, to_offset)
        self._run[scan.LINES] = batches.count
        self._line = 0 if aborted else _first_line(self._table, from_offset)
        self._stop = self._end = _stop_line(self._table, to_offset)
        self._buffers: Buffers | None = None
        self._buffers_line = self._line
        self._arena = arena.take()

    @property
    def next_offset(self) -> int:
        """First offset that is not accounted for."""
        return int(self._run[scan.NEXT_OFFSET])

    @property
    def leader_epoch(self) -> int:
        """Term of the last batch, -1 if it is not known."""
        lines = self._table[: self._stop]
        told = lines[(lines[:, scan.MAGIC] > 1) & (lines[:, scan.FATE] != scan.UNTRUSTED), scan.EPOCH]
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
        self._settle(first)

    def _windows(self) -> list[int]:
        """The lines at which windows end."""
        number = self._table[self._line : self._stop, scan.POSITION] // _WINDOW
        return [*(np.flatnonzero(np.diff(number)) + self._line + 1).tolist(), self._stop]

    def _decode_window(self, stop: int) -> Iterator[pa.RecordBatch]:
        if self._options.check_crcs:
            self._check(stop)
        stop = min(stop, self._stop)
        self._find_fates(stop)
        stop = min(stop, self._stop)
        is_legacy = (self._table[self._line : stop, scan.FATE] == scan.LEGACY).tolist()
        if not any(is_legacy):
            yield from self._decode_lines(stop)
            return
        for legacy, lines in groupby(is_legacy):
            end = self._line + sum(1 for _ in lines)
            yield from self._decode_legacy(end) if legacy else self._decode_lines(end)

    # What becomes of batches.

    def _check(self, stop: int) -> None:
        """Compare checksums. What is said in a batch whose own does not match is not trusted."""
        lines = self._lines(stop, scan.DECODE)
        starts = self._table[lines, scan.POSITION] + _COVERED_BY_CRC
        ends = self._table[lines, scan.POSITION] + self._table[lines, scan.SIZE]
        data = self._batches.data
        found = [crc32c(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        told = self._table[lines, scan.CRC]
        for line in lines[told != np.array(found, np.int64)].tolist() if found != told.tolist() else ():
            self._table[line, scan.FATE], self._table[line, scan.FAULT] = scan.UNTRUSTED, scan.BAD_CHECKSUM

    def _find_fates(self, stop: int) -> None:
        """Tell control batches and those of aborted transactions from others."""
        attributes = self._table[self._line : stop, scan.ATTRIBUTES]
        if (attributes & scan.CONTROL_BIT).any():
            self._expand_controls(stop)
            scan.read_markers(self._table.ctypes.data, self._line, stop)
        for line in np.flatnonzero(self._table[self._line : stop, scan.FATE] == scan.UNTRUSTED).tolist():
            if self._line + line + 1 == self._batches.count and not self._is_plausible(self._line + line):
                stop = self._stop = self._line + line
        if self._transactions:
            self._follow(self._transactions, stop)
        if self._flags_until is not None:
            lines = self._table[self._line : stop]
            is_open = (attributes[: len(lines)] & scan.TRANSACTION_BIT > 0) & (lines[:, scan.BASE] >= self._flags_until)
            lines[is_open, scan.IS_ABORTED] = -1

    def _is_plausible(self, line: int) -> bool:
        """Whether a batch whose checksum is wrong can be believed where it ends, for there is no next one that tells."""
        before, last = self._table[line - 1, scan.LAST], self._table[line, scan.LAST]
        if line == 0 or before < self._from:
            return True  # there is nothing else to go by, and reading must go on
        base, count = self._table[line, scan.BASE], self._table[line, scan.COUNT]
        return bool(base <= before + 1 and last - base + 1 == count)

    def _expand_controls(self, stop: int) -> None:
        """Decompress control batches, which nobody is known to compress; their addresses are not needed for long."""
        for line in self._lines(stop, scan.DECODE).tolist():
            attributes = int(self._table[line, scan.ATTRIBUTES])
            if attributes & scan.CONTROL_BIT and attributes & scan.CODEC_BITS:
                self._expand(line)
                scan.read_markers(self._table.ctypes.data, line, line + 1)
                self._arena.clear()

    def _follow(self, transactions: AbortedTransactions, stop: int) -> None:
        """Find the batches of aborted transactions; stop behind a batch that may have been the marker of an open one."""
        told = self._table[self._line : stop, _TOLD].tolist()
        for line, (fate, last, producer, attributes, marker) in enumerate(told, self._line):
            if fate == scan.CONTROL:
                transactions.mark(producer, last, marker)
            elif fate != scan.DECODE:
                if transactions.may_be_open and fate in (scan.UNTRUSTED, scan.CORRUPT):
                    self._stop = line + 1
                    return
            elif attributes & scan.TRANSACTION_BIT and transactions.holds(producer, last):
                if self._flags_until is None:
                    self._table[line, scan.FATE] = scan.ABORTED
                else:
                    self._table[line, scan.IS_ABORTED] = 1

    # Records.

    def _decode_lines(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode lines of the current format, decompressing as much at a time as the arena holds."""
        is_packed = (self._table[self._line : stop, scan.ATTRIBUTES] & scan.CODEC_BITS) > 0
        is_decoded = self._table[self._line : stop, scan.FATE] == scan.DECODE
        for line in (np.flatnonzero(is_packed & is_decoded) + self._line).tolist():
            if not self._expand(line):
                yield from self._run_kernel(line)
                self._arena.clear()
                self._expand(line)
        yield from self._run_kernel(stop)
        self._arena.clear()

    def _expand(self, line: int) -> bool:
        """Decompress a batch; False if there is no room for it before others have been decoded."""
        entry = self._table[line]
        codec = int(entry[scan.ATTRIBUTES]) & scan.CODEC_BITS
        start = int(entry[scan.POSITION]) + scan.BATCH_HEADER_SIZE
        source = self._batches.data[start : int(entry[scan.POSITION] + entry[scan.SIZE])]
        try:
            plain = self._arena.expand(codec, source, self._limit)
        except RecordsError as error:
            self._errors[line] = error
            entry[scan.FATE] = scan.CORRUPT
            return True
        if plain:
            entry[scan.START], entry[scan.END] = plain
        return plain is not None

    def _run_kernel(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode lines whose records are plain, and hand out Arrow batches whenever the buffers are full."""
        while self._line < stop:
            if self._buffers is None:
                self._buffers, self._buffers_line = self._allocate(), self._line
            self._line = scan.decode_batches(self._table.ctypes.data, self._line, stop, self._run.ctypes.data)
            if self._line < stop:
                yield from self._flush()

    def _allocate(self) -> Buffers:
        """Buffers for what is left to decode, or for as much of it as may be in one Arrow batch."""
        rest = self._table[self._line : self._stop]
        is_packed = rest[:, scan.ATTRIBUTES] & scan.CODEC_BITS > 0
        expected = int((rest[:, scan.SIZE] * np.where(is_packed, _USUAL_EXPANSION, 1)).sum())
        first = int(rest[0, scan.END] - rest[0, scan.START]) if len(rest) else 0
        size = max(first, min(self._options.expanded_bytes, max(expected, _MIN_ROOM), _LARGEST))
        rows = min(int(rest[:, scan.COUNT].clip(0).sum()), size // scan.MIN_RECORD_SIZE + 1)
        return Buffers(self._run, self._schema, rows=rows, size=size)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        """Hand out what the buffers hold."""
        buffers, self._buffers = self._buffers, None
        if buffers and buffers.rows:
            for _, offset in buffers.spelled():
                self.problems.append(Problem(base_offset=offset, last_offset=offset, reason=HEADER_KEY_NOT_UTF8))
            yield buffers.arrow_batch(self._table[self._buffers_line : self._line])

    def _decode_legacy(self, stop: int) -> Iterator[pa.RecordBatch]:
        """Decode entries of magic 0 and 1 in Python, in order with the others."""
        yield from self._flush()
        records, size = list[LegacyRecord](), 0
        while self._line < stop:
            records += self._read_entry(self._line)
            size += int(self._table[self._line, scan.END])
            self._line = scan.decode_batches(self._table.ctypes.data, self._line, self._line + 1, self._run.ctypes.data)
            if records and (size >= self._options.expanded_bytes or self._line == stop):
                yield message_batch(records, self._schema)
                records, size = [], 0

    def _read_entry(self, line: int) -> list[LegacyRecord]:
        """The wanted records of an entry, whose own offset is its last record's: where it begins, nothing tells."""
        entry, following = self._table[line], self.next_offset
        start, entry[scan.BASE] = int(entry[scan.POSITION]), following
        try:
            records = decode_messages(self._batches.data, start, start + int(entry[scan.SIZE]), options=self._options)
        except RecordsError as error:
            self._errors[line], entry[scan.FATE] = error, scan.CORRUPT
            return []
        entry[scan.LAST] = max(int(entry[scan.LAST]), records[-1].offset)
        kept = [record for record in records if following <= record.offset < self._run[scan.TO_OFFSET]]
        entry[scan.ROWS] = len(kept)
        entry[scan.END] = sum(len(record.key or b"") + len(record.value or b"") for record in records)
        return kept

    def _lines(self, stop: int, fate: int) -> NDArray[np.int64]:
        """The lines up to `stop` that have a fate."""
        return np.flatnonzero(self._table[self._line : stop, scan.FATE] == fate) + self._line

    # What came of it.

    def _pass_end(self) -> None:
        """If a batch behind the end was seen, there is nothing between it and the last one."""
        if self._stop == self._end < self._batches.count and self._is_sound(self._end):
            left = int(self._run[scan.TO_OFFSET] - self._run[scan.NEXT_OFFSET])
            self._run[scan.COMPACTEDS] += left
            self._run[scan.NEXT_OFFSET] += left

    def _is_sound(self, line: int) -> bool:
        start, size = self._table[line, [scan.POSITION, scan.SIZE]].tolist()
        return crc32c(self._batches.data[start + _COVERED_BY_CRC : start + size]) == self._table[line, scan.CRC]

    def _settle(self, first: int) -> None:
        """Make counts and problems of what the kernels noted."""
        run, lines = self._run.tolist(), self._table[first : self._stop]
        self.counts = Counts(
            records=run[scan.RECORDS],
            control=run[scan.CONTROLS],
            aborted=run[scan.ABORTEDS],
            compacted=run[scan.COMPACTEDS],
            corrupt=run[scan.CORRUPTS],
            bytes_fetched=int(lines[:, scan.SIZE].sum()),
            bytes_decoded=run[scan.DECODED_BYTES],
            codecs={name for codec, name in CODEC_NAMES.items() if run[scan.CODECS] >> codec & 1},
        )
        if run[scan.FAULTS]:
            is_faulty = np.isin(lines[:, scan.FATE], (scan.CORRUPT, scan.UNTRUSTED))
            told = np.flatnonzero(is_faulty & (lines[:, scan.TO] > lines[:, scan.FROM])) + first
            self.problems += map(self._problem, told.tolist())
        self.problems.sort(key=lambda problem: problem.base_offset)

    def _problem(self, line: int) -> Problem:
        entry = self._table[line]
        start = int(entry[scan.POSITION])
        stop = start + min(int(entry[scan.SIZE]), self._options.raw_limit_bytes)
        error = self._errors.get(line)
        return Problem(
            base_offset=int(entry[scan.FROM]),
            last_offset=int(entry[scan.TO]) - 1,
            reason=_REASONS[type(error).__name__] if error else _reason(int(entry[scan.FAULT])),
            detail=str(error) if error else _FAULTS[int(entry[scan.FAULT])],
            raw=bytes(self._batches.data[start:stop]),
        )


def _reason(fault: int) -> str:
    return _REASONS["UnsupportedMagic" if fault == scan.BAD_MAGIC else "CorruptBatch"]


def _first_line(table: Table, from_offset: int) -> int:
    """The last line that begins at or before an offset. Where lines end is not asked: corrupt ones lie."""
    behind = np.flatnonzero(table[:, scan.BASE] > from_offset)
    return max(0, (int(behind[0]) if len(behind) else len(table)) - 1)


def _stop_line(table: Table, to_offset: int) -> int:
    """The first line that begins at or behind an offset; entries of magic 0 and 1 tell where they end."""
    behind = np.flatnonzero((table[:, scan.BASE] >= to_offset) & (table[:, scan.FATE] == scan.DECODE))
    return int(behind[0]) if len(behind) else len(table)
