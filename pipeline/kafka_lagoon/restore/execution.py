"""Runs the tasks of a restore on Spark's executors, and packs partitions into tasks."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
_TASKS_PER_CORE = 4


def run_tasks(
    warehouse: Warehouse, work: Callable[[S, Sequence[T]], Sequence[R]], settings: S, tasks: Sequence[Sequence[T]]
) -> list[R]:
    """What `work` returns for each item of all tasks; TableError if Spark could not run one of them."""
    if not tasks:
        return []
    context = warehouse.spark.sparkContext
    try:
        results: list[Any] = context.parallelize(tasks, len(tasks)).map(partial(work, settings)).collect()
    except JAVA_ERRORS as error:
        raise TableError(f"a task on Spark's executors failed: {reason(error)}") from error
    return [result for some in results for result in some]


def packed(items: Sequence[T], weight_of: Callable[[T], int], parallelism: int) -> list[list[T]]:
    """The items in tasks of about even weight, some for each core, the heaviest first."""
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
