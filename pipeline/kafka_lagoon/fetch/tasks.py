"""Planned ranges and the bytes behind them in, tasks of about equal work out.

Guards one rule: a partition that is divided has each of its splits in a task of its own, so that what was read behind a
split that failed can be left out; small partitions share tasks, and so files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.split import Split

_SMALLEST_TASK = 8 << 20  # below this a task costs more than it spreads


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Splits that one Spark task reads, one after the other."""

    splits: tuple[Split, ...]


def task_bytes(total_bytes: int, parallelism: int, most: int) -> int:
    """How many bytes a task should read: an even share for each core, but neither tiny nor more than `most`."""
    return max(min(_SMALLEST_TASK, most), min(most, -(-total_bytes // max(parallelism, 1))))


def divide(
    ranges: Sequence[PlannedRange], bytes_of: Callable[[PlannedRange], int], parallelism: int, most: int
) -> list[Task]:
    """Tasks of about `task_bytes` each, large ones first, so that the last to end is a small one.

    Ranges of which nothing can be read any more have no split.
    """
    sizes = {(one.topic, one.partition): bytes_of(one) for one in ranges}
    target = task_bytes(sum(sizes.values()), parallelism, most)
    tasks: list[tuple[int, Task]] = []
    small: list[tuple[int, Split]] = []
    for one in ranges:
        size = sizes[one.topic, one.partition]
        splits = _splits(one, max(1, round(size / target)))
        if len(splits) == 1:
            small.append((size, splits[0]))
        else:
            tasks += [(size // len(splits), Task(splits=(split,))) for split in splits]
    tasks += _packed(small, target)
    return [task for _, task in sorted(tasks, key=lambda weighed: -weighed[0])]


def _splits(one: PlannedRange, count: int) -> list[Split]:
    """Cuts at even distances in offsets; all but the first may begin in the middle of a batch, which is read twice."""
    start, length = one.first_readable, one.to_offset - one.first_readable
    if not length:
        return []
    count = min(count, length)
    cuts = [start + length * number // count for number in range(count + 1)]
    return [_split(one, low, high) for low, high in pairwise(cuts)]


def _split(one: PlannedRange, low: int, high: int) -> Split:
    return Split(
        topic=one.topic,
        topic_id=one.topic_id,
        partition=one.partition,
        from_offset=low,
        to_offset=high,
        stable_end=one.stable_end,
        last_epoch=one.last_epoch if low == one.from_offset else -1,
        continues=low > one.first_readable,
    )


def _packed(small: Sequence[tuple[int, Split]], target: int) -> list[tuple[int, Task]]:
    """Whole partitions together until a task is full, in the order of their names, which readers of the files prune by."""
    packed: list[tuple[int, Task]] = []
    room: list[Split] = []
    filled = 0
    for size, split in sorted(small, key=lambda one: (one[1].topic, one[1].partition)):
        if room and filled + size > target * 1.2:
            packed.append((filled, Task(splits=tuple(room))))
            room, filled = [], 0
        room.append(split)
        filled += size
    if room:
        packed.append((filled, Task(splits=tuple(room))))
    return packed
