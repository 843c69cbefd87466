"""Runs `lagoon snapshot`: takes and reports one snapshot per cluster.

Clusters do not depend on each other: if one fails, the others are captured, and the exit code is 3.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from kafka_lagoon.cli.job_arguments import SnapshotArguments, snapshot_arguments
from kafka_lagoon.cli.outcome import PARTIAL, SNAPSHOT, Outcome, OutcomeProgress, at_once, reported_job
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.summary import snapshot_line
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, worst, worst_of_clusters
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock
from kafka_lagoon.delta.publish import PublishedSlot
from kafka_lagoon.errors import SnapshotIncomplete
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.metrics.snapshots import snapshot_facts, snapshot_samples
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.snapshot import take_snapshot, worst_lag
from kafka_lagoon.snapshot.collect import STEPS
from kafka_lagoon.tables.snapshot_rows import Snapshot


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon snapshot` and jobs/snapshot.py with these arguments."""
    return reported_job(
        SNAPSHOT, lambda: take_snapshots(snapshot_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK)
    )


def take_snapshots(arguments: SnapshotArguments, clock: Clock) -> int:
    """Take a snapshot of every cluster of the settings, of some at once; the exit code of all."""
    limits = arguments.settings.snapshot
    slot = datetime.fromtimestamp(arguments.slot_ms / 1000, UTC).isoformat(timespec="milliseconds")
    outcomes = [Outcome(job=SNAPSHOT, cluster=name, slot=slot) for name in arguments.settings.named_clusters()]
    history_by_spark = limits.time_lag == "interpolate"
    written = metrics_written(arguments.settings.metrics.folder, outcomes, clock)
    with written, RunContext(SNAPSHOT, arguments.settings, clock, needs_session=history_by_spark) as context:
        codes = at_once(
            outcomes, limits.clusters_at_once, clock, lambda outcome: _take_one(context, arguments.slot_ms, outcome)
        )
    return worst(codes) if limits.fail_when_incomplete else worst_of_clusters(codes)


def _take_one(context: RunContext, slot_ms: int, outcome: Outcome) -> int:
    """Take, print and describe in `outcome` the snapshot of one cluster; its exit code."""
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
        outcome.metrics = list(snapshot_samples(snapshot_facts(result), context.settings.metrics.max_groups))
    return _exit_code(context.settings.snapshot, result.published.status, result.published.failures)


def _repeated_line(name: str, earlier: PublishedSlot) -> str:
    missing = (
        f"; INCOMPLETE: {earlier.failures:,} failures, see table collection_failures"
        if earlier.status == PARTIAL
        else ""
    )
    return f"{name}: the slot is published as snapshot {earlier.snapshot_id}; nothing to do{missing}"


def _describe_repeated(outcome: Outcome, earlier: PublishedSlot) -> None:
    """A repeated slot ends as the run that published it: a retry must not make a partial snapshot look complete."""
    outcome.snapshot_id, outcome.already_published = earlier.snapshot_id, True
    outcome.status, outcome.failures = earlier.status, earlier.failures


def _describe(outcome: Outcome, snapshot: Snapshot) -> None:
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
    """What the settings make of a snapshot's status; SnapshotIncomplete if they call a partial one a failure."""
    if status != PARTIAL or limits.accept_incomplete:
        return COMPLETE
    if limits.fail_when_incomplete:
        raise SnapshotIncomplete(failures)
    return INCOMPLETE
