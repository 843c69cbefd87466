"""Translates offsets of a source partition to those of the partition that it was restored to.

Brokers assign consecutive offsets; a source has gaps where markers, compacted and aborted records were. So the map is kept as
ranges within which both offsets increase together, and a commit in a gap means the next record after it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.frozen import frozen


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """A number of records whose offsets increase together from these first offsets in the source and in the target."""

    source_offset: int
    target_offset: int
    records: int

    @property
    def source_end(self) -> int:
        """The source's offset after the last record."""
        return self.source_offset + self.records

    @property
    def target_end(self) -> int:
        """The target's offset after the last record."""
        return self.target_offset + self.records


class Position(StrEnum):
    """Position of a source offset relative to the restored records."""

    RECORD = "record"  # of a restored record
    GAP = "gap"  # before a restored record, but not of a restored record
    BEFORE = "before"  # before the first restored record
    END = "end"  # after the last restored record
    # After all offsets that the restore read: the group has read records in between, which were not restored.
    BEYOND = "beyond"


@frozen(kw_only=False)
class Translated:
    """The target's offset of the first record at or after a source offset, and its position."""

    offset: int
    position: Position


@frozen
class PartitionMap:
    """The map of one partition. `ranges` are in order and joined (`joined`).

    `source_end` is the first source offset that the restore did not read; `target_start` is where it began to write.
    """

    ranges: tuple[OffsetRange, ...]
    source_end: int
    target_start: int

    @property
    def target_end(self) -> int:
        """The target's offset after the last restored record."""
        return self.ranges[-1].target_end if self.ranges else self.target_start

    @property
    def records(self) -> int:
        """The number of restored records."""
        return sum(part.records for part in self.ranges)

    def translate(self, committed_offset: int) -> Translated:
        """The offset in the target at which a group with this commit in the source continues."""
        index = bisect_right(self.ranges, committed_offset, key=_source_offset)
        if index and committed_offset < self.ranges[index - 1].source_end:
            before = self.ranges[index - 1]
            return Translated(before.target_offset + committed_offset - before.source_offset, Position.RECORD)
        if index < len(self.ranges):
            return Translated(self.ranges[index].target_offset, Position.GAP if index else Position.BEFORE)
        return Translated(self.target_end, Position.END if committed_offset <= self.source_end else Position.BEYOND)


def batch_ranges(source_offsets: NDArray[np.int64], base_offset: int) -> list[OffsetRange]:
    """The ranges of records that were written one after the other from offset `base_offset` of the target."""
    if not len(source_offsets):
        return []
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(source_offsets) != 1) + 1])
    sizes = np.diff([*firsts, len(source_offsets)])
    starts = source_offsets[firsts]
    return [
        OffsetRange(source, base_offset + first, size)
        for source, first, size in zip(starts.tolist(), firsts.tolist(), sizes.tolist(), strict=True)
    ]


def joined(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """The ranges in order, contiguous ranges joined; ValueError if two contradict each other.

    Ranges may overlap if both say the same, as after a task that was run again.
    """
    result: list[OffsetRange] = []
    for following in sorted(filter(_has_records, ranges)):
        if result and following.source_offset <= result[-1].source_end and _shift(following) == _shift(result[-1]):
            last = result.pop()
            records = max(last.source_end, following.source_end) - last.source_offset
            result.append(OffsetRange(last.source_offset, last.target_offset, records))
        else:
            result.append(following)
    _check(result)
    return tuple(result)


def _has_records(offsets: OffsetRange) -> bool:
    return offsets.records > 0


def _source_offset(offsets: OffsetRange) -> int:
    return offsets.source_offset


def _shift(offsets: OffsetRange) -> int:
    return offsets.target_offset - offsets.source_offset


def _check(ranges: Sequence[OffsetRange]) -> None:
    for before, after in pairwise(ranges):
        if before.source_end > after.source_offset or before.target_end > after.target_offset:
            raise ValueError(f"{before} and {after} cannot both be true")
