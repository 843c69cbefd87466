"""Compares topics without regard to order, as sets in which a record may be several times, in bounded memory.

For topics with different numbers of partitions, where the same records lie in other partitions. A first pass sums the hashes of
each side in buckets; only if buckets differ, a second pass keeps the records of those, and compares them.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.compare.differences import Kind
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.sequences import Records, joined
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.digests import Hashes

_BITS = 16
BUCKETS = 1 << _BITS


class BucketSums:
    """The number of records of each bucket, and the sums of their hashes."""

    def __init__(self) -> None:
        self.counts = np.zeros(BUCKETS, np.int64)
        self.sums = np.zeros((BUCKETS, 2), np.uint64)

    @property
    def records(self) -> int:
        """The number of records in all buckets."""
        return int(self.counts.sum())

    def add(self, hashes: Hashes) -> None:
        """Add records."""
        buckets = _bucket_of(hashes)
        self.counts += np.bincount(buckets, minlength=BUCKETS)
        for word in (0, 1):
            np.add.at(self.sums[:, word], buckets, hashes[:, word])

    def add_all(self, other: "BucketSums") -> None:
        """Add the buckets of other partitions."""
        self.counts += other.counts
        self.sums += other.sums

    def differing(self, other: "BucketSums") -> NDArray[np.int64]:
        """The buckets that differ."""
        return np.flatnonzero((self.counts != other.counts) | (self.sums != other.sums).any(axis=1))


def _bucket_of(hashes: Hashes) -> NDArray[np.int64]:
    return (hashes[:, 0] >> np.uint64(64 - _BITS)).astype(np.int64)


def fitting(left: BucketSums, right: BucketSums, most: int) -> NDArray[np.int64]:
    """The first differing buckets that have at most this many records in all, which a second pass can keep.

    A bucket that has more by itself, because a record is there very often, is left out.
    """
    buckets = left.differing(right)
    sizes = left.counts[buckets] + right.counts[buckets]
    buckets, sizes = buckets[sizes <= most], sizes[sizes <= most]
    return buckets[: int(np.searchsorted(np.cumsum(sizes), most, "right"))]


def records_in(chunks: Iterable[Chunk], buckets: NDArray[np.int64]) -> Records:
    """The records of these buckets."""
    is_wanted = np.zeros(BUCKETS, np.bool_)
    is_wanted[buckets] = True
    return joined(_wanted(chunks, is_wanted))


def _wanted(chunks: Iterable[Chunk], is_wanted: NDArray[np.bool_]) -> Iterator[Records]:
    for chunk in chunks:
        mask = is_wanted[_bucket_of(chunk.hashes)]
        if mask.any():
            yield Records(chunk.offsets[mask], chunk.hashes[mask], chunk.keys()[mask])


@frozen
class SetDifference:
    """Consecutive records of one partition that one side has and the other lacks, or has less often.

    Of an altered record (the other side has another record with its key) both sides are named.
    """

    kind: Kind
    records: int
    left: tuple[int, int, int] | None = None  # partition, first and last offset
    right: tuple[int, int, int] | None = None


Place = tuple[int, int, int]  # partition, offset, hash of the key


def set_differences(left: Mapping[int, Records], right: Mapping[int, Records]) -> list[SetDifference]:
    """Differences between the records of both sides, by partition; of doubled records, the last ones."""
    left_places, right_places = _by_hash(left), _by_hash(right)
    missing, extra = list[Place](), list[Place]()
    single: list[tuple[Kind, Place]] = []
    for hash_ in left_places.keys() | right_places.keys():
        ours, theirs = left_places.get(hash_, []), right_places.get(hash_, [])
        if len(ours) > len(theirs):
            rest = ours[len(theirs) :]
            single += [(Kind.DOUBLED_LEFT, place) for place in rest] if theirs else []
            missing += [] if theirs else rest
        elif len(theirs) > len(ours):
            rest = theirs[len(ours) :]
            single += [(Kind.DOUBLED_RIGHT, place) for place in rest] if ours else []
            extra += [] if ours else rest
    altered = list(_altered(missing, extra))
    done_left, done_right = ({pair[side] for pair in altered} for side in (0, 1))
    single += [(Kind.MISSING, place) for place in missing if place not in done_left]
    single += [(Kind.EXTRA, place) for place in extra if place not in done_right]
    return [*_paired(altered), *_ranges(single)]


def _by_hash(sides: Mapping[int, Records]) -> dict[tuple[int, int], list[Place]]:
    places: dict[tuple[int, int], list[Place]] = {}
    for partition, records in sorted(sides.items()):
        columns = (records.offsets.tolist(), records.hashes.tolist(), records.keys.tolist())
        for offset, (low, high), key in zip(*columns, strict=True):
            places.setdefault((low, high), []).append((partition, offset, key))
    return places


def _altered(missing: Sequence[Place], extra: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Pairs of records with the same key, in order."""
    by_key: dict[int, deque[Place]] = {}
    for place in sorted(extra):
        by_key.setdefault(place[2], deque()).append(place)
    for place in sorted(missing):
        if others := by_key.get(place[2]):
            yield place, others.popleft()


def _paired(
    altered: Iterable[tuple[Place, Place]],
) -> Iterator[SetDifference]:
    for (partition, offset, _), (other, other_offset, _) in altered:
        yield SetDifference(
            kind=Kind.ALTERED, records=1, left=(partition, offset, offset), right=(other, other_offset, other_offset)
        )


def _ranges(single: Iterable[tuple[Kind, Place]]) -> Iterator[SetDifference]:
    """Join records with consecutive offsets."""
    run: tuple[Kind, int, int, int] | None = None
    for kind, (partition, offset, _) in sorted(single):
        if run and run[:2] == (kind, partition) and offset == run[3] + 1:
            run = (kind, partition, run[2], offset)
            continue
        if run:
            yield _range(*run)
        run = (kind, partition, offset, offset)
    if run:
        yield _range(*run)


def _range(kind: Kind, partition: int, first: int, last: int) -> SetDifference:
    place = (partition, first, last)
    if kind in (Kind.MISSING, Kind.DOUBLED_LEFT):
        return SetDifference(kind=kind, records=last - first + 1, left=place)
    return SetDifference(kind=kind, records=last - first + 1, right=place)
