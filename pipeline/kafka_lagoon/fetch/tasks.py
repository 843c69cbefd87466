"""Divides planned ranges into tasks of about equal work, by the bytes of each range.

Each split of a divided partition has a task of its own, so that records read after a failed split can be left out; small
partitions share tasks, and so files.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import ceil

from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.split import Split, SplitOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.topic_partition import TopicPartition

_SMALLEST_TASK = 8 << 20  # below this a task costs more than it spreads
_MANY_PARTITIONS = 5_000  # are one task if they are small: about a second, which is worth one file for all
_SLACK = 1.2  # a task may exceed its size by this factor


@frozen
class Task:
    """Splits that one Spark task reads, one after the other."""

    splits: tuple[Split, ...]


@frozen
class TaskOutcome:
    """The outcome of one task: of each of its splits, and the number of data files that hold each partition's records."""

    outcomes: Sequence[SplitOutcome]
    files: Mapping[TopicPartition, int]


def task_bytes(total_bytes: int, parallelism: int, most: int) -> int:
    """Number of bytes a task should read: an even share for each core, in one round of tasks or in several."""
    cores = max(parallelism, 1)
    rounds = max(1, -(-total_bytes // (cores * most)))
    return max(min(_SMALLEST_TASK, most), -(-total_bytes // (cores * rounds)))


def divide(
    ranges: Sequence[PlannedRange], bytes_of: Callable[[PlannedRange], int], parallelism: int, most: int
) -> list[Task]:
    """Tasks of about `task_bytes` each, large ones first, so that the last to end is a small one.

    Ranges without readable offsets have no split.
    """
    sizes = {(one.topic, one.partition): bytes_of(one) for one in ranges}
    target = task_bytes(sum(sizes.values()), parallelism, most)
    tasks: list[tuple[int, Task]] = []
    small: list[tuple[int, Split]] = []
    for planned in ranges:
        size = sizes[planned.topic, planned.partition]
        splits = _splits(planned, size, target)
        if len(splits) == 1:
            small.append((size, splits[0]))
        else:
            tasks += [(split.expected_bytes or 0, Task(splits=(split,))) for split in splits]
    tasks += _packed(small, target, max(_MANY_PARTITIONS, -(-len(small) // max(parallelism, 1))))
    return [task for _, task in sorted(tasks, key=lambda weighed: -weighed[0])]


def _splits(planned: PlannedRange, size: int, target: int) -> list[Split]:
    """Splits of `target` bytes and one with the rest, so that tasks of even work and smaller ones fill all cores.

    A rest that is too small for a task is spread over the others. Bytes are taken to be spread evenly over the offsets. All but
    the first may begin in the middle of a batch, which is read twice.
    """
    start, length = planned.first_readable, planned.to_offset - planned.first_readable
    if not length:
        return []
    parts = size / target
    count = min(max(1, ceil(parts - (_SLACK - 1))), length)
    each = length / max(1.0, min(parts, count))
    cuts = [start + int(each * number) for number in range(count)] + [planned.to_offset]
    return [_split(planned, low, high, size * (high - low) // length) for low, high in pairwise(cuts)]


def _split(planned: PlannedRange, low: int, high: int, size: int) -> Split:
    return Split(
        topic=planned.topic,
        topic_id=planned.topic_id,
        partition=planned.partition,
        from_offset=low,
        to_offset=high,
        stable_end=planned.stable_end,
        last_epoch=planned.last_epoch if low == planned.from_offset else -1,
        continues=low > planned.first_readable,
        expected_bytes=size,
    )


def _packed(small: Sequence[tuple[int, Split]], target: int, most: int) -> list[tuple[int, Task]]:
    """Whole partitions together until a task is full, in the order of their names, which readers of the files prune by.

    A partition costs time beside its bytes: `most` of them are a full task, however small they are.
    """
    packed: list[tuple[int, Task]] = []
    batch: list[Split] = []
    filled, fixed = 0.0, target / most
    for size, split in sorted(small, key=lambda sized: (sized[1].topic, sized[1].partition)):
        if batch and (filled + size > target * _SLACK or len(batch) >= most):
            packed.append((int(filled), Task(splits=tuple(batch))))
            batch, filled = [], 0.0
        batch.append(split)
        filled += size + fixed
    if batch:
        packed.append((int(filled), Task(splits=tuple(batch))))
    return packed
