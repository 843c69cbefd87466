"""Lines of a table of batches in; what becomes of each batch, before anybody looks at its records, out.

Guards one rule: a header is believed only if the checksum is right, and what only another batch could tell is not guessed.
"""

from collections.abc import Callable, Sequence

import numpy as np
from crc32c import crc32c

from kafka_lagoon.records import kernels, layout
from kafka_lagoon.records.batches import Batches, Table
from kafka_lagoon.records.transactions import AbortedTransactions

_COVERED_BY_CRC = 21  # and what is behind it: neither offset nor leader epoch are
_TOLD = [layout.DISPOSITION, layout.LAST, layout.PRODUCER, layout.ATTRIBUTES, layout.MARKER]


class Dispositions:
    """Decides for one answer, window by window and in order.

    `first_line` is the one that holds `from_offset`. `aborted` are the answer's aborted transactions; their batches are left
    out, or flagged if `flags_until` is an offset, from which on the flag of transactional batches is null. `expand`
    decompresses the records of a line. `is_over` is set where reading must end, short of what there is.
    """

    def __init__(
        self,
        batches: Batches,
        table: Table,
        *,
        from_offset: int,
        first_line: int,
        aborted: Sequence[tuple[int, int]],
        flags_until: int | None,
        check_crcs: bool,
        expand: Callable[[int], object],
    ) -> None:
        self._data, self._table, self._from_offset = batches.data, table, from_offset
        self._first_line = first_line
        self._transactions = AbortedTransactions(aborted) if aborted else None
        self._flags_until, self._expand = flags_until, expand
        attributes, is_readable = table[:, layout.ATTRIBUTES], table[:, layout.DISPOSITION] == layout.DECODE
        self._has_controls = bool((attributes & layout.CONTROL_BIT).any())
        self._has_transactions = bool((attributes & layout.TRANSACTION_BIT).any())
        self.is_over = False
        self._is_all_readable = self._is_all_trusted = bool(is_readable.all())
        self._is_last_bounded = len(table) > 0 and table[-1, layout.FAULT] == layout.BAD_LAST
        self._check_crcs = check_crcs
        self._starts = (table[:, layout.POSITION] + _COVERED_BY_CRC).tolist()
        self._ends = (table[:, layout.POSITION] + table[:, layout.SIZE]).tolist()
        self._crcs = table[:, layout.CRC].tolist()

    def decide(self, line: int, stop: int) -> int:
        """Decide on lines; `stop`, or where reading must end for good: then `is_over`."""
        if self._check_crcs:
            self._check(line, stop)
        if self._has_controls:
            self._read_markers(line, stop)
        if not self._is_all_trusted and not self._is_last_bounded:
            stop = self._before_doubtful(line, stop)
        if self._transactions:
            stop = self._follow(self._transactions, line, stop)
        if self._flags_until is not None and self._has_transactions:
            self._flag_open(line, stop, self._flags_until)
        return stop

    def is_sound(self, line: int) -> bool:
        """Whether a batch's checksum is right, or nobody asks."""
        return not self._check_crcs or crc32c(self._data[self._starts[line] : self._ends[line]]) == self._crcs[line]

    def _check(self, line: int, stop: int) -> None:
        data, starts, ends = self._data, self._starts[line:stop], self._ends[line:stop]
        if self._is_all_readable:
            found = [crc32c(data[start:end]) for start, end in zip(starts, ends, strict=True)]
            if found == self._crcs[line:stop]:
                return
        for bad in range(line, stop):
            disposition, fault = self._table[bad, [layout.DISPOSITION, layout.FAULT]].tolist()
            is_asked = disposition == layout.DECODE or (disposition == layout.UNTRUSTED and fault == layout.BAD_LAST)
            if is_asked and not self.is_sound(bad):
                self._table[bad, layout.DISPOSITION], self._table[bad, layout.FAULT] = (
                    layout.UNTRUSTED,
                    layout.BAD_CHECKSUM,
                )
                self._is_all_trusted = False

    def _read_markers(self, line: int, stop: int) -> None:
        """Tell control batches from others. Compressed ones are legal, though nobody is known to write them."""
        attributes, dispositions = self._table[line:stop, layout.ATTRIBUTES], self._table[line:stop, layout.DISPOSITION]
        is_packed = (attributes & layout.CONTROL_BIT > 0) & (attributes & layout.CODEC_BITS > 0)
        for packed in (np.flatnonzero(is_packed & (dispositions == layout.DECODE)) + line).tolist():
            self._expand(packed)
            kernels.read_markers(self._table.ctypes.data, packed, packed + 1)
        kernels.read_markers(self._table.ctypes.data, line, stop)

    def _before_doubtful(self, line: int, stop: int) -> int:
        """The last line, if it is not trusted and something before it was read, is better asked for again.

        Then the batch behind it tells where it ends.
        """
        last = stop - 1
        if (
            stop < len(self._table)
            or last < line
            or self._table[last, layout.DISPOSITION] != layout.UNTRUSTED
            or last == 0
        ):
            return stop
        base, end = self._table[last, [layout.BASE, layout.LAST]].tolist()
        before, count = int(self._table[last - 1, layout.LAST]), int(self._table[last, layout.COUNT])
        is_plausible = base <= before + 1 and end - base + 1 == count
        if is_plausible or before < self._from_offset:
            return stop
        self.is_over = True
        return last

    def _follow(self, transactions: AbortedTransactions, line: int, stop: int) -> int:
        """Find the batches of aborted transactions; stop behind a batch that may have been the marker of an open one."""
        told = self._table[line:stop, _TOLD].tolist()
        for at, (disposition, last, producer, attributes, marker) in enumerate(told, line):
            if disposition == layout.CONTROL:
                transactions.mark(producer, last, marker)
            elif (
                disposition in (layout.UNTRUSTED, layout.CORRUPT)
                and transactions.may_be_open
                and at >= self._first_line
            ):
                self.is_over = True
                return at + 1
            elif (
                disposition == layout.DECODE
                and attributes & layout.TRANSACTION_BIT
                and transactions.holds(producer, last)
            ):
                column, value = (
                    (layout.DISPOSITION, layout.ABORTED) if self._flags_until is None else (layout.IS_ABORTED, 1)
                )
                self._table[at, column] = value
        return stop

    def _flag_open(self, line: int, stop: int, until: int) -> None:
        lines = self._table[line:stop]
        is_open = (lines[:, layout.ATTRIBUTES] & layout.TRANSACTION_BIT > 0) & (lines[:, layout.BASE] >= until)
        lines[is_open, layout.IS_ABORTED] = -1
