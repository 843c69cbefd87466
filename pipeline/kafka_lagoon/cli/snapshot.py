"""Runs `lagoon snapshot`: takes and reports one snapshot per cluster.

Clusters do not depend on each other: if one fails, snapshots of the others are taken, and the exit code is 3.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime

from kafka_lagoon.cli.arguments import add_create, parsed_time
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.file_modes import check_creation, loaded
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.outcome import PARTIAL, SNAPSHOT, OutcomeProgress, RunOutcome, at_once
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.summary import snapshot_line
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, warn, worst, worst_of_clusters
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.join_today import join_today
from kafka_lagoon.delta.publish import PublishedSlot
from kafka_lagoon.errors import ConfigError, PipelineError, SnapshotIncomplete
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.metrics.snapshots import snapshot_facts, snapshot_samples
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.snapshot import take_snapshot, worst_lag
from kafka_lagoon.settings import Settings
from kafka_lagoon.snapshot.collect import STEPS
from kafka_lagoon.snapshot.collectors import skipped_tables
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.text import counted
from kafka_lagoon.times import FORMS


@frozen
class SnapshotArguments:
    """Settings and options of a run; `slot_ms` is the scheduler's time in epoch milliseconds."""

    settings: Settings
    slot_ms: int


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--slot",
        metavar="TIME",
        help=f"the scheduler's time ({FORMS}); only one snapshot is published for it; default: now",
    )
    add_create(parser)
    parser.add_argument("--accept-incomplete", action="store_true", help="exit 0 even if brokers did not answer")


def snapshot_arguments(options: Namespace, environ: Mapping[str, str], clock: Clock) -> SnapshotArguments:
    """Check options and settings; ConfigError lists every fault."""
    problems: list[str] = []
    slot_ms = parsed_time("--slot", options.slot, clock, problems)
    accepted = ["snapshot.accept_incomplete=true", "snapshot.fail_when_incomplete=false"]
    try:
        settings = loaded(options, environ, accepted if options.accept_incomplete else ())
        if slot_ms is not None:
            problems += _distance_problems(options.slot, abs(clock.now_ms() - slot_ms), settings.snapshot)
        skipped_tables(settings.snapshot.skip_tables)
        check_creation(settings)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)
    return SnapshotArguments(settings=settings, slot_ms=clock.now_ms() if slot_ms is None else slot_ms)


def _distance_problems(slot: str, distance_ms: int, limits: SnapshotSettings) -> list[str]:
    if distance_ms <= limits.slot_max_age_ms:
        return []
    limit = "only the current state of a cluster can be captured; see snapshot.slot_max_age_ms"
    return [f"--slot {slot} is {distance_ms // 60_000} minutes from now: {limit}"]


def take_snapshots(arguments: SnapshotArguments, clock: Clock) -> int:
    """Take snapshots of all clusters of the settings, several at once; return the exit code of all."""
    limits = arguments.settings.snapshot
    slot = datetime.fromtimestamp(arguments.slot_ms / 1000, UTC).isoformat(timespec="milliseconds")
    outcomes = [RunOutcome(job=SNAPSHOT, cluster=name, slot=slot) for name in arguments.settings.named_clusters()]
    history_by_spark = limits.time_lag == "interpolate"
    written = metrics_written(arguments.settings.metrics.folder, outcomes, clock)
    with written, RunContext(SNAPSHOT, arguments.settings, clock, needs_session=history_by_spark) as context:
        codes = at_once(
            outcomes, limits.clusters_at_once, clock, lambda outcome: _take_one(context, arguments.slot_ms, outcome)
        )
        if any(outcome.snapshot_id for outcome in outcomes):
            _join_today(context)
    return worst(codes) if limits.fail_when_incomplete else worst_of_clusters(codes)


def _join_today(context: RunContext) -> None:
    """Join small files; the snapshots are published, so a failure is no failure of theirs."""
    try:
        join_today(context.warehouse, context.clock)
    except PipelineError as error:
        warn(f"the files of today were not joined, a later run will: {error}")


def _take_one(context: RunContext, slot_ms: int, outcome: RunOutcome) -> int:
    """Take the snapshot of one cluster, print it and describe it in `outcome`; return the exit code."""
    started, name = context.clock.monotonic(), str(outcome.cluster)
    with OutcomeProgress(outcome, STEPS) as progress:
        result = take_snapshot(context, name, slot_ms, outcome.request_stats, progress)
    if isinstance(result, PublishedSlot):
        outcome.lines.append(_repeated_line(name, result))
        _describe_repeated(outcome, result)
        return _exit_code(context.settings.snapshot, result.status, result.failures)
    line = snapshot_line(result, context.settings.place(), context.clock.monotonic() - started)
    outcome.lines.append(line)
    _describe(outcome, result)
    if context.settings.metrics.folder:
        limits = context.settings.metrics
        outcome.metrics = list(snapshot_samples(snapshot_facts(result), limits.max_groups, limits.max_topics))
    return _exit_code(context.settings.snapshot, result.published.status, result.published.failures)


def _repeated_line(name: str, earlier: PublishedSlot) -> str:
    missing = (
        f"; INCOMPLETE: {counted(earlier.failures, 'failure')}, see table collection_failures"
        if earlier.status == PARTIAL
        else ""
    )
    return f"{name}: the slot is published as snapshot {earlier.snapshot_id}; nothing to do{missing}"


def _describe_repeated(outcome: RunOutcome, earlier: PublishedSlot) -> None:
    """End with the exit code of the run that published the slot: a retry must not make a partial snapshot look complete."""
    outcome.snapshot_id, outcome.already_published = earlier.snapshot_id, True
    outcome.status, outcome.failures = earlier.status, earlier.failures


def _describe(outcome: RunOutcome, snapshot: Snapshot) -> None:
    row = snapshot.published
    outcome.snapshot_id, outcome.already_published = snapshot.header.snapshot_id, False
    outcome.status, outcome.failures = row.status, row.failures
    outcome.brokers, outcome.topics = row.brokers, row.topics
    outcome.partitions, outcome.groups = row.partitions, row.groups
    worst = worst_lag(snapshot)
    if worst:
        outcome.worst_lag, outcome.worst_lag_group = worst.lag, worst.group_id
        outcome.worst_lag_topic, outcome.worst_lag_partition = worst.topic, worst.partition


def _exit_code(limits: SnapshotSettings, status: str, failures: int) -> int:
    """Return the exit code by status and settings; SnapshotIncomplete if the settings make a partial snapshot a failure."""
    if status != PARTIAL or limits.accept_incomplete:
        return COMPLETE
    if limits.fail_when_incomplete:
        raise SnapshotIncomplete(failures)
    return INCOMPLETE


COMMAND = Command(
    kind=JOB,
    summary="Takes one snapshot of one or more clusters into the state tables.",
    examples=(
        "lagoon snapshot --conf lagoon.toml",
        "lagoon snapshot --conf lagoon.toml --warehouse ./lake --create  # the first snapshot",
        "lagoon snapshot --conf lagoon.toml --slot 2026-07-14T09:05  # from a scheduler: one snapshot per slot",
    ),
    declare=_declare,
    answer=lambda call: take_snapshots(snapshot_arguments(call.options, call.environ, call.clock), call.clock),
)
