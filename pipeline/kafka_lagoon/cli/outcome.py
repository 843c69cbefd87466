"""The outcome of a job for one cluster (`maintain`: one table), and the log event `run_finished` that reports it.

The event is written whatever happens: also for a cluster that failed, a lock that another run holds, a slot that had been
published before, and settings that cannot work. docs/exit-codes.md lists its fields from the declarations here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, fields
from threading import Thread
from typing import Any

from kafka_lagoon import log
from kafka_lagoon.cli.terminal import (
    BAD_CONFIGURATION,
    COMPLETE,
    FAILED,
    INCOMPLETE,
    LOCKED,
    Steps,
    UsageError,
    complain,
    problems_of,
    say,
)
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.metrics.exposition import Sample

EVENT = "run_finished"
SNAPSHOT, INGEST, MAINTAIN = "snapshot", "ingest", "maintain"
RESTORE, APPLY, REPORT = "restore", "apply", "report"
JOBS = (SNAPSHOT, INGEST, MAINTAIN, RESTORE, APPLY, REPORT)
PARTIAL = "partial"
STATUS = {
    COMPLETE: "complete",
    FAILED: "failed",
    BAD_CONFIGURATION: "misconfigured",
    INCOMPLETE: PARTIAL,
    LOCKED: "locked",
}


def _value(meaning: str, *jobs: str) -> Any:
    """Declare a field of the event, of all jobs or of the named jobs; null until it is known."""
    return field(default=None, metadata={"meaning": meaning, "jobs": jobs or JOBS})


@dataclass(slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a run, filled in while the job runs; unknown values stay null."""

    job: str = _value("`snapshot`, `ingest`, `maintain`, `restore`, `apply` or `report`")
    cluster: str | None = _value(
        "name of the cluster in the settings; of a restore the one that gets the records",
        SNAPSHOT,
        INGEST,
        RESTORE,
        APPLY,
    )
    cluster_id: str | None = _value("Kafka's id of it; null if it did not answer", SNAPSHOT, INGEST, RESTORE, APPLY)
    table: str | None = _value("name of the table", MAINTAIN)
    slot: str | None = _value("`--slot`, or when the run began", SNAPSHOT)
    snapshot_id: str | None = _value("the published snapshot", SNAPSHOT)
    already_published: bool | None = _value("whether an earlier run had published the slot", SNAPSHOT)
    ingest_id: str | None = _value("the run in `record_ranges`; null if there was nothing new", INGEST)
    restore_id: str | None = _value("the restore in `restore_map`; null if none was begun", RESTORE)
    status: str | None = _value("`complete`, `partial`, `failed`, `misconfigured` or `locked`")
    exit_code: int | None = _value("exit code of a run over this cluster or table alone")
    error: str | None = _value("why nothing was written, or why a partial result is a failure")
    failures: int | None = _value(
        "rows of `collection_failures`; in an ingest, partitions that were not read to their end and requests that failed; in "
        "a restore, partitions that are not written, or were not read back as they are archived; in an apply, actions that "
        "failed",
        SNAPSHOT,
        INGEST,
        RESTORE,
        APPLY,
    )
    brokers: int | None = _value("rows of table `brokers`", SNAPSHOT)
    topics: int | None = _value("topics of the snapshot, or topics that were chosen", SNAPSHOT, INGEST, RESTORE)
    partitions: int | None = _value(
        "partitions of the snapshot, with something new, or to be restored", SNAPSHOT, INGEST, RESTORE
    )
    groups: int | None = _value("rows of `consumer_groups`", SNAPSHOT)
    worst_lag: int | None = _value("largest known lag", SNAPSHOT)
    worst_lag_group: str | None = _value("group that has it", SNAPSHOT)
    worst_lag_topic: str | None = _value("topic where it has it", SNAPSHOT)
    worst_lag_partition: int | None = _value("partition where it has it", SNAPSHOT)
    records: int | None = _value(
        "records added to table `records`, or written by this run of a restore", INGEST, RESTORE
    )
    bytes_fetched: int | None = _value("bytes of record batches as the brokers sent them", INGEST)
    lost: int | None = _value("offsets that were deleted before they were read", INGEST)
    corrupt: int | None = _value("offsets in batches that could not be decoded", INGEST)
    unread: int | None = _value("planned offsets that are left to the next run", INGEST)
    run_id: str | None = _value("the run in `admin_actions`; null if nothing was sent", APPLY)
    plan_id: str | None = _value("the plan", APPLY)
    actions: int | None = _value("actions of the plan", APPLY)
    done: int | None = _value("actions that were carried out", APPLY)
    unknown: int | None = _value("actions of which it is not known whether they were", APPLY)
    dry_run: bool | None = _value("whether nothing was changed", MAINTAIN, RESTORE, APPLY)
    rows_removed: int | None = _value("rows older than settings of retention keep them", MAINTAIN)
    files_rewritten: int | None = _value("small files that were joined", MAINTAIN)
    files_removed: int | None = _value("files that no version needs", MAINTAIN)
    page: str | None = _value("the file that was written", REPORT)
    page_bytes: int | None = _value("its size", REPORT)
    seconds: float | None = _value("duration")
    requests: int | None = _value(
        "requests sent to brokers; those of executors are not counted", SNAPSHOT, INGEST, RESTORE, APPLY
    )
    request_stats: RequestStats = field(default_factory=RequestStats)
    lines: list[str] = field(default_factory=list)  # what is printed of it, when it is reported
    metrics: Sequence[Sample] = ()  # of what the run has published

    def event(self) -> dict[str, Any]:
        """The values of the event, in the order of the declarations."""
        return {
            declared.name: getattr(self, declared.name)
            for declared in event_fields()
            if self.job in declared.metadata["jobs"]
        }


def event_fields() -> list[Any]:
    """Declarations of all fields that some job's event has; `metadata` has the meaning and the jobs."""
    return [declared for declared in fields(RunOutcome) if declared.metadata]


class OutcomeProgress(Steps):
    """Shows the steps of a run over one cluster, and writes into its outcome what is known before the end."""

    def __init__(self, outcome: RunOutcome, steps: Sequence[str]) -> None:
        super().__init__(str(outcome.cluster), steps)
        self._outcome = outcome

    def connected(self, cluster_id: str | None) -> None:
        """Keep the id of the cluster that has answered."""
        self._outcome.cluster_id = cluster_id

    def advanced(self, offsets: int, records: int, size: int) -> None:
        """Ignore the progress within a step."""


def with_event(job: str, run: Callable[[], int]) -> int:
    """Run a job; an error that concerns no single cluster or table is printed and has an event, too.

    A UsageError has no event, because it is not known where the log goes.
    """
    try:
        return run()
    except UsageError:
        raise
    except PipelineError as error:
        exit_code = complain(error)
        outcome = RunOutcome(
            job=job, status=STATUS[exit_code], exit_code=exit_code, error="; ".join(problems_of(error))
        )
        log.error(EVENT, **outcome.event())
        return exit_code


def one_by_one(outcomes: Iterable[RunOutcome], clock: Clock, run: Callable[[RunOutcome], int]) -> list[int]:
    """The exit codes of `run` over each outcome; an error ends the run of one cluster or table, not of the others."""
    return [_report(outcome, _attempt(outcome, clock, run)) for outcome in outcomes]


def at_once(outcomes: Sequence[RunOutcome], limit: int, clock: Clock, run: Callable[[RunOutcome], int]) -> list[int]:
    """As `one_by_one`, but up to `limit` of them are under way at once, each in a thread; reported in their order.

    The threads do not keep the process alive: Ctrl-C ends it.
    """
    if limit == 1 or len(outcomes) == 1:
        return one_by_one(outcomes, clock, run)
    ends: list[Future[BaseException | None]] = [Future() for _ in outcomes]
    waiting = deque(zip(outcomes, ends, strict=True))

    def work() -> None:
        with suppress(IndexError):  # nothing waits any more
            while True:
                outcome, end = waiting.popleft()
                end.set_result(_attempt(outcome, clock, run))

    for _ in range(min(limit, len(outcomes))):
        Thread(target=work, daemon=True).start()
    return [_report(outcome, end.result()) for outcome, end in zip(outcomes, ends, strict=True)]


def _attempt(outcome: RunOutcome, clock: Clock, run: Callable[[RunOutcome], int]) -> BaseException | None:
    """Run a job for an outcome; the exception that it raised."""
    failure: BaseException | None = None
    started = clock.monotonic()
    outcome.exit_code = FAILED
    try:
        outcome.exit_code = run(outcome)
    except PipelineError as error:
        outcome.error, failure = "; ".join(problems_of(error)), error
    except BaseException as error:  # noqa: BLE001  raised once it is reported
        outcome.error, failure = type(error).__name__, error  # its words are for the traceback: they may hold anything
    outcome.seconds = round(clock.monotonic() - started, 3)
    outcome.requests = sum(api.requests for api in outcome.request_stats.by_api.values())
    return failure


def _report(outcome: RunOutcome, failure: BaseException | None) -> int:
    """Print the lines of a run and write its event; the exit code."""
    for line in outcome.lines:
        say(line)
    if isinstance(failure, PipelineError):
        outcome.exit_code = complain(failure, outcome.cluster or outcome.table)
    exit_code = FAILED if outcome.exit_code is None else outcome.exit_code
    outcome.status = outcome.status or STATUS[exit_code]
    (log.info if exit_code == COMPLETE else log.error)(EVENT, **outcome.event())
    if failure and not isinstance(failure, PipelineError):
        raise failure
    return exit_code
