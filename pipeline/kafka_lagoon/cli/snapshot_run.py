"""Takes and reports one snapshot per cluster of the settings: what `lagoon snapshot` does once its arguments are read.

Clusters do not depend on each other: if one fails, snapshots of the others are taken, and the exit code is 3.
"""

from datetime import UTC, datetime

from kafka_lagoon.cli.outcome import PARTIAL, SNAPSHOT, OutcomeProgress, RunOutcome, at_once
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.summary import snapshot_line, worst_lag
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, warn, worst, worst_of_clusters
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.join_today import join_today
from kafka_lagoon.delta.jvm_start import StartingJvm
from kafka_lagoon.delta.publish import PublishedSlot
from kafka_lagoon.errors import PipelineError, SnapshotIncomplete
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.metrics.snapshots import snapshot_facts, snapshot_samples
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.snapshot import take_snapshot
from kafka_lagoon.settings import Settings
from kafka_lagoon.snapshot.collect import STEPS
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.text import counted


def take_snapshots(settings: Settings, slot_ms: int, clock: Clock, starting: StartingJvm | None) -> int:
    """Take snapshots of all clusters of the settings, several at once; return the exit code of all.

    The tables are opened by the JVM that is `starting`, if there is one.
    """
    limits = settings.snapshot
    slot = datetime.fromtimestamp(slot_ms / 1000, UTC).isoformat(timespec="milliseconds")
    outcomes = [RunOutcome(job=SNAPSHOT, cluster=name, slot=slot) for name in settings.named_clusters()]
    history_by_spark = limits.time_lag == "interpolate"
    written = metrics_written(settings, outcomes, clock)
    with written, RunContext(SNAPSHOT, settings, clock, needs_session=history_by_spark, starting=starting) as context:
        codes = at_once(outcomes, limits.clusters_at_once, clock, lambda outcome: _take_one(context, slot_ms, outcome))
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
