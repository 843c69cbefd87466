"""Tasks on Spark's executors: results in order, one clear error, and modules that garbage collections leave out."""

import gc
import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.executors import Meter, attempts, on_executors, parallelism, refuse_alone, run_tasks
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.garbage import modules_kept

pytestmark = pytest.mark.spark


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Warehouse:
    """A place whose session has executors; tables are not needed."""
    return at_path(spark, str(tmp_path / "lake"))


def frozen(settings: str, task: int) -> tuple[str, int, int]:
    """Return the argument, the process id, and the number of objects that garbage collections leave out."""
    return f"{settings} {task}", os.getpid(), gc.get_freeze_count()


def test_a_process_keeps_its_modules_after_its_first_task(warehouse: Warehouse) -> None:
    """Results are in the order of the tasks; collections are short in every process that had a task before."""
    first = on_executors(warehouse, frozen, "task", range(8))
    assert [text for text, _, _ in first] == [f"task {number}" for number in range(8)]
    later = on_executors(warehouse, frozen, "task", range(8))
    counts = {count for _, process, count in later if process in {process for _, process, _ in first}}
    assert counts
    assert min(counts) > 10_000


def test_no_tasks_need_no_spark(warehouse: Warehouse) -> None:
    """Nothing is sent to Spark."""
    assert on_executors(warehouse, frozen, "task", []) == []


def failing(settings: str, task: int) -> int:
    """Make a task that Spark cannot run."""
    raise ValueError(f"{settings} {task}")


def test_a_task_that_fails_is_one_error(warehouse: Warehouse) -> None:
    """The error has the message of the task."""
    with pytest.raises(TableError, match="a task on Spark's executors failed: ValueError: task 0"):
        on_executors(warehouse, failing, "task", [0])


def test_tasks_run_here_where_there_is_no_session(warehouse: Warehouse) -> None:
    """One after the other, in this process, up to a number of bytes; with a session they run on its executors."""
    alone = replace(warehouse, session=None)
    assert [process for _, process, _ in run_tasks(alone, frozen, "task", range(3))] == [os.getpid()] * 3
    assert os.getpid() not in {process for _, process, _ in run_tasks(warehouse, frozen, "task", range(3))}
    assert (parallelism(alone), parallelism(warehouse)) == (1, warehouse.spark.sparkContext.defaultParallelism)
    refuse_alone(alone, 100, 100)
    refuse_alone(warehouse, 101, 100)
    with pytest.raises(NeedsSession):
        refuse_alone(alone, 101, 100)


@pytest.mark.parametrize(
    ("master", "max_failures", "expected"),
    [("local[4]", "4", 1), ("local", None, 1), ("local-cluster[2,1,1024]", "3", 3), ("yarn", None, 4)],
)
def test_attempts_of_a_task(master: str, max_failures: str | None, expected: int) -> None:
    """Spark repeats no task in the process of the driver."""
    conf = {"spark.task.maxFailures": max_failures}
    context = SimpleNamespace(master=master, getConf=lambda: conf)
    warehouse = SimpleNamespace(session=object(), spark=SimpleNamespace(sparkContext=context))
    assert attempts(cast("Warehouse", warehouse)) == expected
    assert attempts(cast("Warehouse", SimpleNamespace(session=None))) == 1


def test_a_driver_keeps_collecting() -> None:
    """On the driver nothing is frozen."""
    before = gc.get_freeze_count()
    with modules_kept():
        pass
    assert gc.get_freeze_count() == before


def slow(_: str, task: int) -> int:
    """A task that takes time."""
    time.sleep(0.4)
    return task


def counted(result: int) -> tuple[int, int]:
    return 1, result


def test_what_tasks_have_done_is_shown_meanwhile(warehouse: Warehouse) -> None:
    """Sums of all results grow while tasks run, and are not shown after the last."""
    shown: list[tuple[int, ...]] = []
    assert on_executors(warehouse, slow, "", range(12), Meter(counted, shown.append)) == list(range(12))
    known = [sums for sums in shown if sums]
    assert known == sorted(known)
    assert known[0][0] < 12
    assert all(total <= sum(range(12)) for _, total in known)
    count = len(shown)
    time.sleep(0.7)
    assert len(shown) == count
