"""Decides which batches are decoded, left out or refused, before anything looks at their records.

A header is believed only if the checksum is right, and nothing is assumed that only another batch could prove.
"""

from collections.abc import Callable, Sequence

import numpy as np
from crc32c import crc32c

from kafka_lagoon.records import kernels, layout
from kafka_lagoon.records.batches import Batches, Table
from kafka_lagoon.records.transactions import AbortedTransactions

COVERED_BY_CRC = 21  # and all bytes after it; base offset and leader epoch are not covered
_READ = [layout.DISPOSITION, layout.LAST_OFFSET, layout.PRODUCER_ID, layout.ATTRIBUTES, layout.MARKER]


class Dispositions:
    """Decides for one Fetch response, window by window and in order.

    `aborted` are the response's aborted transactions; their batches are left out, or flagged if `flags_until` is an offset,
    from which on the flag of transactional batches is null. `is_over` is set if decoding must end before the last batch.
    """

    def __init__(
        self,
        batches: Batches,
        table: Table,
        *,
        from_offset: int,
        aborted: Sequence[tuple[int, int]],
        flags_until: int | None,
        check_crcs: bool,
    ) -> None:
        self._data, self._table, self._from_offset = batches.data, table, from_offset
        self._transactions = AbortedTransactions(aborted) if aborted else None
        self._flags_until = flags_until
        attributes, is_readable = table[:, layout.ATTRIBUTES], table[:, layout.DISPOSITION] == layout.DECODE
        self._has_controls = bool((attributes & layout.CONTROL_BIT).any())
        self._has_transactions = bool((attributes & layout.TRANSACTION_BIT).any())
        self.is_over = False
        self._is_all_readable = self._is_all_trusted = bool(is_readable.all())
        self._is_last_bounded = len(table) > 0 and table[-1, layout.FAULT] == layout.BAD_LAST
        self._check_crcs = check_crcs
        self._starts = (table[:, layout.POSITION] + COVERED_BY_CRC).tolist()
        self._ends = (table[:, layout.POSITION] + table[:, layout.SIZE]).tolist()
        self._crcs = table[:, layout.CRC].tolist()

    def decide(self, index: int, stop: int, expand: Callable[[int], object]) -> int:
        """Decide on batches; returns `stop`, or, with `is_over` set, the index at which decoding must end.

        `expand` decompresses the records of a batch. It is not kept: its owner refers to this object, and a reference cycle
        would hold the whole Fetch response until the garbage collector runs.
        """
        if self._check_crcs:
            self._check(index, stop)
        if self._has_controls:
            self._read_markers(index, stop, expand)
        if not self._is_all_trusted and not self._is_last_bounded:
            stop = self._before_untrusted(index, stop)
        if self._transactions:
            stop = self._follow(self._transactions, index, stop)
        if self._flags_until is not None and self._has_transactions:
            self._flag_open(index, stop, self._flags_until)
        return stop

    def is_sound(self, index: int) -> bool:
        """True if a batch's checksum is right, or checksums are not verified."""
        return not self._check_crcs or crc32c(self._data[self._starts[index] : self._ends[index]]) == self._crcs[index]

    def _check(self, index: int, stop: int) -> None:
        data, starts, ends = self._data, self._starts[index:stop], self._ends[index:stop]
        if self._is_all_readable:
            computed = [crc32c(data[start:end]) for start, end in zip(starts, ends, strict=True)]
            if computed == self._crcs[index:stop]:
                return
        for bad in range(index, stop):
            disposition, fault = self._table[bad, [layout.DISPOSITION, layout.FAULT]].tolist()
            is_covered = disposition == layout.DECODE or (disposition == layout.UNTRUSTED and fault == layout.BAD_LAST)
            if is_covered and not self.is_sound(bad):
                self._table[bad, layout.DISPOSITION], self._table[bad, layout.FAULT] = (
                    layout.UNTRUSTED,
                    layout.BAD_CHECKSUM,
                )
                self._is_all_trusted = False

    def _read_markers(self, index: int, stop: int, expand: Callable[[int], object]) -> None:
        """Read the markers of control batches. Compressed ones are legal, though no writer of them is known."""
        attributes, dispositions = (
            self._table[index:stop, layout.ATTRIBUTES],
            self._table[index:stop, layout.DISPOSITION],
        )
        is_packed = (attributes & layout.CONTROL_BIT > 0) & (attributes & layout.CODEC_BITS > 0)
        for packed in (np.flatnonzero(is_packed & (dispositions == layout.DECODE)) + index).tolist():
            expand(packed)
            kernels.read_markers(self._table.ctypes.data, packed, packed + 1)
        kernels.read_markers(self._table.ctypes.data, index, stop)

    def _before_untrusted(self, index: int, stop: int) -> int:
        """Leave an untrusted last batch for the next Fetch response, where the batch after it says where it ends.

        Only if something before it was read, so that there is progress.
        """
        last = stop - 1
        if (
            stop < len(self._table)
            or last < index
            or self._table[last, layout.DISPOSITION] != layout.UNTRUSTED
            or last == 0
        ):
            return stop
        base, end = self._table[last, [layout.BASE_OFFSET, layout.LAST_OFFSET]].tolist()
        before, count = int(self._table[last - 1, layout.LAST_OFFSET]), int(self._table[last, layout.COUNT])
        is_plausible = base <= before + 1 and end - base + 1 == count
        if is_plausible or before < self._from_offset:
            return stop
        self.is_over = True
        return last

    def _follow(self, transactions: AbortedTransactions, index: int, stop: int) -> int:
        """Find the batches of aborted transactions; stop after a batch that may have been the marker of an open one."""
        values = self._table[index:stop, _READ].tolist()
        for current, (disposition, last, producer, attributes, marker) in enumerate(values, index):
            if disposition == layout.CONTROL:
                transactions.end(producer, last, marker)
            elif (
                disposition in (layout.UNTRUSTED, layout.CORRUPT)
                and transactions.may_be_open_at(last)
                and self._may_have_wanted(current)
            ):
                self.is_over = True
                return current + 1
            elif (
                disposition == layout.DECODE
                and attributes & layout.TRANSACTION_BIT
                and transactions.holds(producer, last)
            ):
                column, value = (
                    (layout.DISPOSITION, layout.ABORTED) if self._flags_until is None else (layout.IS_ABORTED, 1)
                )
                self._table[current, column] = value
        return stop

    def _may_have_wanted(self, index: int) -> bool:
        """True if the next batch does not show that the offsets of a batch are all before the range: else reading goes on."""
        following = index + 1
        return following == len(self._table) or bool(self._table[following, layout.BASE_OFFSET] > self._from_offset)

    def _flag_open(self, index: int, stop: int, until: int) -> None:
        entries = self._table[index:stop]
        is_open = (entries[:, layout.ATTRIBUTES] & layout.TRANSACTION_BIT > 0) & (
            entries[:, layout.BASE_OFFSET] >= until
        )
        entries[is_open, layout.IS_ABORTED] = -1


def count_whole(entries: Table, state: Table) -> None:
    """Take the number of records from the headers of batches that are wanted whole.

    A header that contradicts itself or the batches before it is not believed: its records are read, and say what is wrong.
    """
    bases, lasts, counts = (entries[:, column] for column in (layout.BASE_OFFSET, layout.LAST_OFFSET, layout.COUNT))
    before = np.maximum.accumulate(np.concatenate(([state[layout.NEXT_OFFSET] - 1], lasts)))[:-1]
    is_whole = (entries[:, layout.DISPOSITION] == layout.DECODE) & (bases > before) & (lasts < state[layout.TO_OFFSET])
    is_whole &= (counts >= 0) & (counts <= lasts - bases + 1)
    entries[is_whole, layout.DISPOSITION] = layout.COUNTED
    entries[is_whole, layout.ROWS] = counts[is_whole]
