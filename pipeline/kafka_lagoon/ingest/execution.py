"""Runs the tasks of an ingest on Spark's executors."""

from collections.abc import Sequence

from kafka_lagoon.delta.executors import Meter, on_executors
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskResult, TaskSettings, archive


def run_tasks(
    warehouse: Warehouse, settings: TaskSettings, tasks: Sequence[Task], meter: Meter[TaskResult] | None = None
) -> list[TaskResult]:
    """Run tasks and return their results in order; TableError, with no file left behind, if a task could not write."""
    results = on_executors(warehouse, archive, settings, tasks, meter)
    errors = [result.error for result in results if result.error]
    if errors:
        for file in (file for result in results for file in result.files):
            warehouse.kernel.storage.delete(file.url)
        raise TableError(errors[0])
    return results


def counted(result: TaskResult) -> tuple[int, int, int]:
    """Offsets, records and fetched bytes of a task that has ended."""
    counts = [outcome.counts for outcome in result.outcome.outcomes]
    return (
        sum(one.offsets() for one in counts),
        sum(one.records for one in counts),
        sum(one.bytes_fetched for one in counts),
    )
