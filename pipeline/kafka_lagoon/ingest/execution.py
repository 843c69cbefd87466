"""Runs the tasks of an ingest on Spark's executors, or in this process where no session of Spark runs."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from kafka_lagoon.delta import executors
from kafka_lagoon.delta.executors import Meter
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskResult, TaskSettings, archive_or_repeat
from kafka_lagoon.ingest.task_progress import Totals, progress_folder, totals, totals_in

Advanced = Callable[[int, int, int], None]  # called with offsets, records and fetched bytes so far


def run_tasks(
    warehouse: Warehouse, settings: TaskSettings, tasks: Sequence[Task], advanced: Advanced | None = None
) -> list[TaskResult]:
    """Run tasks and return their results in order; TableError if a task could not write, and then files are removed."""
    work = partial(archive_or_repeat, executors.attempts(warehouse))
    if warehouse.session is None or advanced is None:
        meter = Meter(_counted, lambda sums: advanced(*sums)) if advanced else None
        results = executors.run_tasks(warehouse, work, settings, tasks, meter)
    else:
        with progress_folder(warehouse.spark.sparkContext.master or "") as folder:
            meter = Meter(_counted, lambda sums: advanced(*(sums if folder is None else totals_in(folder))))
            reporting = replace(settings, progress_folder=folder)
            results = executors.run_tasks(warehouse, work, reporting, tasks, meter)
    errors = [result.error for result in results if result.error]
    if errors:
        for file in (file for result in results for file in result.files):
            with suppress(TableError):  # no version names it, so that VACUUM removes it; the task's error is the cause
                warehouse.kernel.storage.delete(file.url)
        raise TableError(errors[0])
    return results


def _counted(result: TaskResult) -> Totals:
    return totals(outcome.counts for outcome in result.outcome.outcomes)
