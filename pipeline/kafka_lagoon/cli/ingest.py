"""Runs `lagoon ingest`: archives and reports the new records of each cluster, one commit per cluster.

Clusters do not depend on each other: if one fails, the others are archived.
"""

import os
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from kafka_lagoon.admin.cluster import describe_cluster
from kafka_lagoon.cli.arguments import IngestArguments, ingest_arguments
from kafka_lagoon.cli.outcome import INGEST, PARTIAL, Outcome, one_by_one
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, Steps, log_to, reported, say
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock, Deadline
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse, open_warehouse
from kafka_lagoon.fetch.accounting import Reconciled, is_loss
from kafka_lagoon.fetch.ranges import LOSSES
from kafka_lagoon.ingest.archive import ArchiveLock
from kafka_lagoon.ingest.pending import missing
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.runs.ingest import STEPS, Ingested, ingest, lock_archive
from kafka_lagoon.snapshot.coverage import list_note

_NOTE_MS = 10_000  # for a question that only decides what is said at the end


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon ingest` and jobs/ingest.py with these arguments."""
    return reported(lambda: ingest_all(ingest_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


def ingest_all(arguments: IngestArguments, clock: Clock) -> int:
    """Archive every cluster of the settings; the exit code of the worst."""
    log_to(arguments.log_file)
    outcomes = [Outcome(job=INGEST, cluster=name) for name in arguments.settings.named_clusters()]
    return one_by_one(outcomes, clock, _Runs(arguments, clock).archive)


class _Runs:
    """One run of the job; the Spark session and the warehouse are opened once, when the first cluster answers."""

    def __init__(self, arguments: IngestArguments, clock: Clock) -> None:
        self._arguments, self._settings, self._clock = arguments, arguments.settings, clock

    @cached_property
    def _warehouse(self) -> Warehouse:
        return open_warehouse(session("lagoon ingest"), self._settings, self._clock)

    def archive(self, outcome: Outcome) -> int:
        """Archive one cluster; its exit code. A cluster that does not answer is known before Spark is started."""
        started, name = self._clock.monotonic(), str(outcome.cluster)
        kafka, limits = self._settings.named_clusters()[name], self._settings.ingest
        ends_at_ms = self._clock.now_ms() + limits.deadline_ms if limits.deadline_ms else None
        deadline = Deadline.after(
            self._clock, min(limits.deadline_ms or limits.plan_timeout_ms, limits.plan_timeout_ms)
        )
        with Cluster.connect(kafka, self._clock, outcome.request_stats, deadline) as cluster:
            outcome.cluster_id = cluster_id = cluster.cluster_id or name
            lock = lock_archive(self._warehouse, self._settings, cluster_id, self._clock, self._arguments.after_restore)
            with lock as own:
                with Steps(name, STEPS) as steps:
                    done = ingest(own, name, cluster, self._settings, self._arguments.wanted, steps.tell, ends_at_ms)
                say(ingest_line(name, cluster_id, done, self._settings.place(), self._clock.monotonic() - started))
                exit_code = self._conclude(outcome, own, done)
            note = self._hidden_topics(cluster, Deadline.after(self._clock, _NOTE_MS))
        if note:
            say(f"{name}: {note}")
        return exit_code

    def _hidden_topics(self, cluster: Cluster, deadline: Deadline) -> str | None:
        """What to say of the topics that a pattern found, if there may be others that we are not shown."""
        if not self._arguments.wanted.pattern:
            return None
        described = describe_cluster(cluster, deadline)
        operations = NOT_ASKED if isinstance(described, Failure) else described.cluster_authorized_operations
        return list_note(operations, METADATA.name, "topics that match the pattern")

    def _conclude(self, outcome: Outcome, lock: ArchiveLock, done: Ingested) -> int:
        """Say what came of the run, and what earlier runs did not live to say; only then is it forgotten."""
        for report in lock.reports.values():
            say(f"{outcome.cluster}: ingest {report.ingest_id} died before it could say that it {report.text}")
        for failure in done.planned.failures:
            reason = f" ({failure.message})" if failure.message else ""
            say(f"{outcome.cluster}: {failure.scope}: {failure.name}{reason}")
        _tell(outcome, done)
        lock.reported(outcome.ingest_id)
        lost = any(map(is_loss, done.reconciled.ranges))
        lost = lost or any(report.is_loss for report in lock.reports.values())
        unread = bool(outcome.failures or outcome.unread)
        outcome.status = PARTIAL if unread or lost else None
        accepted = self._settings.ingest
        is_missing = (unread and not accepted.accept_incomplete) or (lost and not accepted.accept_loss)
        return INCOMPLETE if is_missing else COMPLETE


def _tell(outcome: Outcome, done: Ingested) -> None:
    """What was archived, and what was not."""
    ranges, counts = done.reconciled.ranges, _counts(done.reconciled)
    outcome.ingest_id = ranges[0].ingest_id if ranges else None
    outcome.topics, outcome.partitions = len(done.planned.topic_ids), counts["partitions"]
    stopped = sum(1 for row in ranges if row.problem is not None and row.problem not in LOSSES)
    outcome.failures = len(done.planned.failures) + stopped
    outcome.records, outcome.bytes_fetched = counts["records"], counts["bytes_fetched"]
    outcome.lost, outcome.corrupt, outcome.unread = counts["lost"], counts["corrupt"], done.reconciled.unread


def _counts(reconciled: Reconciled) -> Counter[str]:
    counts = Counter(partitions=len({(row.topic, row.partition) for row in reconciled.ranges}))
    for row in reconciled.ranges:
        counts.update({one: getattr(row, one) for one in ("records", "lost", "corrupt", "bytes_fetched")})
    return counts


def ingest_line(name: str, cluster_id: str, done: Ingested, place: str, seconds: float) -> str:
    """Cluster, what was archived, what is missing and why, and where the tables are."""
    reconciled, counts = done.reconciled, _counts(done.reconciled)
    parts = [
        f"{len(done.planned.topic_ids):,} topics",
        f"{counts['records']:,} records of {counts['partitions']:,} partitions",
        f"{counts['bytes_fetched'] / 1e6:,.1f} MB fetched",
    ]
    parts += missing(reconciled.ranges)
    if reconciled.unread:
        parts.append(f"{reconciled.unread:,} offsets left to the next run")
    return f"{name} ({cluster_id}): {', '.join(parts)}; tables in {place} ({seconds:.1f} s)"
