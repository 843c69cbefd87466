"""An ingest run does its steps in order, reports while it holds the lock, and removes losses once they are reported."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from kafka_lagoon.cli.ingest import ingest_arguments
from kafka_lagoon.cli.main import options_of
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.ingest import pending_commits
from kafka_lagoon.ingest.archive_lock import ArchiveLock
from kafka_lagoon.ingest.next_offsets import app_id
from kafka_lagoon.ingest.pending_files import Report
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.runs import ingest as ingest_steps
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.ingest import (
    STEPS,
    ArchivedRecords,
    IngestResult,
    RunDeadline,
    ingest,
    read_options,
    remove_reports,
)
from kafka_lagoon.tables.record_tables import RECORD_TABLES
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.record_samples import range_row
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.runs.heard import Heard
from tests.short_timeouts import short_timeouts

PLAN = Plan(archived={}, topic_ids={"t": None}, ranges=(), events=(), failures=(), sizes={}, planned_at_ms=0)
RANGE = range_row("0192-0001", "t", 0, 9)


def result(*ranges: Any, unread: int = 0, reports: tuple[Report, ...] = ()) -> IngestResult:
    reconciled = Reconciled(ranges=ranges, problems=(), topics={}, kept=frozenset(), unread=unread)
    archived = ArchivedRecords(plan=PLAN, reconciled=reconciled)
    return IngestResult(cluster="c", cluster_id="id", archived=archived, reports=reports, seconds=1.0)


def test_what_a_result_says() -> None:
    """Losses are not failures; a range that ended early is a failure, and unread offsets make the run incomplete.

    A range may have a loss and a failure.
    """
    whole = result(RANGE)
    assert (whole.is_complete, whole.has_loss, whole.archived.ingest_id) == (True, False, "0192-0001")
    lossy = result(RANGE, replace(RANGE, partition=1, records=0, lost=9, problem="LOST"))
    assert (lossy.is_complete, lossy.has_loss) == (True, True)
    assert lossy.archived.counts() == {"partitions": 2, "records": 9, "lost": 9, "corrupt": 0, "bytes_fetched": 2}
    stopped = result(replace(RANGE, problem="REQUEST_TIMED_OUT"))
    assert (stopped.is_complete, stopped.has_loss, stopped.archived.failures) == (False, False, 1)
    both = result(replace(RANGE, lost=2, problem="CONNECTION_LOST"))
    assert (both.is_complete, both.has_loss) == (False, True)
    assert not result(RANGE, unread=3).is_complete
    nothing = result(reports=(Report("0192-0000", "had 3 LOST"),))
    assert (nothing.is_complete, nothing.has_loss, nothing.archived.ingest_id) == (True, True, None)


def test_a_timeout_ends_with_the_run() -> None:
    """The shorter limit applies, but time is reserved for checking the records that were read."""
    clock = Clock(now_ms=lambda: 1_000, monotonic=lambda: 0.0, sleep=lambda _: None)
    assert RunDeadline(clock=clock).within(5_000).remaining() == 5.0
    assert RunDeadline(clock=clock, ends_at_ms=3_000).within(5_000).remaining() == 2.0
    assert RunDeadline(clock=clock, ends_at_ms=9_000).within(5_000).remaining() == 5.0
    assert RunDeadline(clock=clock, ends_at_ms=500).within(5_000, least_ms=700).remaining() == 0.7


def test_reading_keeps_within_a_tasks_memory() -> None:
    """A fetch and its decompressed records take a sixteenth each, up to the configured size of a fetch."""
    options = read_options(IngestSettings(task_memory_mb=64, max_partition_fetch_bytes=1 << 30))
    assert (options.fetch_bytes, options.decoding.expanded_bytes) == (4 << 20, 4 << 20)
    options = read_options(IngestSettings(task_memory_mb=64, max_partition_fetch_bytes=1 << 20))
    assert (options.fetch_bytes, options.decoding.expanded_bytes) == (1 << 20, 4 << 20)


def test_reports_that_cannot_be_removed() -> None:
    """The run is committed and reported by then: it notes what the next run reports again, and does not fail."""

    def refuse(_: str | None) -> None:
        raise TableError("file:/lake/report cannot be removed: Read-only file system")

    assert remove_reports(cast("ArchiveLock", SimpleNamespace(remove_reports=lambda _: None)), "0192") is None
    note = remove_reports(cast("ArchiveLock", SimpleNamespace(remove_reports=refuse)), "0192")
    assert note is not None
    assert note.endswith("lost: file:/lake/report cannot be removed: Read-only file system")


@pytest.mark.usefixtures("brokers")
def test_brokers_that_restart_before_the_plan_are_waited_for(
    state: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have answered, so their address is right; Spark may have started meanwhile."""
    context = SimpleNamespace(
        clock=CLOCK,
        settings=SimpleNamespace(
            ingest=IngestSettings(), named_clusters=lambda: {"c": short_timeouts(state, default_api_timeout_ms=30_000)}
        ),
        warehouse=SimpleNamespace(kernel=SimpleNamespace(storage=None)),
        with_or_without_session=lambda run: run(),
    )
    lock = SimpleNamespace(warehouse=context.warehouse, root="", topics={})
    monkeypatch.setattr(ingest_steps, "lock_archive", lambda *_: nullcontext(lock))
    monkeypatch.setattr(ingest_steps, "refuse_encryption", lambda *_: None)

    def plan(cluster: Cluster, _: object, __: object, deadline: Deadline) -> NoReturn:
        state.faults.append(Fault(METADATA.key, Close(), times=50))
        assert len(cluster.refresh((), deadline).brokers) == 3
        raise InterruptedError

    monkeypatch.setattr(ingest_steps, "plan", plan)
    with pytest.raises(InterruptedError):
        ingest(cast("Any", context), "c", cast("Any", None), None, RequestStats(), Heard(), lambda _: None)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_losses_are_forgotten_when_they_are_reported(tmp_path: Path) -> None:
    """Losses of a run that dies before its report are reported by the next run, and then removed."""
    state = FakeCluster()
    (partition,) = state.add_topic("t", 1, end=0).partitions
    partition.append(batch(0, [b"v"] * 4))
    results: list[IngestResult] = []

    def dies(reported: IngestResult) -> None:
        results.append(reported)
        raise InterruptedError

    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        argv = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={servers}", "--topics", "t"]
        arguments = ingest_arguments(options_of("ingest", argv), {}, CLOCK)
        context = RunContext("ingest", arguments.settings, CLOCK)

        def run(report: Any) -> Heard:
            heard = Heard()
            ingest(context, "default", arguments.spec, None, RequestStats(), heard, report)
            return heard

        assert tuple(run(results.append).steps) == STEPS
        partition.append(batch(4, [b"v"] * 4))
        partition.log_start_offset = 6
        with pytest.raises(InterruptedError):
            run(dies)
        assert results[-1].has_loss
        assert run(results.append).cluster_id == "fake"
        run(results.append)
    assert [len(reported.reports) for reported in results] == [0, 0, 1, 0]
    assert [reported.archived.counts()["records"] for reported in results] == [4, 2, 0, 0]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_topic_that_does_not_answer_in_the_first_run(tmp_path: Path) -> None:
    """Its start is stored without a record or range, and records since then are archived, whatever `--from` says later."""
    results: list[IngestResult] = []
    state = FakeCluster()
    (partition,) = state.add_topic("t", 1, end=0).partitions
    partition.append(batch(0, [b"v"] * 4))
    partition.times, partition.error_code = ((CLOCK.now_ms() + 3_600_000, 4),), 5
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        argv = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={servers}", "--topics", "t"]
        argv += ["--from", "latest", "--set", "ingest.plan_timeout_ms=1000"]
        arguments = ingest_arguments(options_of("ingest", argv), {}, CLOCK)
        with RunContext("ingest", arguments.settings, CLOCK, RECORD_TABLES, needs_session=False) as context:
            for _ in range(3):
                ingest(context, "default", arguments.spec, None, RequestStats(), Heard(), results.append)
                if len(results) == 2:
                    partition.error_code = 0
                    partition.append(batch(4, [b"v"] * 3))
            assert context.warehouse.state("records").version == 2  # the second run had nothing to store
    assert [(one.archived.counts()["records"], one.is_complete) for one in results] == [
        (0, False),
        (0, False),
        (3, True),
    ]
    (row,) = results[-1].archived.reconciled.ranges
    assert (row.from_offset, row.to_offset, row.sequence) == (4, 7, 1)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_ranges_that_are_left_to_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run counts its records, is incomplete and says why; nothing of it is left for a third run."""
    results: list[IngestResult] = []
    state = FakeCluster()
    (partition,) = state.add_topic("t", 1, end=0).partitions
    partition.append(batch(0, [b"v"] * 4))

    def fails(*_: object) -> None:
        raise TableError("no space is left")

    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        argv = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={servers}", "--topics", "t"]
        arguments = ingest_arguments(options_of("ingest", argv), {}, CLOCK)
        with RunContext("ingest", arguments.settings, CLOCK, RECORD_TABLES, needs_session=False) as context:

            def run() -> str | None:
                return ingest(context, "default", arguments.spec, None, RequestStats(), Heard(), results.append)

            with monkeypatch.context() as patch:
                patch.setattr(pending_commits, "_append", fails)
                note = run()
            assert note
            assert note.endswith("the next run adds its missing ranges and problems: no space is left")
            assert run() is None
            ranges = context.warehouse.state("record_ranges")
            assert context.warehouse.kernel.last_transaction(ranges, app_id("fake")) == 1
    counts = [(one.archived.counts()["records"], one.archived.failures, one.is_complete) for one in results]
    assert counts == [(4, 1, False), (0, 0, True)]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_choice_is_kept_without_new_records(tmp_path: Path) -> None:
    """After `--after-restore keep` on a quiet topic no later run asks again."""
    results: list[IngestResult] = []
    state = FakeCluster()
    (partition,) = state.add_topic("t", 1, end=0).partitions
    partition.append(batch(0, [b"v"] * 4))
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        argv = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={servers}", "--topics", "t"]
        arguments = ingest_arguments(options_of("ingest", argv), {}, CLOCK)
        with RunContext("ingest", arguments.settings, CLOCK, RECORD_TABLES, needs_session=False) as context:

            def run(after_restore: str | None = None) -> None:
                ingest(context, "default", arguments.spec, after_restore, RequestStats(), Heard(), results.append)

            run()
            foreign.overwrite(context.warehouse, "records")
            with pytest.raises(TableError, match="--after-restore keep"):
                run()
            run("keep")
            run()
