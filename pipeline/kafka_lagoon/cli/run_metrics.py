"""Writes the metrics of a run to `metrics.folder` when it ends or fails: one file about the run, one about its result.

A run that has written nothing to the tables does not replace the second file, so that a scraper still finds the age and the lag
of the newest snapshot. If there is no such file, it writes none: another host may have published a snapshot. Dry runs write
neither file, nor do runs whose settings cannot be read, because the settings name the folder.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kafka_lagoon.cli.outcome import PARTIAL, STATUS, RunOutcome
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, code_of, warn, was_interrupted
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError, PipelineError
from kafka_lagoon.metrics import run
from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.metrics.textfile import file_name, replace_file, replaced_place
from kafka_lagoon.settings import Settings
from kafka_lagoon.terminations import interrupted_code
from kafka_lagoon.warehouse_urls import local_folder

_OF_CLUSTER = "give the clusters names of their own, [clusters.NAME] (docs/monitoring.md)"
_OF_TABLES = "it shows the last one only (docs/monitoring.md)"
_IN_TABLES = (STATUS[COMPLETE], PARTIAL)


@contextmanager
def metrics_written(settings: Settings | None, outcomes: Sequence[RunOutcome], clock: Clock) -> Iterator[None]:
    """Write the files of each outcome when its run ends, and of the others when the block ends, also by an error.

    A run over many clusters may be killed by the scheduler because of one. Print a line if a file cannot be written, or if it
    was that of another warehouse: two clusters of the same name, `default` say, replace each other's files.
    """
    folder = settings.metrics.folder if settings else None

    def write(outcome: RunOutcome) -> None:
        outcome.when_ended = None
        if settings is not None and folder is not None and not outcome.dry_run:
            _write(Path(folder), outcome, clock.now_ms() / 1000, _place(settings))

    for outcome in outcomes:
        outcome.when_ended = write
    try:
        yield
    except (PipelineError, KeyboardInterrupt) as error:  # it ends the run before its outcomes are reported
        for outcome in outcomes:
            if outcome.status is None and isinstance(error, PipelineError) and not was_interrupted(error):
                outcome.exit_code = code_of(error)
                outcome.status = STATUS[outcome.exit_code]
            elif outcome.status is None:
                outcome.exit_code = interrupted_code()
        raise
    finally:
        for outcome in outcomes:
            if outcome.when_ended:
                write(outcome)


def write_refused(job: str, settings: Settings, error: ConfigError, clock: Clock) -> None:
    """Write the files of a run that was refused before it began: its settings could be read, and cannot work."""
    outcomes = [RunOutcome(job=job, cluster=name) for name in settings.named_clusters()]
    with suppress(ConfigError), metrics_written(settings, outcomes, clock):
        raise error


def _place(settings: Settings) -> str | None:
    """The place of the tables, in one spelling for each folder; None if the run has no tables."""
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    if folder is not None:
        return os.path.realpath(folder)
    return settings.place() if settings.has_tables() else None


def _write(folder: Path, outcome: RunOutcome, now: float, place: str | None) -> None:
    status = outcome.status or STATUS[FAILED]  # an unexpected error ended the run before it was reported
    parts = [outcome.job, *([outcome.cluster] if outcome.cluster else [])]
    path = folder / file_name("run", *parts)
    if place is not None and (other := replaced_place(path, place)):
        cure = _OF_CLUSTER if outcome.cluster else _OF_TABLES
        warn(f"metrics.folder: {path.name} had the metrics of tables in {other}: {cure}")
    try:
        replace_file(path, run_samples(outcome, status, now), place)
        if status in _IN_TABLES and not outcome.already_published:
            success = Sample(run.LAST_SUCCESS, _labels(outcome), now)
            replace_file(folder / file_name("result", *parts), [success, *outcome.metrics], place)
    except OSError as error:
        warn(f"metrics.folder: {folder}: {error.strerror}")


def run_samples(outcome: RunOutcome, status: str, now: float) -> Iterator[Sample]:
    """Make samples about the end of a run; unknown values have no sample."""
    labels = _labels(outcome)
    for name in STATUS.values():
        yield Sample(run.STATUS, (*labels, name), name == status)
    yield Sample(run.END, labels, now)
    values: dict[Metric, float | None] = {
        run.EXIT_CODE: FAILED if outcome.exit_code is None else outcome.exit_code,
        run.DURATION: outcome.seconds,
        run.FAILURES: outcome.failures,
        run.REQUESTS: outcome.requests if outcome.cluster else None,
        run.RECORDS: outcome.records,
        run.FETCHED: outcome.bytes_fetched,
        run.LOST: outcome.lost,
        run.CORRUPT: outcome.corrupt,
        run.UNREAD: outcome.unread,
    }
    yield from (Sample(metric, labels, value) for metric, value in values.items() if value is not None)


def _labels(outcome: RunOutcome) -> tuple[str, str | None]:
    return outcome.job, outcome.cluster
