"""Says of each record in the gaps of a comparison what it is (missing, doubled, altered, ...), and joins them to ranges.

Whether a record is one too many is decided by counting: it is doubled on the side that has more of it, if the other has one,
too. For that the left log is read a second time; logs that are equal are read once.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.compare.sequences import Compared, Gap, Records, joined
from kafka_lagoon.frozen import frozen

Hash = tuple[int, int]


class Kind(StrEnum):
    """The kind of a range of records."""

    MISSING = "missing"  # on the right
    EXTRA = "extra"  # on the right: the left never had it
    DOUBLED_LEFT = "doubled_left"  # the left has it more often
    DOUBLED_RIGHT = "doubled_right"  # the right has it more often
    ALTERED = "altered"  # at the same place, and with the same key if there are several
    REORDERED = "reordered"  # both have it, at different places
    EXPIRED_LEFT = "expired_left"  # before the first record of the left, and no more than the left has lost there
    EXPIRED_RIGHT = "expired_right"  # before the first record of the right, and no more than the right has lost there
    COMPACTED_LEFT = "compacted_left"  # the left has a later record of its key
    COMPACTED_RIGHT = "compacted_right"  # the right has a later record of its key


# Records that retention and compaction removed at their own times are no difference.
NOT_COMPARED = frozenset({Kind.EXPIRED_LEFT, Kind.EXPIRED_RIGHT, Kind.COMPACTED_LEFT, Kind.COMPACTED_RIGHT})


@frozen
class Difference:
    """Consecutive records with the same kind of difference, by their first and last offsets on both sides.

    Where a side has none of them, `left_first` or `right_first` is the offset after the last equal record there (None if
    there is none before), and the last offset is None.
    """

    kind: Kind
    records: int
    left_first: int | None
    left_last: int | None
    right_first: int | None
    right_last: int | None


@frozen
class Evidence:
    """Facts for deciding differences: how many offsets both logs have lost at their starts, and the counts of a second pass.

    `left_counts` are the numbers of records of the left log by hash, for the hashes of the second pass. `left_keys` and
    `right_keys` are the last offsets of keys, where logs are compacted.
    """

    left_counts: Mapping[Hash, int] = field(default_factory=dict)
    left_lost: int = 0
    right_lost: int = 0
    left_keys: Mapping[int, int] = field(default_factory=dict)
    right_keys: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Unequal:
    """The records of all gaps of one side: hashes, gaps, kinds, and the records of the other side that they belong to."""

    records: Records
    hashes: list[Hash]
    gap_of: list[int]
    kinds: list[Kind | None]
    mates: list[int]

    @classmethod
    def of(cls, parts: list[Records]) -> "_Unequal":
        records = joined(parts)
        hashes = [(low, high) for low, high in records.hashes.tolist()]
        gap_of = [number for number, part in enumerate(parts) for _ in range(len(part))]
        return cls(records, hashes, gap_of, [None] * len(records), [-1] * len(records))

    def rest(self) -> Iterator[int]:
        """Indexes of records whose kind is not decided."""
        return (index for index, kind in enumerate(self.kinds) if kind is None)

    def set(self, index: int, kind: Kind, mate: int = -1) -> None:
        """Set the kind of a record."""
        self.kinds[index], self.mates[index] = kind, mate


class Unequal:
    """The records of a comparison that are in gaps; moved records are found at once."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared
        self._left = _Unequal.of([gap.left for gap in compared.gaps])
        self._right = _Unequal.of([gap.right for gap in compared.gaps])
        self._pair_moved()

    def _pair_moved(self) -> None:
        places: dict[Hash, deque[int]] = {}
        for index, hash_ in enumerate(self._right.hashes):
            places.setdefault(hash_, deque()).append(index)
        for index, hash_ in enumerate(self._left.hashes):
            if others := places.get(hash_):
                self._pair(index, others.popleft(), Kind.REORDERED)

    def _pair(self, left: int, right: int, kind: Kind) -> None:
        self._left.set(left, kind, right)
        self._right.set(right, kind, left)

    def to_count(self) -> NDArray[np.uint64]:
        """First words of the hashes that must be counted in the left log, sorted."""
        words = {side.hashes[index][0] for side in (self._left, self._right) for index in side.rest()}
        return np.array(sorted(words), np.uint64)

    def keys(self) -> NDArray[np.uint64]:
        """Hashes of the keys of records that only one side has, sorted."""
        keys = {int(side.records.keys[index]) for side in (self._left, self._right) for index in side.rest()}
        return np.array(sorted(keys), np.uint64)

    def differences(self, evidence: Evidence) -> list[Difference]:
        """Differences as ranges, in the order of gaps."""
        self._find_doubled(evidence)
        self._pair_same_keys()
        self._find_compacted(self._left, Kind.COMPACTED_RIGHT, evidence.right_lost, evidence.right_keys)
        self._find_compacted(self._right, Kind.COMPACTED_LEFT, evidence.left_lost, evidence.left_keys)
        self._pair_same_places()
        self._decide_rest(evidence)
        left, right = self._ranges(self._left, is_left=True), self._ranges(self._right, is_left=False)
        return [difference for _, difference in sorted([*left, *right], key=lambda numbered: numbered[0])]

    def _find_doubled(self, evidence: Evidence) -> None:
        """Find doubled records: both sides have one that is equal or moved, so the left log has more than are undecided."""
        undecided = Counter(self._left.hashes[index] for index in self._left.rest())
        for side, kind in ((self._left, Kind.DOUBLED_LEFT), (self._right, Kind.DOUBLED_RIGHT)):
            for index in list(side.rest()):
                hash_ = side.hashes[index]
                if evidence.left_counts.get(hash_, 0) > (0 if kind == Kind.DOUBLED_RIGHT else undecided[hash_]):
                    side.set(index, kind)

    def _pair_same_keys(self) -> None:
        """Pair records of a gap with the same key, in order: they are altered."""
        left_of, right_of = _by_gap(self._left), _by_gap(self._right)
        for gap in left_of.keys() & right_of.keys():
            by_key: dict[int, deque[int]] = {}
            for index in right_of[gap]:
                by_key.setdefault(int(self._right.records.keys[index]), deque()).append(index)
            for index in left_of[gap]:
                if others := by_key.get(int(self._left.records.keys[index])):
                    self._pair(index, others.popleft(), Kind.ALTERED)

    def _find_compacted(self, side: _Unequal, kind: Kind, lost: int, last_offsets: Mapping[int, int]) -> None:
        """Find records that compaction removed from the other side, which has lost `lost` offsets and has these keys.

        They are no more than the other side lacks offsets in their gap, beside those that retention removed, and the last ones.
        """
        explained = Counter[int]()  # records of each gap
        for index in reversed(list(side.rest())):
            number = side.gap_of[index]
            gap = self._compared.gaps[number]
            position, lacks = _lacking_offsets(gap, of_left=side is self._right)
            if self._is_before_all(gap):
                lacks -= lost
            if explained[number] < lacks and last_offsets.get(int(side.records.keys[index]), -1) >= position:
                side.set(index, kind)
                explained[number] += 1

    def _pair_same_places(self) -> None:
        """Pair all other records of a gap, in order, if both sides have as many: they are altered."""
        left_of, right_of = _by_gap(self._left), _by_gap(self._right)
        for gap in left_of.keys() & right_of.keys():
            if len(left_of[gap]) == len(right_of[gap]):
                for pair in zip(left_of[gap], right_of[gap], strict=True):
                    self._pair(*pair, Kind.ALTERED)

    def _decide_rest(self, evidence: Evidence) -> None:
        """Decide the records that only one side has: retention explains the first ones, up to the offsets that were lost.

        It explains those of one side: a log that still has older records than the other has lost none after them.
        """
        left, right = (
            [index for index in side.rest() if self._is_before_all(self._compared.gaps[side.gap_of[index]])]
            for side in (self._left, self._right)
        )
        if len(left) >= len(right):
            expired = [(self._left, index, Kind.EXPIRED_RIGHT) for index in left[: evidence.right_lost]]
        else:
            expired = [(self._right, index, Kind.EXPIRED_LEFT) for index in right[: evidence.left_lost]]
        for side, index, kind in expired:
            side.set(index, kind)
        for side, kind in ((self._left, Kind.MISSING), (self._right, Kind.EXTRA)):
            for index in list(side.rest()):
                side.set(index, kind)

    def _is_before_all(self, gap: Gap) -> bool:
        """True if no equal record comes before."""
        return gap.left_at is None and self._compared.equal > 0

    def _ranges(self, side: _Unequal, *, is_left: bool) -> Iterator[tuple[int, Difference]]:
        """Ranges of a side with the number of their gap; for pairs, those of the left side."""
        last, run = -1, list[int]()
        for index, kind in enumerate(side.kinds):
            if kind in (Kind.ALTERED, Kind.REORDERED) and not is_left:
                continue
            if run and index == last + 1 and self._continues(side, last, index):
                run.append(index)
            else:
                yield from self._range(side, run, is_left=is_left)
                run = [index]
            last = index
        yield from self._range(side, run, is_left=is_left)

    @staticmethod
    def _continues(side: _Unequal, last: int, index: int) -> bool:
        mate = side.mates[last]
        same = side.kinds[last] == side.kinds[index] and side.gap_of[last] == side.gap_of[index]
        return same and side.mates[index] == (mate + 1 if mate >= 0 else -1)

    def _range(self, side: _Unequal, run: list[int], *, is_left: bool) -> Iterator[tuple[int, Difference]]:
        if not run:
            return
        number = side.gap_of[run[0]]
        gap, kind = self._compared.gaps[number], side.kinds[run[0]]
        ends = (int(side.records.offsets[run[0]]), int(side.records.offsets[run[-1]]))
        left, right = (ends, (gap.right_at, None)) if is_left else ((gap.left_at, None), ends)
        if side.mates[run[0]] >= 0:
            offsets = self._right.records.offsets
            right = (int(offsets[side.mates[run[0]]]), int(offsets[side.mates[run[-1]]]))
        yield (
            number,
            Difference(
                kind=kind or Kind.MISSING,
                records=len(run),
                left_first=left[0],
                left_last=left[1],
                right_first=right[0],
                right_last=right[1],
            ),
        )


def _lacking_offsets(gap: Gap, *, of_left: bool) -> tuple[int, int]:
    """The offset at which a side's gap begins, and the number of its offsets that have no record, before its last record."""
    records, start, end = (gap.left, gap.left_at, gap.left_end) if of_left else (gap.right, gap.right_at, gap.right_end)
    start = start or 0
    if end is None:
        end = int(records.offsets[-1]) + 1 if len(records) else start
    return start, end - start - len(records)


def _by_gap(side: _Unequal) -> dict[int, list[int]]:
    indexes: dict[int, list[int]] = {}
    for index in side.rest():
        indexes.setdefault(side.gap_of[index], []).append(index)
    return indexes
