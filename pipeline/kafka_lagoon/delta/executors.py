"""Runs tasks on Spark's executors, or in the process of the driver where there is no session of Spark.

Executors import this module in each of their processes, so modules that only the driver needs are imported where they are
used.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyspark import AccumulatorParam

from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import modules_kept

if TYPE_CHECKING:
    from kafka_lagoon.delta.warehouse import Warehouse

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
Counts = tuple[int, ...]
_SHOWN_EVERY_S = 0.5
_MAX_FAILURES = 4  # Spark's default


@frozen(kw_only=False)
class Meter(Generic[R]):
    """Counts the work of tasks: `count` counts a result, on executors; `show` is called with the sums so far, on the driver.

    A task that Spark runs twice is counted twice.
    """

    count: Callable[[R], Counts]
    show: Callable[[Counts], None]


class _Sums(AccumulatorParam[Counts]):
    """Adds counts element by element; the empty tuple is zero."""

    def zero(self, value: Counts) -> Counts:  # noqa: ARG002  pyspark's signature
        return ()

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802  pyspark's names
        return tuple(map(sum, zip(value1, value2, strict=True))) if value1 and value2 else value1 or value2


def refuse_alone(warehouse: "Warehouse", size: int, most: int) -> None:
    """Raise NeedsSession if there is no session of Spark, and tasks would read more than `most` bytes in this process."""
    if warehouse.session is None and size > most:
        raise NeedsSession(f"{size:,} bytes are read on Spark's executors, and there is no session")


def parallelism(warehouse: "Warehouse") -> int:
    """The number of tasks that run at the same time: one where there is no session of Spark."""
    return 1 if warehouse.session is None else int(warehouse.spark.sparkContext.defaultParallelism)


def attempts(warehouse: "Warehouse") -> int:
    """The number of failures of a task that end the job: one where all tasks run in this process or on this machine."""
    if warehouse.session is None:
        return 1
    context = warehouse.spark.sparkContext
    is_local = (context.master or "").split("[")[0] == "local"
    return 1 if is_local else int(context.getConf().get("spark.task.maxFailures") or _MAX_FAILURES)


def run_tasks(
    warehouse: "Warehouse", work: Callable[[S, T], R], settings: S, tasks: Sequence[T], meter: Meter[R] | None = None
) -> list[R]:
    """Run `work` for each task on executors, or in this process where there is no session; return the results in order.

    `work` may be called again with the same task. Errors are those of `on_executors`.
    """
    if warehouse.session is None:
        return on_driver(work, settings, tasks, meter)
    return on_executors(warehouse, work, settings, tasks, meter)


def on_executors(
    warehouse: "Warehouse", work: Callable[[S, T], R], settings: S, tasks: Sequence[T], meter: Meter[R] | None = None
) -> list[R]:
    """Run `work` for each task and return the results in order; TableError if Spark could not run a task.

    `work` may be called again with the same task, at any time and on any executor. ConfigError if a secret could be read by
    others.
    """
    from kafka_lagoon.delta.spark_channels import refuse_open_channels  # noqa: PLC0415

    if not tasks:
        return []
    context = warehouse.spark.sparkContext
    refuse_open_channels(context, settings)
    try:
        with _counted(context, meter) as add:
            results: list[R] = context.parallelize(tasks, len(tasks)).map(partial(_run, work, settings, add)).collect()
    except JAVA_ERRORS as error:
        raise TableError(f"a task on Spark's executors failed: {reason(error)}") from error
    return results


def on_driver(work: Callable[[S, T], R], settings: S, tasks: Sequence[T], meter: Meter[R] | None = None) -> list[R]:
    """Run `work` for each task in this process, one after the other, and return the results in order."""
    results: list[R] = []
    sums: Counts = ()
    for task in tasks:
        results.append(work(settings, task))
        if meter:
            sums = _SUMS.addInPlace(sums, meter.count(results[-1]))
            meter.show(sums)
    return results


def _run(work: Callable[[S, T], R], settings: S, add: Callable[[R], None] | None, task: T) -> R:
    with modules_kept():
        result = work(settings, task)
        if add:
            add(result)
        return result


_SUMS = _Sums()


@contextmanager
def _counted(context: Any, meter: Meter[R] | None) -> Iterator[Callable[[R], None] | None]:
    """A function that tasks call with their results; the sums are shown from time to time while tasks run."""
    if meter is None:
        yield None
        return
    sums, is_over = context.accumulator((), _SUMS), Event()

    def show() -> None:
        while not is_over.wait(_SHOWN_EVERY_S):
            meter.show(sums.value)

    shown = Thread(target=show, name="progress", daemon=True)
    shown.start()
    try:
        yield partial(_add, meter.count, sums)
    finally:
        is_over.set()
        shown.join()


def _add(count: Callable[[R], Counts], sums: Any, result: R) -> None:
    sums.add(count(result))
