"""Runs `lagoon ingest`: archives and reports the new records of each cluster, one commit per cluster.

Clusters do not depend on each other: if one fails, the others are archived.
"""

import os
from collections.abc import Sequence

from kafka_lagoon.cli.job_arguments import IngestArguments, ingest_arguments
from kafka_lagoon.cli.outcome import INGEST, PARTIAL, Outcome, one_by_one, reported_job
from kafka_lagoon.cli.progress import MeasuredProgress
from kafka_lagoon.cli.run_metrics import metrics_written
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say, worst_of_clusters
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock
from kafka_lagoon.ingest.pending_files import missing_in_words
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.ingest import STEPS, IngestResult, ingest
from kafka_lagoon.tables.record_tables import RECORD_TABLES


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon ingest` and jobs/ingest.py with these arguments."""
    return reported_job(INGEST, lambda: ingest_all(ingest_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


def ingest_all(arguments: IngestArguments, clock: Clock) -> int:
    """Archive every cluster of the settings; the exit code of all."""
    context = RunContext(INGEST, arguments.settings, clock, RECORD_TABLES)
    outcomes = [Outcome(job=INGEST, cluster=name) for name in arguments.settings.named_clusters()]
    with metrics_written(arguments.settings.metrics.folder, outcomes, clock):
        codes = one_by_one(outcomes, clock, lambda outcome: _ingest_one(context, arguments, outcome))
    return worst_of_clusters(codes)


def _ingest_one(context: RunContext, arguments: IngestArguments, outcome: Outcome) -> int:
    """Archive, print and describe in `outcome` the records of one cluster; its exit code."""
    name, limits = str(outcome.cluster), context.settings.ingest
    exit_code = COMPLETE
    with MeasuredProgress(outcome, STEPS, context.clock) as progress:

        def report(result: IngestResult) -> None:
            nonlocal exit_code
            progress.stop()
            _print(result, context.settings.place())
            _describe(outcome, result)
            exit_code = _exit_code(limits, result)

        note = ingest(context, name, arguments.wanted, arguments.after_restore, outcome.request_stats, progress, report)
    if note:
        say(f"{name}: {note}")
    return exit_code


def _print(result: IngestResult, place: str) -> None:
    say(ingest_line(result, place))
    for report in result.reports:
        say(f"{result.cluster}: ingest {report.ingest_id} died before it could say that it {report.text}")
    for failure in result.archived.plan.failures:
        reason = f" ({failure.message})" if failure.message else ""
        say(f"{result.cluster}: {failure.scope}: {failure.name}{reason}")


def _describe(outcome: Outcome, result: IngestResult) -> None:
    """What was archived, and what was not."""
    archived, counts = result.archived, result.archived.counts()
    outcome.ingest_id = archived.ingest_id
    outcome.topics, outcome.partitions = len(archived.plan.topic_ids), counts["partitions"]
    outcome.failures, outcome.unread = archived.failures, archived.reconciled.unread
    outcome.records, outcome.bytes_fetched = counts["records"], counts["bytes_fetched"]
    outcome.lost, outcome.corrupt = counts["lost"], counts["corrupt"]
    outcome.status = PARTIAL if result.has_loss or not result.is_complete else None


def _exit_code(limits: IngestSettings, result: IngestResult) -> int:
    is_incomplete = not (result.is_complete or limits.accept_incomplete)
    is_lossy = result.has_loss and not limits.accept_loss
    return INCOMPLETE if is_incomplete or is_lossy else COMPLETE


def ingest_line(result: IngestResult, place: str) -> str:
    """Cluster, what was archived, what is missing and why, and where the tables are."""
    archived, counts = result.archived, result.archived.counts()
    parts = [
        f"{len(archived.plan.topic_ids):,} topics",
        f"{counts['records']:,} records of {counts['partitions']:,} partitions",
        f"{counts['bytes_fetched'] / 1e6:,.1f} MB fetched",
    ]
    parts += missing_in_words(archived.reconciled.ranges)
    if archived.reconciled.unread:
        parts.append(f"{archived.reconciled.unread:,} offsets left to the next run")
    where = f"{result.cluster} ({result.cluster_id})"
    return f"{where}: {', '.join(parts)}; tables in {place} ({result.seconds:.1f} s)"
