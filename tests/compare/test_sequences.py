"""A comparison in order finds the same differences as a slow diff, for any chunks and windows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.compare.alignment import align, equal_prefix
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.sequences import (
    NOTHING_IN_COMMON,
    TOO_DIFFERENT,
    Compared,
    CompareLimits,
    compare_sequences,
)
from kafka_lagoon.records.digests import Hashes
from tests.effort import examples


def hashes(values: Sequence[int]) -> Hashes:
    """Make a hash for each number."""
    words = np.array(values, np.uint64).reshape(-1, 1)
    return np.concatenate([words * np.uint64(0x9E3779B97F4A7C15), words + np.uint64(1)], axis=1)


def chunks(values: Sequence[int], cuts: Sequence[int] = (), step: int = 1) -> Iterator[Chunk]:
    """Yield a side in chunks that end at these positions; `step` is the distance of offsets."""
    ends = [0, *sorted(cut for cut in cuts if 0 < cut < len(values)), len(values)]
    for start, end in pairwise(ends):
        yield Chunk(np.arange(start, end, dtype=np.int64) * step, hashes(values[start:end]))


def sides(compared: Compared, left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return both sides without the records of gaps; check that they are equal, and that gaps are between equal blocks."""
    rest_left, rest_right = list(left), list(right)
    for gap in reversed(compared.gaps):
        for rest, records in ((rest_left, gap.left), (rest_right, gap.right)):
            for offset, pair in zip(records.offsets.tolist()[::-1], records.hashes.tolist()[::-1], strict=True):
                assert pair[1] - 1 == rest.pop(offset)
        assert (gap.left_at is None) == (gap.right_at is None)
    return rest_left, rest_right


@st.composite
def _edited(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Generate a side, and an edited copy of it with missing, doubled, altered or moved parts."""
    left = draw(st.lists(st.integers(0, 40), max_size=60))
    right = left.copy()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(right)))
        part = right[start : start + draw(st.integers(0, 12))]
        kind = draw(st.sampled_from(["missing", "doubled", "altered", "moved"]))
        if kind != "doubled":
            del right[start : start + len(part)]
        if kind == "altered":
            part = [value + 1_000 for value in part]
        if kind != "missing":
            target = draw(st.integers(0, len(right))) if kind == "moved" else start
            right[target:target] = part
    return left, right


_CUTS = st.lists(st.integers(0, 60), max_size=6)


@settings(max_examples=examples(200))
@given(_edited(), _CUTS, _CUTS, st.sampled_from([4, 16, 1 << 20]))
def test_what_is_not_in_gaps_is_equal(
    edited: tuple[list[int], list[int]], left_cuts: list[int], right_cuts: list[int], window: int
) -> None:
    """Records outside of gaps are equal, in order on both sides, and counted; a comparison that is given up says so."""
    left, right = edited
    compared = compare_sequences(chunks(left, left_cuts), chunks(right, right_cuts), CompareLimits(window=window))
    rest_left, rest_right = sides(compared, left, right)
    if compared.gave_up:
        assert window == 4
        rest_left, rest_right = rest_left[: compared.equal], rest_right[: compared.equal]
    assert rest_left == rest_right
    assert len(rest_left) == compared.equal


@given(_edited())
def test_blocks_ascend_and_are_equal(edited: tuple[list[int], list[int]]) -> None:
    """This holds for any sides; equal sides are one block."""
    left, right = edited
    end_left = end_right = 0
    for block in align(hashes(left), hashes(right)):
        assert block.size > 0
        assert block.left >= end_left
        assert block.right >= end_right
        end_left, end_right = block.left + block.size, block.right + block.size
        assert left[block.left : end_left] == right[block.right : end_right]
    if left:
        assert align(hashes(left), hashes(left)) == [(0, 0, len(left))]
    assert equal_prefix(hashes(left), hashes(left)) == len(left)


BIG = list(range(5_000))


@pytest.mark.parametrize(
    ("right", "gaps"),
    [
        (BIG, []),
        ([*BIG[:1_000], *BIG[3_000:]], [(list(range(1_000, 3_000)), [], 1_000, 1_000)]),
        ([*BIG[:2_000], *BIG[1_000:]], [([], list(range(1_000, 2_000)), 2_000, 2_000)]),
        ([*BIG[:7], 9_999, *BIG[8:]], [([7], [9_999], 7, 7)]),
        ([*BIG[:7], 8, 7, *BIG[9:]], [([7], [], 7, 7), ([], [7], 9, 8)]),
        (BIG[2_000:], [(list(range(2_000)), [], None, None)]),
        (BIG[:-3], [([4_997, 4_998, 4_999], [], 4_997, 4_997)]),
        ([], [(BIG, [], None, None)]),
    ],
)
def test_gaps_are_as_small_as_can_be(
    right: list[int], gaps: list[tuple[list[int], list[int], int | None, int | None]]
) -> None:
    """Only missing, doubled, altered or swapped records are in a gap, at their offsets, also at the start and the end."""
    compared = compare_sequences(chunks(BIG, [10, 1_500, 4_000]), chunks(right, [900, 905, 2_500]))
    assert [
        (
            (gap.left.hashes[:, 1] - 1).tolist(),
            (gap.right.hashes[:, 1] - 1).tolist(),
            gap.left_at,
            gap.right_at,
        )
        for gap in compared.gaps
    ] == gaps
    assert compared.gave_up is None


def test_equal_logs_need_no_window() -> None:
    """Chunks of any sizes are compared as they are read, and progress is reported."""
    done: list[int] = []
    compared = compare_sequences(chunks(BIG, [1, 2, 3]), chunks(BIG, [2_000]), report=done.append)
    assert (compared.equal, compared.gaps, compared.gave_up) == (5_000, [], None)
    assert sum(done) == 5_000


def test_sides_without_anything_in_common() -> None:
    """After as many records as a window holds the rest is not read, unless a side has ended."""
    others = list(range(10_000, 20_000))
    compared = compare_sequences(
        chunks(BIG, range(0, 5_000, 100)), chunks(others, range(0, 9_000, 100)), CompareLimits(window=1_000)
    )
    assert compared.gave_up == NOTHING_IN_COMMON
    assert [len(gap.left) for gap in compared.gaps] == [1_000]
    compared = compare_sequences(chunks(BIG, range(0, 5_000, 100)), chunks(others[:5]), CompareLimits(window=1_000))
    assert compared.gave_up is None
    assert [(len(gap.left), len(gap.right)) for gap in compared.gaps] == [(5_000, 5)]


def test_too_many_differences() -> None:
    """The number of records kept for gaps is limited."""
    other = [value + 10_000 * (value % 2) for value in BIG]
    compared = compare_sequences(
        chunks(BIG, range(0, 5_000, 10)), chunks(other), CompareLimits(window=300, different=500)
    )
    assert compared.gave_up == TOO_DIFFERENT
