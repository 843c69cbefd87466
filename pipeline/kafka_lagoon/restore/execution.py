"""Packs the partitions of a restore into tasks, and runs them on Spark's executors or in this process."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kafka_lagoon.delta import executors
from kafka_lagoon.delta.warehouse import Warehouse

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
_TASKS_PER_CORE = 4


def run_tasks(
    warehouse: Warehouse, work: Callable[[S, Sequence[T]], Sequence[R]], settings: S, tasks: Sequence[Sequence[T]]
) -> list[R]:
    """Run `work` for each item of all tasks; TableError if Spark could not run a task."""
    return [result for some in executors.run_tasks(warehouse, work, settings, tasks) for result in some]


def packed(items: Sequence[T], weight_of: Callable[[T], int], parallelism: int) -> list[list[T]]:
    """The items in tasks of about even weight, several per core, the heaviest first."""
    weighed = sorted(((max(weight_of(item), 1), item) for item in items), key=lambda pair: -pair[0])
    target = -(-sum(weight for weight, _ in weighed) // (parallelism * _TASKS_PER_CORE)) if weighed else 0
    tasks: list[list[T]] = []
    filled = target
    for weight, item in weighed:
        if filled + weight > target:
            tasks.append([])
            filled = 0
        tasks[-1].append(item)
        filled += weight
    return tasks
