"""Runs what asks a cluster: snapshots, ingests, verbs, the doctor and restores, each from a connection of its own.

A scenario returns what it says of the cluster. All of them have the clock of the recording, which only advances when the client
waits: an hour of retries takes milliseconds.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.main import declaration, options_of
from kafka_lagoon.cli.output import ending
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.doctor.checks import Examination, examine
from kafka_lagoon.doctor.permissions import Needs
from kafka_lagoon.doctor.results import OK
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.accounting import RunIdentity, reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.last_epochs import with_last_epochs
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, OffsetSpecs
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.tasks import divide
from kafka_lagoon.fetch.truncation_checks import check_outcomes
from kafka_lagoon.ingest.archive_task import TaskSettings, archive
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.restore.target import default_configs, describe_target
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.collectors import (
    COLLECTION_FAILURES,
    COLLECTORS,
    COVERAGE,
    SNAPSHOTS,
    required_permissions,
)
from kafka_lagoon.snapshot.time_lag import Limited
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, SnapshotRow
from tests.clock import Hands
from tests.proof.answers.outcomes import Outcome, row_of, rows_of
from tests.proof.answers.state import TARGET

_BUDGET_MS = 120_000
_TIME_LAG_BYTES = 1 << 24
_NOT_FACTS = (COVERAGE, COLLECTION_FAILURES, SNAPSHOTS)
_OWN = {"snapshot_id", "ingest_id", "run_id", "captured_at_ms", "ingested_at"}  # made by each run
VERBS = (
    *("versions", "metadata", "health", "offsets", "groups", "describe-group lagging uncommitted new-style sharers"),
    *("lag", "lag --time", "configs topic", "configs broker", "acls", "log-dirs", "log-dirs --replicas", "quorum"),
    *("reassignments", "transactions", "offsets --at 2024-01-01"),
)


@dataclass(frozen=True, slots=True)
class World:
    """The brokers' addresses, the time of the recording, and what a first run has archived of each topic."""

    servers: str
    at_ms: int
    archived: Mapping[str, Archived] = field(default_factory=dict)

    def settings(self) -> KafkaSettings:
        """Settings with which repeated requests end after few repetitions."""
        return KafkaSettings(bootstrap_servers=self.servers, default_api_timeout_ms=4_000, request_timeout_ms=2_000)

    def clock(self) -> Clock:
        """A clock that shows the time of the recording."""
        return replace(Hands().clock(), now_ms=lambda: self.at_ms)

    @contextmanager
    def cluster(self) -> Iterator[tuple[Cluster, Deadline]]:
        """Connect our client."""
        clock = self.clock()
        deadline = Deadline.after(clock, _BUDGET_MS)
        with Cluster.connect(self.settings(), clock, RequestStats(), deadline) as cluster:
            yield cluster, deadline


Scenario = Callable[[World], Outcome]


def outcome(scenario: Scenario, world: World) -> Outcome:
    """Run a scenario; an error of ours tells, and any other exception is wrong."""
    try:
        return scenario(world)
    except PipelineError as error:
        return Outcome(reported=frozenset({f"{type(error).__name__}: {error}"}))
    except Exception as error:  # noqa: BLE001  the proof goes on
        return Outcome(facts={"exceptions": [{"exception": repr(error)}]})


def snapshot(world: World) -> Outcome:
    """Collect a snapshot with time lag."""
    with world.cluster() as (cluster, deadline):

        def measure(positions: Any) -> Any:
            return first_unread(cluster, positions, _TIME_LAG_BYTES, deadline)

        taken = collect(cluster, "test", 0, deadline, lambda _step, _items: None, measure=Limited(measure, 10_000))
    facts = {
        one.name: [_without(_OWN, row_of(row)) for row in taken.of(one.row)]
        for one in COLLECTORS
        if one not in _NOT_FACTS
    }
    (published,) = taken.of(SnapshotRow)
    reported = {f"failure {one.api} {one.scope} {one.error_name}" for one in taken.of(CollectionFailureRow)}
    reported |= set(filter(None, map(_uncovered, taken.of(CoverageRow))))
    reported |= set() if published.status == "complete" else {"exit 3"}
    return Outcome(facts=facts, reported=frozenset(reported))


def _uncovered(row: CoverageRow) -> str | None:
    """A line if the row of coverage says that something was not seen."""
    said = (row.visibility, row.not_collected_because, row.failed or None, row.left_out)
    return f"coverage {row.api} {said}" if said not in ((None,) * 4, ("complete", None, None, None)) else None


def _without(names: set[str], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def verb(words: str, world: World) -> Outcome:
    """Run a verb of `lagoon kafka`."""
    name, *argv = words.split()
    command = declaration(f"kafka {name}")
    options = options_of(f"kafka {name}", [*argv, "--json", "-b", world.servers])
    if topics := getattr(options, "topics", None):
        options.topic = [*topics, *(options.topic or [])]
    with world.cluster() as (cluster, deadline):
        output = command.answer(ClusterContext(cluster=cluster, options=options, deadline=deadline))
        facts: dict[str, list[Any]] = {}
        for rows in output.rows:
            lines = "".join(rows.json_blocks()).splitlines()
            facts.setdefault(rows.kind, []).extend(row_of(json.loads(line)) for line in lines)
        end = ending(replace(output, refusals=cluster.refusals))
    reported = set(end.lines) | ({f"exit {end.exit_code}"} if end.exit_code else set())
    return Outcome(facts=facts, reported=frozenset(reported))


def doctor(world: World) -> Outcome:
    """Examine the cluster, and what a snapshot may do there."""
    needs = [Needs(command="snapshot", permissions=required_permissions(), goes_without=True)]
    examination = Examination(
        settings=None, clusters={"test": world.settings()}, needs=needs, clock=world.clock(), timeout_ms=_BUDGET_MS
    )
    of_cluster = ("connection", "certificate", "clock", "permissions")
    results = [one for one in examine(examination) if one.check in of_cluster]
    reported = {f"{one.check} {one.subject} {one.status} {one.observed}" for one in results if one.status != OK}
    return Outcome(facts={"results": rows_of(results)}, reported=frozenset(reported))


_ALL_TOPICS = ReadSpec(
    topics=(),
    pattern=".*",
    start=OffsetSpecs(name="start", default=EARLIEST, by_partition={}),
    end=OffsetSpecs(name="end", default=LATEST),
)


def ingest(world: World) -> Outcome:
    """Archive every topic from its start."""
    return _ingested(world, {})


def ingest_again(world: World) -> Outcome:
    """Archive every topic after a run that has read its first records."""
    return _ingested(world, world.archived)


def first_run(world: World) -> Mapping[str, Archived]:
    """Positions after a run that has read the first record of each partition."""
    with world.cluster() as (cluster, deadline):
        first = plan(cluster, _ALL_TOPICS, {}, deadline)
    read = {
        name: {
            one.partition: Position(next_offset=one.from_offset + 1, leader_epoch=0)
            for one in first.ranges
            if one.topic == name and one.to_offset > one.from_offset
        }
        for name in first.topic_ids
    }
    return {
        name: Archived(topic_id=first.topic_ids[name], partitions=positions)
        for name, positions in read.items()
        if positions
    }


def _ingested(world: World, archived: Mapping[str, Archived]) -> Outcome:
    """Plan, read and reconcile as the job does, without Spark."""
    with world.cluster() as (cluster, deadline), tempfile.TemporaryDirectory() as folder:
        planned = plan(cluster, _ALL_TOPICS, archived, deadline)
        tasks = with_last_epochs(cluster, divide(planned.ranges, planned.bytes_of, 2, 1 << 30), deadline)
        settings = TaskSettings(
            kafka=cluster.settings,
            clock=world.clock(),
            options=ReadOptions(stall_timeout_ms=4_000),
            folder=f"file:{folder}",
            ingest_id=f"run-{id(deadline)}",
            cluster="test",
            cluster_id=cluster.cluster_id or "",
            target_bytes=1 << 30,
            compression="lz4",
        )
        results = [archive(settings, task) for task in tasks]
        of_splits = [one for result in results for one in result.outcome.outcomes]
        checked = check_outcomes(cluster, planned.ranges, planned.topic_ids, of_splits, deadline)
        run = RunIdentity(ingest_id="run", sequence=1, cluster="test", cluster_id="test")
        done = reconcile(run, planned, [result.outcome for result in results], checked)
        records = [row for number in sorted(done.kept) for file in results[number].files for row in _records(file.url)]
    reported = {f"failure {one.api} {one.scope} {one.name}" for one in planned.failures}
    reported |= {f"{one.topic}-{one.partition} {one.problem}" for one in done.ranges if one.problem}
    reported |= {
        f"{one.topic}-{one.partition} corrupt {one.corrupt} lost {one.lost}" for one in done.ranges if _lossy(one)
    }
    reported |= {f"unread {done.unread}"} if done.unread else set()
    facts = {
        "record_ranges": [_without({*_OWN, "bytes_fetched", "planned_at"}, row_of(one)) for one in done.ranges],
        "record_problems": [_without(_OWN, row_of(one)) for one in done.problems],
        "positions": [
            {"topic": name, "topic_id": one.topic_id, "partition": partition, "next_offset": position.next_offset}
            for name, one in done.topics.items()
            for partition, position in one.partitions.items()
        ],
        "records": records,
    }
    return Outcome(facts=facts, reported=frozenset(reported))


def _lossy(row: Any) -> bool:
    return bool(row.corrupt or row.lost)


def _records(url: str) -> Iterator[dict[str, Any]]:
    table = pq.read_table(Path(url.removeprefix("file:")))
    for row in table.to_pylist():
        yield _without(_OWN, row_of(row))


def restore_target(world: World) -> Outcome:
    """Describe the topics that a restore would write to."""
    with world.cluster() as (cluster, deadline):
        topics, failures = describe_target(cluster, [TARGET, "orders", "no-such-topic"], deadline)
        defaults = default_configs(cluster, deadline)
        refusals = [*failures, *cluster.refusals]
    rows = [{"name": name, **({} if one is None else row_of(one))} for name, one in topics.items()]
    if isinstance(defaults, Failure):
        refusals.append(defaults)
    facts = {
        "topics": [row_of(one) for one in rows],
        "defaults": rows_of([] if isinstance(defaults, Failure) else [defaults]),
    }
    reported = {f"failure {one.api} {one.scope} {one.name}" for one in refusals}
    # Which brokers refuse if it exists.
    reported |= {f"{name} is to be created" for name, one in topics.items() if one is None}
    return Outcome(facts=facts, reported=frozenset(reported))


SCENARIOS: Mapping[str, Scenario] = {
    "snapshot": snapshot,
    "ingest": ingest,
    "ingest-again": ingest_again,
    "doctor": doctor,
    "restore-target": restore_target,
    **{words.replace(" ", "_"): partial(verb, words) for words in VERBS},
}
