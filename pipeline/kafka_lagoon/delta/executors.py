"""Runs tasks on Spark's executors."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.garbage import modules_kept

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def on_executors(warehouse: Warehouse, work: Callable[[S, T], R], settings: S, tasks: Sequence[T]) -> list[R]:
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
