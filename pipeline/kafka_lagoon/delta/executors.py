"""Runs tasks on Spark's executors.

Executors import this module, too, once in each of their processes: what only the driver needs is imported where it is used.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.errors import TableError
from kafka_lagoon.garbage import modules_kept

if TYPE_CHECKING:
    from kafka_lagoon.delta.warehouse import Warehouse

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def on_executors(warehouse: "Warehouse", work: Callable[[S, T], R], settings: S, tasks: Sequence[T]) -> list[R]:
    """What `work` returns for each task, in their order; TableError if Spark could not run one of them.

    `work` may be called again with the same task, at any time and anywhere.
    """
    if not tasks:
        return []
    context = warehouse.spark.sparkContext
    try:
        results: list[R] = context.parallelize(tasks, len(tasks)).map(partial(_run, work, settings)).collect()
    except JAVA_ERRORS as error:
        raise TableError(f"a task on Spark's executors failed: {reason(error)}") from error
    return results


def _run(work: Callable[[S, T], R], settings: S, task: T) -> R:
    with modules_kept():
        return work(settings, task)
