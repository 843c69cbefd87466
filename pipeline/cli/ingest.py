"""Settings in, archived records out, one commit per cluster, and the final line of each.

Guards one rule: clusters do not depend on each other. What one of them refuses is said, and the others are archived.
"""

from collections import Counter
from functools import cached_property

from pipeline import log
from pipeline.cli.arguments import IngestArguments
from pipeline.cli.terminal import COMPLETE, INCOMPLETE, Steps, one_by_one, say
from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Clock, Deadline
from pipeline.client.journal import Journal
from pipeline.client.routing import Failure
from pipeline.fetch.accounting import LOSSES, Settled
from pipeline.kafka_settings import KafkaSettings
from pipeline.protocol.acls import NOT_ASKED
from pipeline.protocol.messages.metadata import METADATA
from pipeline.settings import IngestSettings
from pipeline.snapshot.coverage import list_note
from pipeline.snapshot.identity import describe_cluster
from pipeline.tables.ingest import STEPS, Ingested, ingest, turn
from pipeline.tables.session import session
from pipeline.tables.warehouse import Warehouse, open_warehouse


def ingest_all(arguments: IngestArguments, clock: Clock) -> int:
    """Archive every cluster of the settings; the exit code of the worst."""
    run = _Runs(arguments, clock)
    return one_by_one(arguments.settings.named_clusters().items(), lambda named: run.archive(*named))


class _Runs:
    """One run of the job; the Spark session and the warehouse are opened once, when the first cluster answers."""

    def __init__(self, arguments: IngestArguments, clock: Clock) -> None:
        self._arguments, self._settings, self._clock = arguments, arguments.settings, clock

    @cached_property
    def _warehouse(self) -> Warehouse:
        return open_warehouse(session("lagoon ingest"), self._settings, self._clock)

    def archive(self, name: str, kafka: KafkaSettings) -> int:
        """Archive one cluster; its exit code. A cluster that does not answer is known before Spark is started."""
        started = self._clock.monotonic()
        deadline = Deadline.after(self._clock, self._settings.ingest.deadline_ms)
        with Cluster.connect(kafka, self._clock, Journal(), deadline) as cluster:
            cluster_id = cluster.cluster_id or name
            mine = turn(self._warehouse, self._settings, cluster_id, self._clock, self._arguments.after_restore)
            with mine as own, Steps(name, STEPS) as steps:
                done = ingest(own, name, cluster, self._settings, self._arguments.wanted, steps.tell)
            note = self._hidden_topics(cluster, deadline)
        exit_code = self._conclude(name, cluster_id, done, self._clock.monotonic() - started)
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

    def _conclude(self, name: str, cluster_id: str, done: Ingested, seconds: float) -> int:
        say(ingest_line(name, cluster_id, done, self._settings.place(), seconds))
        log.info("archived", cluster=name, ranges=len(done.settled.ranges), seconds=round(seconds, 3))
        failures = done.planned.failures
        for failure in failures:
            say(f"{name}: {failure.scope}: {failure.name}" + (f" ({failure.message})" if failure.message else ""))
        return INCOMPLETE if failures or _is_incomplete(done.settled, self._settings.ingest) else COMPLETE


def _is_incomplete(settled: Settled, told: IngestSettings) -> bool:
    """Whether anything is missing that the settings do not accept to be missing."""
    lost = any(row.problem in LOSSES or row.corrupt for row in settled.ranges)
    stopped = any(row.problem is not None and row.problem not in LOSSES for row in settled.ranges)
    return stopped or (lost and not told.accept_loss)


def ingest_line(name: str, cluster_id: str, done: Ingested, place: str, seconds: float) -> str:
    """Cluster, what was archived, what is missing and why, and where the tables are."""
    settled, counts = done.settled, Counter[str]()
    for row in settled.ranges:
        counts.update({one: getattr(row, one) for one in ("records", "lost", "corrupt", "bytes_fetched", "files")})
    problems = Counter(row.problem for row in settled.ranges if row.problem)
    parts = [
        f"{len(done.planned.topic_ids):,} topics",
        f"{counts['records']:,} records of {len({(row.topic, row.partition) for row in settled.ranges}):,} partitions",
        f"{counts['bytes_fetched'] / 1e6:,.1f} MB fetched",
    ]
    parts += [f"{counts[one]:,} {one.upper()}" for one in ("lost", "corrupt") if counts[one]]
    parts += [f"{problem} in {count:,} ranges, see table record_ranges" for problem, count in sorted(problems.items())]
    return f"{name} ({cluster_id}): {', '.join(parts)}; tables in {place} ({seconds:.1f} s)"
