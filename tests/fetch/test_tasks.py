"""Ranges are divided into tasks: every readable offset is in one split, and splits of a partition share no task."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.tasks import divide, task_bytes

SPANS = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5000), st.integers(0, 1500)), max_size=30)


def ranges_of(spans: list[tuple[int, int, int]]) -> list[PlannedRange]:
    return [
        PlannedRange(
            topic=f"t{number % 3}",
            topic_id=None,
            partition=number,
            from_offset=start,
            to_offset=start + length,
            log_start_offset=log_start,
            stable_end=start + length,
            last_epoch=7,
        )
        for number, (start, length, log_start) in enumerate(spans)
    ]


@given(SPANS, st.integers(1, 8), st.integers(1, 1 << 22), st.integers(1, 1 << 16))
def test_splits_tile_what_can_be_read(spans: list[tuple[int, int, int]], parallelism: int, most: int, each: int):
    """There are no gaps and no overlaps, and only the first split of a range has the epoch before it."""
    ranges = ranges_of(spans)
    tasks = divide(ranges, lambda planned: planned.offsets * each, parallelism, most)
    splits = sorted(
        (split for task in tasks for split in task.splits), key=lambda split: (split.partition, split.from_offset)
    )
    for planned in ranges:
        own = [split for split in splits if split.partition == planned.partition]
        reached = planned.first_readable
        for split in own:
            assert split.from_offset == reached < split.to_offset
            assert split.continues == (split is not own[0])
            assert split.last_epoch == (7 if split.from_offset == planned.from_offset else -1)
            reached = split.to_offset
        assert reached == planned.to_offset
    pieces = Counter(split.partition for split in splits)
    assert all(len(task.splits) == 1 for task in tasks if pieces[task.splits[0].partition] > 1)


def test_a_large_partition_is_divided_evenly():
    """A gigabyte at 256 MiB per task is four splits of the same length."""
    ranges = ranges_of([(0, 4000, 0)])
    tasks = divide(ranges, lambda _: 1 << 30, 2, 256 << 20)
    assert [(task.splits[0].from_offset, task.splits[0].to_offset) for task in tasks] == [
        (0, 1000),
        (1000, 2000),
        (2000, 3000),
        (3000, 4000),
    ]


def test_small_partitions_share_tasks():
    """A thousand partitions of a kilobyte are one task: a task and a file for each would take longer than reading."""
    ranges = ranges_of([(0, 10, 0)] * 1000)
    assert len(divide(ranges, lambda _: 1000, 2, 256 << 20)) == 1


@pytest.mark.long
def test_many_partitions_are_work_too():
    """Twenty thousand small partitions are spread over the cores; a single task would be the last to end."""
    ranges = ranges_of([(0, 1, 0)] * 20_000)
    assert [len(task.splits) for task in divide(ranges, lambda _: 1, 2, 256 << 20)] == [10_000] * 2
    assert len(divide(ranges[:4_000], lambda _: 500, 64, 256 << 20)) == 1
    tasks = divide(ranges, lambda planned: 64 << 20 if planned.partition == 7 else 100, 4, 256 << 20)
    assert max(len(task.splits) for task in tasks) == 5_000


def test_splits_know_what_to_expect():
    """Each split of a divided partition has its share of the bytes."""
    (whole,) = divide(ranges_of([(0, 10, 0)]), lambda _: 1000, 2, 256 << 20)
    assert [split.expected_bytes for split in whole.splits] == [1000]
    parts = divide(ranges_of([(0, 4000, 0)]), lambda _: 1 << 30, 2, 256 << 20)
    assert [task.splits[0].expected_bytes for task in parts] == [256 << 20] * 4


@pytest.mark.parametrize(("cores", "total_mb"), [(2, 100), (2, 6_000), (16, 10_000), (40, 30_000)])
def test_one_partition_with_nearly_all(cores: int, total_mb: int):
    """If one of eight partitions has nine tenths of the bytes, cores still end at about the same time."""
    each_mb = total_mb // 70
    sizes = {0: total_mb - 7 * each_mb} | dict.fromkeys(range(1, 8), each_mb)
    ranges = ranges_of([(0, 10_000, 0)] * 8)
    tasks = divide(ranges, lambda planned: sizes[planned.partition] << 20, cores, 256 << 20)
    busy = [0] * cores
    for task in tasks:
        free = busy.index(min(busy))
        busy[free] += sum(split.expected_bytes or 0 for split in task.splits)
    assert sum(busy) / cores / max(busy) > 0.85
    assert len(tasks) < 1.4 * max(cores, total_mb / 256) + 3


def test_a_rest_has_a_task_of_its_own():
    """If it is worth it: 70 MB beside 30 on two cores are tasks of 50, 30 and 20, not 35, 35 and 30; 110 are two of 55."""
    ranges, sizes = ranges_of([(0, 7_000, 0), (0, 3_000, 0)]), [70 << 20, 30 << 20]
    tasks = divide(ranges, lambda planned: sizes[planned.partition], 2, 256 << 20)
    assert [sum(split.to_offset - split.from_offset for split in task.splits) for task in tasks] == [
        5_000,
        3_000,
        2_000,
    ]
    (halves, *_), whole = (
        divide(ranges_of([(0, 1_100, 0)]), lambda _: 110 << 20, 2, most) for most in (50 << 20, 120 << 20)
    )
    assert len(whole) == 2
    assert len(halves.splits) == 1


def test_every_core_gets_work():
    """Four partitions of 20 MB on four cores are four tasks, not one."""
    assert len(divide(ranges_of([(0, 100, 0)] * 4), lambda _: 20 << 20, 4, 256 << 20)) == 4
    assert task_bytes(80 << 20, 4, 256 << 20) == 20 << 20
