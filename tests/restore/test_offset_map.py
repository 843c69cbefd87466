"""An offset of the source becomes that of the first record at or after it, for any gaps on both sides."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap, Position, batch_ranges, joined

# Distances of offsets between consecutive restored records, on both sides.
_STEPS = st.lists(
    st.tuples(st.integers(1, 3), st.one_of(st.just(1), st.integers(1, 3))),
    max_size=30,
)


def _pairs(steps: list[tuple[int, int]], source: int, target: int) -> list[tuple[int, int]]:
    pairs = []
    for source_step, target_step in steps:
        source, target = source + source_step, target + target_step
        pairs.append((source, target))
    return pairs


def _map(pairs: list[tuple[int, int]], source_end: int, target_start: int) -> PartitionMap:
    ranges = joined(OffsetRange(source, target, 1) for source, target in pairs)
    return PartitionMap(ranges=ranges, source_end=source_end, target_start=target_start)


@given(_STEPS, st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.data())
def test_an_offset_is_translated_to_the_next_record(
    steps: list[tuple[int, int]], source: int, target: int, tail: int, data: st.DataObject
) -> None:
    """The result is that of a search through all pairs of offsets."""
    pairs = _pairs(steps, source, target)
    source_end = (pairs[-1][0] + 1 if pairs else source) + tail
    partition = _map(pairs, source_end, target)
    committed = data.draw(st.integers(0, source_end + 3))
    later = [pair for pair in pairs if pair[0] >= committed]
    translated = partition.translate(committed)
    assert partition.records == len(pairs)
    assert translated.offset == (later[0][1] if later else pairs[-1][1] + 1 if pairs else target)
    if later:
        expected = Position.BEFORE if len(later) == len(pairs) else Position.GAP
        assert translated.position == (Position.RECORD if later[0][0] == committed else expected)
    else:
        assert translated.position == (Position.END if committed <= source_end else Position.BEYOND)


@given(_STEPS.filter(bool), st.integers(0, 5))
def test_ranges_are_as_few_as_can_be(steps: list[tuple[int, int]], base: int) -> None:
    """Consecutive offsets are one range, from single records as well as from batches."""
    offsets = [source for source, _ in _pairs(steps, 0, 0)]
    ranges = batch_ranges(np.array(offsets, np.int64), base)
    assert joined(OffsetRange(source, base + index, 1) for index, source in enumerate(offsets)) == tuple(ranges)
    assert joined([*ranges[1:], *ranges[:2]]) == tuple(ranges)
    halves = [OffsetRange(part.source_offset, part.target_offset, part.records // 2) for part in ranges]
    assert joined([*halves, *ranges]) == tuple(ranges)
    within = [OffsetRange(part.source_offset + 1, part.target_offset + 1, 1) for part in ranges if part.records > 2]
    assert joined([*ranges, *within]) == tuple(ranges)
    assert len(ranges) == 1 + sum(after - before > 1 for before, after in pairwise(offsets))
    assert batch_ranges(np.array([], np.int64), base) == []


def test_what_contradicts_itself_is_refused() -> None:
    """Two records with the same offset on either side are an error."""
    for wrong in (OffsetRange(5, 20, 1), OffsetRange(20, 5, 1), OffsetRange(9, 10, 2)):
        with pytest.raises(ValueError, match="cannot both be true"):
            joined([OffsetRange(0, 0, 10), wrong])
