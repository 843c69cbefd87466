"""Compares two logs record by record, in bounded memory: how much is equal and in order, and the gaps where they differ.

While both sides are equal, chunks are compared as they come. Where they differ, as many records are kept of each as it takes
to find the next ones that both have.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.compare.alignment import Block, align, equal_prefix
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.digests import Hashes

_FIRST_WINDOW, _GROWTH = 256, 4
_ENOUGH = 8  # equal records in a window after which both sides are aligned again
Report = Callable[[int], None]  # called with the number of compared records
NOTHING_IN_COMMON, TOO_DIFFERENT = "NOTHING_IN_COMMON", "TOO_MANY_DIFFERENCES"


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of one side: offsets, hashes, and hashes of their keys."""

    offsets: NDArray[np.int64]
    hashes: Hashes
    keys: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, start: int, end: int) -> "Records":
        """A copy of a range, so that the rest need not be kept."""
        return Records(self.offsets[start:end].copy(), self.hashes[start:end].copy(), self.keys[start:end].copy())


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """The records of both sides between equal records.

    `left_at` and `right_at` are the offsets after the equal record before the gap, `left_end` and `right_end` those of the
    equal record after it; None if there is none.
    """

    left: Records
    right: Records
    left_at: int | None
    right_at: int | None
    left_end: int | None = None
    right_end: int | None = None


@dataclass(slots=True)
class Compared:
    """The result of a comparison in order: the number of equal records, and the gaps.

    `gave_up` says why the rest was not compared: NOTHING_IN_COMMON in the next records, or TOO_MANY_DIFFERENCES.
    """

    equal: int = 0
    gaps: list[Gap] = field(default_factory=list)
    gave_up: str | None = None


@frozen
class CompareLimits:
    """Limits of what a comparison keeps in memory, in records of about 50 bytes."""

    window: int = 1 << 20  # of each side, while equal records are searched
    different: int = 1 << 20  # in all gaps


def joined(parts: Iterable[Records]) -> Records:
    """Concatenate records."""
    columns = zip(_NOTHING, *((part.offsets, part.hashes, part.keys) for part in parts), strict=True)
    offsets, hashes, keys = (np.concatenate(column) for column in columns)
    return Records(offsets, hashes, keys)


_NOTHING = (np.empty(0, np.int64), np.empty((0, 2), np.uint64), np.empty(0, np.uint64))


class _Side:
    """One side: the rest of a chunk, or the records that were kept where the sides differ."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks: Iterator[Chunk] = iter(chunks)
        self._kept: Records | Chunk = joined([])
        self._start = 0
        self.at: int | None = None  # offset after the last equal record

    def hashes(self) -> Hashes:
        """The hashes left of a chunk; none at the end."""
        while self._start == len(self._kept.offsets):
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._kept, self._start = chunk, 0
        return self._kept.hashes[self._start :]

    def next_offset(self) -> int:
        """The offset of the next record, which exists."""
        return int(self._kept.offsets[self._start])

    def pass_equal(self, count: int) -> None:
        """Continue after records that are equal on both sides."""
        if count:
            self.at = int(self._kept.offsets[self._start + count - 1]) + 1
            self._start += count

    def pass_different(self, count: int) -> None:
        """Continue after records that differ."""
        self._start += count

    def window(self, size: int) -> Records:
        """At least the next `size` records, fewer at the end of the side; they are kept and not passed.

        Their columns are released, which would keep the memory of the answers that they came in.
        """
        parts, count = list[Records](), 0
        while count < size and len(hashes := self.hashes()):
            kept = self._kept
            keys = kept.keys if isinstance(kept, Records) else kept.keys()
            parts.append(Records(kept.offsets[self._start :], hashes, keys[self._start :]))
            count += len(hashes)
            self._start = len(kept.offsets)
        self._kept, self._start = joined(parts), 0
        return self._kept


def compare_sequences(
    left: Iterable[Chunk],
    right: Iterable[Chunk],
    limits: CompareLimits | None = None,
    report: Report = lambda _: None,
) -> Compared:
    """Compare both sides to their ends; `report` is called with the number of equal records that were passed."""
    return _Comparison(_Side(left), _Side(right), limits or CompareLimits(), report).run()


class _Comparison:
    """The state of a comparison."""

    def __init__(self, left: _Side, right: _Side, limits: CompareLimits, report: Report) -> None:
        self._left, self._right, self._limits, self._report = left, right, limits, report
        self._compared = Compared()
        self._different = 0
        self._gap_is_open = False  # nothing was equal since the last gap

    def run(self) -> Compared:
        """Compare until both sides have ended, or the comparison is given up."""
        while self._compared.gave_up is None:
            left, right = self._left.hashes(), self._right.hashes()
            if not len(left) and not len(right):
                break
            equal = equal_prefix(left, right)
            self._pass_equal(equal)
            if equal < max(1, min(len(left), len(right))):
                self._search()
        return self._compared

    def _pass_equal(self, count: int) -> None:
        if count:
            if self._gap_is_open:
                left_end, right_end = self._left.next_offset(), self._right.next_offset()
                self._compared.gaps[-1] = replace(self._compared.gaps[-1], left_end=left_end, right_end=right_end)
            self._left.pass_equal(count)
            self._right.pass_equal(count)
            self._compared.equal += count
            self._gap_is_open = False
            self._report(count)

    def _search(self) -> None:
        """Find the next equal records in growing windows, and keep the records before them."""
        size = min(_FIRST_WINDOW, self._limits.window)
        while True:
            left, right = self._left.window(size), self._right.window(size)
            ended = len(left) < size, len(right) < size
            blocks = align(left.hashes, right.hashes)
            if all(ended) or not len(left) or not len(right):
                return self._keep(left, right, [*blocks, Block(len(left), len(right), 0)])
            if sum(block.size for block in blocks) >= _ENOUGH or (blocks and size >= self._limits.window):
                return self._keep(left, right, blocks)
            if size >= self._limits.window:
                self._keep(left, right, [Block(len(left), len(right), 0)])
                if not any(ended):
                    self._compared.gave_up = NOTHING_IN_COMMON
                return None
            size = min(size * _GROWTH, self._limits.window)

    def _keep(self, left: Records, right: Records, blocks: Iterable[Block]) -> None:
        """Keep the gaps before these blocks, and continue after the last block."""
        left_start = right_start = 0
        for block in blocks:
            gap = left.part(left_start, block.left), right.part(right_start, block.right)
            self._keep_gap(*gap)
            self._pass_equal(block.size)
            left_start, right_start = block.left + block.size, block.right + block.size

    def _keep_gap(self, left: Records, right: Records) -> None:
        if not len(left) and not len(right):
            return
        self._left.pass_different(len(left))
        self._right.pass_different(len(right))
        gaps = self._compared.gaps
        if self._gap_is_open:
            before = gaps.pop()
            left, right = joined([before.left, left]), joined([before.right, right])
            self._different -= len(before.left) + len(before.right)
        gaps.append(Gap(left, right, self._left.at, self._right.at))
        self._gap_is_open = True
        self._different += len(left) + len(right)
        if self._different > self._limits.different:
            self._compared.gave_up = self._compared.gave_up or TOO_DIFFERENT
