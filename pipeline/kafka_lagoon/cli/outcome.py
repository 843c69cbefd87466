"""The outcome of a job for one cluster (`maintain`: one table), and the log event `run_finished` that reports it.

Every run writes it: also for a cluster that failed, a lock that another run holds, a slot that was published before, and
settings with faults. docs/exit-codes.md lists the fields of the event, and is generated from the declarations here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
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
    OutputFailed,
    Steps,
    UsageError,
    code_of,
    complain,
    expected,
    problems_of,
    say,
    was_interrupted,
)
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.metrics.exposition import Sample
from kafka_lagoon.terminations import interrupted_code

_WAIT_S = 0.5
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
_logged: "list[RunOutcome]" = []  # of this job: those whose event is written


def _value(meaning: str, *jobs: str) -> Any:
    """Declare a field of the event, of all jobs or of the named jobs; null until it is known."""
    return field(default=None, metadata={"meaning": meaning, "jobs": jobs or JOBS})


@dataclass(slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a run, filled in while the job runs; unknown values stay null."""

    job: str = _value("`snapshot`, `ingest`, `maintain`, `restore`, `apply` or `report`")
    cluster: str | None = _value(
        "name of the cluster in the settings; of a restore the target cluster",
        SNAPSHOT,
        INGEST,
        RESTORE,
        APPLY,
    )
    cluster_id: str | None = _value(
        "Kafka's id of the cluster; null if the cluster did not answer", SNAPSHOT, INGEST, RESTORE, APPLY
    )
    table: str | None = _value("name of the table", MAINTAIN)
    slot: str | None = _value("`--slot`, or the start time of the run", SNAPSHOT)
    snapshot_id: str | None = _value("id of the published snapshot", SNAPSHOT)
    already_published: bool | None = _value("true if an earlier run had published the slot", SNAPSHOT)
    ingest_id: str | None = _value("id of the run in `record_ranges`; null if there were no new records", INGEST)
    restore_id: str | None = _value("id of the restore in `restore_map`; null if none was begun", RESTORE)
    status: str | None = _value("`complete`, `partial`, `failed`, `misconfigured` or `locked`")
    exit_code: int | None = _value(
        "exit code that a run for this cluster or table alone would have: 129, 130 or 143 if interrupted"
    )
    error: str | None = _value("reason why nothing was written, or why a partial result is a failure")
    failures: int | None = _value(
        "snapshot: rows of `collection_failures`; ingest: partitions that were not read to their end, requests that failed, "
        "and ranges that the next run has to add; restore: partitions that were not written, or whose records read back differ "
        "from the archive, and offsets of groups that were not committed; apply: actions that failed",
        SNAPSHOT,
        INGEST,
        RESTORE,
        APPLY,
    )
    brokers: int | None = _value("rows of table `brokers`", SNAPSHOT)
    topics: int | None = _value(
        "snapshot: topics of the cluster; ingest and restore: chosen topics", SNAPSHOT, INGEST, RESTORE
    )
    partitions: int | None = _value(
        "snapshot: partitions of the cluster; ingest: partitions with new records; restore: partitions to restore",
        SNAPSHOT,
        INGEST,
        RESTORE,
    )
    groups: int | None = _value("rows of `consumer_groups`", SNAPSHOT)
    worst_lag: int | None = _value("largest known lag", SNAPSHOT)
    worst_lag_group: str | None = _value("group with the largest known lag", SNAPSHOT)
    worst_lag_topic: str | None = _value("topic with the largest known lag", SNAPSHOT)
    worst_lag_partition: int | None = _value("partition with the largest known lag", SNAPSHOT)
    records: int | None = _value(
        "ingest: records added to table `records`; restore: records that this run has written", INGEST, RESTORE
    )
    bytes_fetched: int | None = _value("bytes of record batches as the brokers sent them", INGEST)
    lost: int | None = _value(
        "offsets that were deleted before they were read, or that the log lacks without compaction", INGEST
    )
    corrupt: int | None = _value("offsets in batches that could not be decoded", INGEST)
    unread: int | None = _value("planned offsets that are left for the next run", INGEST)
    run_id: str | None = _value("id of the run in `admin_actions`; null if nothing was sent", APPLY)
    plan_id: str | None = _value("id of the plan", APPLY)
    actions: int | None = _value("actions of the plan", APPLY)
    done: int | None = _value("actions that were carried out", APPLY)
    unknown: int | None = _value("actions without a response: they may have been carried out", APPLY)
    dry_run: bool | None = _value("true for a dry run, which changes nothing", MAINTAIN, RESTORE, APPLY)
    rows_removed: int | None = _value("rows that were older than [retention] allows", MAINTAIN)
    files_rewritten: int | None = _value("small files that were joined", MAINTAIN)
    files_removed: int | None = _value("files that no kept version of the table needs", MAINTAIN)
    page: str | None = _value("path of the page", REPORT)
    page_bytes: int | None = _value("size of the page", REPORT)
    seconds: float | None = _value("duration of the run")
    requests: int | None = _value(
        "requests sent to brokers; those of executors are not counted", SNAPSHOT, INGEST, RESTORE, APPLY
    )
    request_stats: RequestStats = field(default_factory=RequestStats)
    lines: list[str] = field(default_factory=list)  # printed when the outcome is reported
    metrics: Sequence[Sample] = ()  # of the tables that the run has published
    when_ended: "Callable[[RunOutcome], None] | None" = None  # called once the run has its exit code and status

    def event(self) -> dict[str, Any]:
        """Return the values of the event, in the order of the declarations."""
        return {
            declared.name: getattr(self, declared.name)
            for declared in event_fields()
            if self.job in declared.metadata["jobs"]
        }


def event_fields() -> list[Any]:
    """Return the declarations of all fields of events; `metadata` has the meaning and the jobs."""
    return [declared for declared in fields(RunOutcome) if declared.metadata]


class OutcomeProgress(Steps):
    """Shows the steps of a run over one cluster, and fills in values of its outcome that are known before the end."""

    def __init__(self, outcome: RunOutcome, steps: Sequence[str]) -> None:
        super().__init__(str(outcome.cluster), steps)
        self._outcome = outcome

    def connected(self, cluster_id: str | None) -> None:
        """Keep the id of the cluster that has answered."""
        self._outcome.cluster_id = cluster_id

    def begun(self, restore_id: str) -> None:
        """Keep the id of the restore that has begun."""
        self._outcome.restore_id = restore_id

    def advanced(self, offsets: int, records: int, size: int) -> None:
        """Do nothing: progress within a step is not shown."""


def with_event(job: str, run: Callable[[], int]) -> int:
    """Run a job. An error that is not about a single cluster or table is printed and has an event, too.

    So has an interrupt that comes before the first cluster or table, as while Spark starts: whoever reads the log would believe
    that the job still runs. A UsageError has no event, because the log file is not known then.
    """
    _logged.clear()
    try:
        return run()
    except UsageError:
        raise
    except BaseException as error:
        if not was_interrupted(error) and isinstance(failure := expected(error), PipelineError):
            exit_code = complain(failure)
            _log_event(RunOutcome(job=job, exit_code=exit_code, error="; ".join(problems_of(failure))))
            return exit_code
        if not _logged:
            outcome = RunOutcome(job=job, exit_code=FAILED, error=type(error).__name__)
            if was_interrupted(error):
                outcome.exit_code, outcome.error = interrupted_code(), KeyboardInterrupt.__name__
            _log_event(outcome)
        raise


def one_by_one(outcomes: Iterable[RunOutcome], clock: Clock, run: Callable[[RunOutcome], int]) -> list[int]:
    """Run each outcome and return the exit codes. An error of one cluster or table does not end the others.

    An error that no code expects is raised when all have been run.
    """
    return _reported((outcome, _attempt(outcome, clock, run)) for outcome in outcomes)


def at_once(outcomes: Sequence[RunOutcome], limit: int, clock: Clock, run: Callable[[RunOutcome], int]) -> list[int]:
    """Do the same as `one_by_one`, but run up to `limit` outcomes at once in threads; report them in their order.

    The threads do not keep the process alive: Ctrl-C and SIGTERM end it. Runs that have ended, and those under way, are
    reported first.
    """
    if limit == 1 or len(outcomes) == 1:
        return one_by_one(outcomes, clock, run)
    ends: list[Future[BaseException | None]] = [Future() for _ in outcomes]
    waiting = deque(zip(outcomes, ends, strict=True))

    def work() -> None:
        with suppress(IndexError):  # do not start the waiting runs
            while True:
                outcome, end = waiting.popleft()
                end.set_result(_attempt(outcome, clock, run))

    unreported = deque(zip(outcomes, ends, strict=True))
    try:
        for _ in range(min(limit, len(outcomes))):  # the first may have ended before the last begins
            Thread(target=work, daemon=True).start()
        return _reported(_in_order(unreported))
    except KeyboardInterrupt:
        waiting.clear()
        for outcome, end in unreported:
            _report_interrupted(outcome, end)
        raise


def _in_order(
    unreported: deque[tuple[RunOutcome, Future[BaseException | None]]],
) -> Iterator[tuple[RunOutcome, BaseException | None]]:
    """Wait for each run, and remove it from those that are not reported.

    The wait is cut into steps: a signal that comes between Python's last check for signals and the wait itself does not
    end the wait, and its handler would run only when the run has ended.
    """
    while unreported:
        outcome, end = unreported[0]
        while wait([end], _WAIT_S).not_done:
            pass
        failure = end.result()
        unreported.popleft()
        yield outcome, failure


def _report_interrupted(outcome: RunOutcome, end: Future[BaseException | None]) -> None:
    """Report a run when another one is interrupted; nothing of a run that was not started. A second Ctrl-C ends the reports."""
    if outcome.exit_code is None:
        return
    failure = end.result() if end.done() else KeyboardInterrupt()
    if isinstance(failure, KeyboardInterrupt):
        outcome.error, failure = KeyboardInterrupt.__name__, None
        outcome.exit_code = interrupted_code()
    with suppress(OutputFailed, BrokenPipeError):
        _report(outcome, failure)


def _reported(runs: Iterable[tuple[RunOutcome, BaseException | None]]) -> list[int]:
    """Report each run when it has ended; return the exit codes, or raise the first unexpected error.

    A standard output that cannot be written is such an error: the other clusters are run before it ends the command.
    """
    exit_codes, unexpected = list[int](), list[Exception]()
    for outcome, failure in runs:
        try:
            exit_codes.append(_report(outcome, failure))
        except (OutputFailed, BrokenPipeError) as error:
            unexpected.append(error)
        if isinstance(failure, Exception) and not isinstance(failure, PipelineError):
            unexpected.append(failure)
    if unexpected:
        raise unexpected[0]
    return exit_codes


def _attempt(outcome: RunOutcome, clock: Clock, run: Callable[[RunOutcome], int]) -> BaseException | None:
    """Run a job for an outcome; return the exception that it raised, or None."""
    failure: BaseException | None = None
    started = clock.monotonic()
    outcome.exit_code = FAILED
    try:
        outcome.exit_code = run(outcome)
    except PipelineError as error:
        outcome.error, failure = "; ".join(problems_of(error)), error
    except BaseException as error:  # noqa: BLE001  raised again after the report
        outcome.error, failure = type(error).__name__, error  # the event has only its type: its text may hold secrets
    if failure and was_interrupted(failure):  # the other clusters are not tried then
        outcome.error, failure = KeyboardInterrupt.__name__, KeyboardInterrupt()
        outcome.exit_code = interrupted_code()
    elif failure and isinstance(failure := expected(failure), PipelineError):
        outcome.error = "; ".join(problems_of(failure))
    outcome.seconds = round(clock.monotonic() - started, 3)
    outcome.requests = sum(api.requests for api in outcome.request_stats.by_api.values())
    if isinstance(failure, PipelineError):
        outcome.exit_code = code_of(failure)
    outcome.status = outcome.status or _status(outcome.exit_code)
    if outcome.when_ended:
        try:
            outcome.when_ended(outcome)
        except Exception as error:  # noqa: BLE001  raised again after the report
            failure = failure or error
    return failure


def _status(exit_code: int) -> str:
    """Return the status of a run by its exit code; an interrupted one has failed."""
    return STATUS.get(exit_code, STATUS[FAILED])


def _report(outcome: RunOutcome, failure: BaseException | None) -> int:
    """Print the lines of a run and write its event; return the exit code. Ctrl-C and the like are raised again."""
    try:
        for line in outcome.lines:
            say(line)
        if isinstance(failure, PipelineError):
            complain(failure, outcome.cluster or outcome.table)
    finally:  # also where the lines cannot be written
        exit_code = _log_event(outcome)
    if failure and not isinstance(failure, Exception):
        raise failure
    return exit_code


def _log_event(outcome: RunOutcome) -> int:
    """Write the event of a run; return the exit code."""
    exit_code = FAILED if outcome.exit_code is None else outcome.exit_code
    outcome.status = outcome.status or _status(exit_code)
    _logged.append(outcome)
    (log.info if exit_code == COMPLETE else log.error)(EVENT, **outcome.event())
    return exit_code
