"""A snapshot is published once, whole, or not at all, with exactly its rows."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import deltalake
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from kafka_lagoon.delta import publish as publish_module
from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.delta.kernel import Fence, Kernel
from kafka_lagoon.delta.log_files import removed_since
from kafka_lagoon.delta.publish import PublishedSlot, SnapshotLock, publish, published, snapshot_lock
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, SnapshotExists, TableError
from kafka_lagoon.tables import cluster_rows, group_rows, snapshot_rows
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.security_rows import AclRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta import foreign, other_run
from tests.delta.samples import HOSTILE, HOUR_MS, NOON_MS, lag_row, row, snapshot
from tests.effort import first

HOSTILE_FACTS = (
    row(cluster_rows.BrokerRow, broker_id=1, rack=HOSTILE),
    row(cluster_rows.TopicRow, topic=HOSTILE, problem=HOSTILE),
    row(cluster_rows.PartitionRow, topic=HOSTILE, partition=0, replicas=(3, 1, 2), isr=()),
    row(
        cluster_rows.PartitionOffsetsRow,
        topic=HOSTILE,
        partition=0,
        high_watermark=2**63 - 1,
        max_timestamp=2**62,
        max_timestamp_ms=2**62,
    ),
    row(group_rows.ConsumerGroupRow, group_id=HOSTILE),
    row(AclRow, resource_name=HOSTILE, principal=HOSTILE),
    row(
        group_rows.GroupMemberRow,
        group_id=HOSTILE,
        member_id="",
        subscribed_topics=(HOSTILE, ""),
        assignment=(group_rows.TopicPartitions(topic=HOSTILE, topic_id=None, partitions=(0, 2)),),
        target_assignment=(),
    ),
    row(
        group_rows.CommittedOffsetRow,
        group_id=HOSTILE,
        topic=HOSTILE,
        partition=0,
        read_at_ms=NOON_MS,
        metadata=HOSTILE,
    ),
    lag_row(HOSTILE, HOSTILE, 0, lag=-(2**62)),
    lag_row("", "b", 1),
    row(CoverageRow, api="Fetch", visibility="filtered"),
)


def publish_once(warehouse: Warehouse, made: snapshot_rows.Snapshot) -> None:
    """Publish a snapshot in one whole run."""
    with snapshot_lock(warehouse, made.header.cluster, CLOCK) as lock:
        publish(lock, made)


def slot_of(warehouse: Warehouse, slot_ms: int = NOON_MS, cluster: str = "default") -> PublishedSlot | None:
    """Return the snapshot that is published for a slot."""
    with snapshot_lock(warehouse, cluster, CLOCK) as lock:
        return published(lock, slot_ms)


def rows_of(warehouse: Warehouse, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table, published or not, as a reader other than Spark reads them."""
    stored: list[dict[str, Any]] = deltalake.DeltaTable(warehouse.locations[table]).to_pyarrow_table().to_pylist()
    return stored


def trusted(warehouse: Warehouse) -> dict[str, int]:
    """Return the published snapshots, with the number of their rows of consumer_lag."""
    lag = Counter(one["snapshot_id"] for one in rows_of(warehouse, "consumer_lag"))
    return {one["snapshot_id"]: lag[one["snapshot_id"]] for one in rows_of(warehouse, "snapshots")}


def test_another_reader_finds_every_row(warehouse: Warehouse) -> None:
    """Every table has exactly the published rows; the summary counts them."""
    made = snapshot(1, *HOSTILE_FACTS, completeness=0.5, kafka_version_range=HOSTILE)
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        written = publish(lock, made)
    for table in STATE_TABLES:
        wanted = arrow_table(table, made.header, made.rows[table.row]).to_pylist()
        stored = rows_of(warehouse, table.name)
        assert [one.pop("snapshot_date") for one in stored] == [date(2025, 11, 21)] * len(wanted)
        assert sorted(map(repr, stored)) == sorted(map(repr, wanted))
        assert written.rows[table.name] == len(wanted)


def test_large_tables_are_written_one_by_one(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of several would be in memory at the same time."""
    write, writing, together = publish_module._write, list[str](), list[int]()

    def watched(
        lock: SnapshotLock, made: snapshot_rows.Snapshot, table: Table, fence: Fence | None = None
    ) -> int | None:
        writing.append(table.name)
        together.append(len(writing))
        try:
            return write(lock, made, table, fence)
        finally:
            writing.remove(table.name)

    monkeypatch.setattr(publish_module, "_write", watched)
    monkeypatch.setattr(publish_module, "BLOCK", -1)
    made = snapshot(1, *HOSTILE_FACTS)
    with snapshot_lock(warehouse, "prod", CLOCK) as lock:
        publish(lock, made)
    assert set(together) == {1}
    assert deltalake.DeltaTable(warehouse.locations["snapshots"]).to_pyarrow_table().num_rows == 1


def test_spark_reads_what_rows_say(warehouse: Warehouse) -> None:
    """Null is null, negative is negative, and odd names and numbers are exact."""
    publish_once(warehouse, snapshot(1, *HOSTILE_FACTS))
    columns = "group_id", "topic", "partition", "lag", "lag_basis", "time_lag_ms"
    stored = warehouse.spark.table(warehouse.identifiers["consumer_lag"]).select(*columns)
    wanted = [(HOSTILE, HOSTILE, 0, -(2**62), "committed", None), ("", "b", 1, None, "unknown", None)]
    assert_df_equality(stored, warehouse.spark.createDataFrame(wanted, stored.schema), ignore_row_order=True)
    (member,) = warehouse.spark.table(warehouse.identifiers["group_members"]).collect()
    assert member["assignment"] == [(HOSTILE, None, [0, 2])]
    assert (member["subscribed_topics"], member["target_assignment"]) == ([HOSTILE, ""], [])
    (offsets,) = warehouse.spark.table(warehouse.identifiers["partition_offsets"]).collect()
    assert (offsets["high_watermark"], offsets["max_timestamp"], offsets["max_timestamp_ms"]) == (
        2**63 - 1,
        None,
        2**62,
    )


@pytest.mark.parametrize("end_of_line", ["\x85", "\u2028", "\u2029"])
def test_names_with_ends_of_lines(warehouse: Warehouse, end_of_line: str) -> None:
    """The log has them as they are, in the statistics: its lines end with a line feed only."""
    groups = [row(group_rows.ConsumerGroupRow, group_id=name) for name in ("orders", f"{end_of_line}x")]
    publish_once(warehouse, snapshot(1, *groups))
    assert {one["group_id"] for one in rows_of(warehouse, "consumer_groups")} == {"orders", f"{end_of_line}x"}
    foreign.overwrite(warehouse, "consumer_groups")
    assert removed_since(warehouse.kernel.storage, warehouse.locations["consumer_groups"], 0)


def test_tables_stay_readable_for_all(warehouse: Warehouse) -> None:
    """Reader version 1, table and column comments in the log, partitions by day, no file for a table without rows."""
    taken = snapshot(1, *HOSTILE_FACTS)
    publish_once(warehouse, taken)
    for table in STATE_TABLES:
        stored = deltalake.DeltaTable(warehouse.locations[table.name])
        assert stored.protocol().min_reader_version == 1
        assert stored.metadata().partition_columns == ["snapshot_date"]
        assert stored.metadata().configuration["comment"] == table.comment
        comments = {field.name: field.metadata["comment"] for field in stored.schema().fields}
        assert comments == {column.name: column.comment for column in table.columns}
        assert (stored.version() == 0) == (not taken.of(table.row))


def test_a_slot_is_published_once(warehouse: Warehouse) -> None:
    """A second attempt finds the published slot; if it continues, it is refused and nothing is added."""
    publish_once(warehouse, snapshot(1, lag_row("g", "t", 0), status="partial"))
    stored = slot_of(warehouse, NOON_MS + HOUR_MS)
    assert stored is not None
    assert (stored.snapshot_id, stored.status, stored.captured_at_ms) == (
        "0192-0001-default",
        "partial",
        NOON_MS + HOUR_MS,
    )
    with pytest.raises(SnapshotExists, match="0192-0001-default"):
        publish_once(warehouse, snapshot(2, lag_row("g", "t", 0), slot_ms=NOON_MS + HOUR_MS))
    assert warehouse.state("snapshots").version == warehouse.state("consumer_lag").version == 1


def test_slots_and_clusters_are_independent(warehouse: Warehouse) -> None:
    """An older slot may follow a newer one, and each cluster, with any name, has its own slots."""
    publish_once(warehouse, snapshot(5))
    publish_once(warehouse, snapshot(6, slot_ms=NOON_MS))
    publish_once(warehouse, snapshot(7, slot_ms=NOON_MS, cluster="../'x%"))
    assert [bool(slot_of(warehouse, slot)) for slot in (NOON_MS, NOON_MS + 5 * HOUR_MS, NOON_MS + 1)] == [
        True,
        True,
        False,
    ]
    assert slot_of(warehouse, cluster="../'x%") is not None
    assert slot_of(warehouse, cluster="other") is None


@pytest.mark.parametrize("engine", ["deltalake", pytest.param("Spark", marks=pytest.mark.proof)])
def test_published_slots_survive_compaction(warehouse: Warehouse, engine: str) -> None:
    """Files that other engines have rewritten, and checkpoints that replace the log, do not hide published snapshots."""
    snapshots = warehouse.locations["snapshots"]
    warehouse.kernel.storage.delete(snapshots)
    often = {"delta.checkpointInterval": "2"}
    warehouse.kernel.create(snapshots, STATE_TABLES[-1].delta_schema(), SNAPSHOT_DATE, often)
    for number in range(1, 5):
        publish_once(warehouse, snapshot(number))
    if engine == "Spark":
        warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['snapshots']}")
    else:
        deltalake.DeltaTable(warehouse.locations["snapshots"]).optimize.compact()
    publish_once(warehouse, snapshot(5))
    log = Path(warehouse.locations["snapshots"].removeprefix("file:")) / "_delta_log"
    assert list(log.glob("*.checkpoint*.parquet"))
    assert [bool(slot_of(warehouse, NOON_MS + number * HOUR_MS)) for number in range(7)] == [False, *[True] * 5, False]
    assert deltalake.DeltaTable(warehouse.locations["snapshots"]).to_pyarrow_table().num_rows == 5


def test_what_is_lost_is_noticed(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that reports success and has added nothing fails the run before anything is published."""
    monkeypatch.setattr(Kernel, "append", lambda *_, **__: 1)
    with pytest.raises(ChecksFailed, match="consumer_lag holds 0 of 1 rows"):
        publish_once(warehouse, snapshot(1, lag_row("g", "t", 0), slot_ms=NOON_MS))
    assert slot_of(warehouse) is None


def test_a_failing_table_publishes_nothing(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one table cannot be written, no row of the attempt is visible, and the next attempt succeeds."""
    real = Kernel.append

    def broken(self: Kernel, state: object, *rest: object, **more: object) -> int:
        if "consumer_lag" in state.location:  # type: ignore[attr-defined]
            raise OSError("disk full")
        return real(self, state, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Kernel, "append", broken)
    with pytest.raises(OSError, match="disk full"):
        publish_once(warehouse, other_run.attempt(1))
    monkeypatch.undo()
    assert slot_of(warehouse) is None
    publish_once(warehouse, other_run.attempt(2))
    assert trusted(warehouse) == {"0192-0002-default": 3}


@pytest.fixture
def shared_jvm(spark: SparkSession) -> dict[str, str]:
    """Return the environment in which another Python process uses the JVM of the tests."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    parameters = gateway.gateway_parameters
    port, secret = str(parameters.port), str(parameters.auth_token)
    return {**os.environ, "PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}


@contextmanager
def running(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run another process until the block ends."""
    command = [sys.executable, "-m", "tests.delta.other_run", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        yield process


def next_line(process: subprocess.Popen[str]) -> str:
    """Return the next line of the other process."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    """Let the other process publish."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


POINTS = [
    pytest.param("write", 1, "before", False, id="before the first file", marks=pytest.mark.proof),
    pytest.param("append", 1, "before", False, id="a file without a commit", marks=pytest.mark.proof),
    pytest.param("append", 2, "after", False, id="some tables", marks=pytest.mark.proof),
    pytest.param("append", 5, "before", False, id="all facts and the file of the last table", marks=pytest.mark.proof),
    pytest.param("append", 5, "after", True, id="after publication, before it was checked"),
]


@pytest.mark.parametrize(("method", "count", "when", "is_published"), POINTS)
def test_a_killed_run_leaves_a_whole_snapshot_or_none(
    warehouse: Warehouse,
    shared_jvm: dict[str, str],
    method: str,
    count: int,
    when: str,
    is_published: bool,
) -> None:
    """After SIGKILL at any point the lock is free, and the slot is either published whole or can be published."""
    with running(warehouse.name, "1", method, str(count), when, env=shared_jvm) as process:
        assert next_line(process) == "locked"
        go(process)
        assert process.wait(timeout=60) == -signal.SIGKILL
    assert (slot_of(warehouse) is not None) == is_published
    if not is_published:
        publish_once(warehouse, other_run.attempt(2))
    assert trusted(warehouse) == {"0192-0001-default" if is_published else "0192-0002-default": 3}


def test_two_runs_at_once_and_the_second_is_refused(warehouse: Warehouse, shared_jvm: dict[str, str]) -> None:
    """While one run holds a cluster's lock, another one learns who holds it; another cluster is free."""
    with running(warehouse.name, "1", env=shared_jvm) as process:
        assert next_line(process) == "locked"
        with (
            pytest.raises(LockHeld, match=f"process {process.pid} on "),
            snapshot_lock(warehouse, "default", CLOCK, wait_ms=50),
        ):
            pass
        publish_once(warehouse, snapshot(3, cluster="another"))
        go(process)
        assert next_line(process) == "published"
    assert slot_of(warehouse) is not None


def test_without_a_lock_the_fence_lets_one_publish(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two unlocked runs in two JVMs the first to publish wins; the other fails, and its rows are not visible."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())
    with running(warehouse.name, "1") as process, snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert next_line(process) == "locked"
        go(process)
        assert next_line(process) == "published"
        with pytest.raises(LockHeld):
            publish(lock, other_run.attempt(2))
    assert trusted(warehouse) == {"0192-0001-default": 3}
    assert not list(Path(warehouse.locations["snapshots"].removeprefix("file:")).rglob("0192-0002-*"))


def test_without_a_lock_one_of_many_publishes(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four unlocked runs that publish at the same moment, exactly one does."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())
    start = threading.Barrier(4)

    def run(number: int) -> bool:
        with snapshot_lock(warehouse, "default", CLOCK) as lock:
            start.wait()
            try:
                publish(lock, other_run.attempt(number))
            except LockHeld:
                return False
            return True

    with ThreadPoolExecutor(4) as threads:
        won = list(threads.map(run, range(4)))
    assert won.count(True) == 1
    assert trusted(warehouse) == {f"0192-{won.index(True):04d}-default": 3}


@pytest.mark.parametrize(
    "operation", first([lambda warehouse, table: foreign.restore(warehouse, table, 0), foreign.overwrite])
)
def test_rows_that_others_take_away_before_the_last_commit(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, operation: Callable[[Warehouse, str], None]
) -> None:
    """After a RESTORE or an OVERWRITE between a table's commit and that of `snapshots` the snapshot is not published."""
    real = publish_module._refuse_lost

    def late(lock: SnapshotLock, made: snapshot_rows.Snapshot, table: Table, version: int | None) -> None:
        if table.name == "consumer_lag":
            operation(warehouse, table.name)
        real(lock, made, table, version)

    monkeypatch.setattr(publish_module, "_refuse_lost", late)
    with (
        snapshot_lock(warehouse, "default", CLOCK) as lock,
        pytest.raises(
            ChecksFailed, match=r"^table consumer_lag (had rows replaced|was restored to version 0) \(version 2"
        ),
    ):
        publish(lock, other_run.attempt(1))
    assert trusted(warehouse) == {}
    monkeypatch.setattr(publish_module, "_refuse_lost", real)
    publish_once(warehouse, other_run.attempt(2))
    assert trusted(warehouse) == {"0192-0002-default": 3}


def test_a_commit_that_was_repeated_is_no_conflict(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the response to the last commit was lost and its repetition refused, the snapshot is published all the same."""
    real = Kernel.append

    def repeated(*arguments: Any, fence: Fence | None = None, **options: Any) -> int:
        if fence:
            real(*arguments, fence=fence, **options)
        return real(*arguments, fence=fence, **options)

    monkeypatch.setattr(Kernel, "append", repeated)
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert publish(lock, other_run.attempt(1)).rows["consumer_lag"] == 3
    assert trusted(warehouse) == {"0192-0001-default": 3}


@pytest.mark.parametrize(
    ("error", "published_rows", "expected"),
    [
        (TableError("snapshots cannot be appended to: unknown outcome"), True, None),
        (TableError("snapshots cannot be appended to: no space is left"), False, "no space is left"),
        (TableError("snapshots cannot be appended to: no answer"), TableError("no answer either"), "to: no answer"),
        (ChecksFailed("table topics holds 1 of 2 rows"), True, "holds 1 of 2 rows"),
    ],
)
def test_a_publication_whose_answer_was_lost(
    monkeypatch: pytest.MonkeyPatch, error: Exception, published_rows: Any, expected: str | None
) -> None:
    """The run ends as if it had the answer if the snapshot is there; what was read back and differs stays an error."""
    monkeypatch.setattr(publish_module, "_refuse_published", lambda *_: None)
    monkeypatch.setattr(publish_module, "_write_all", MagicMock(side_effect=error))
    monkeypatch.setattr(publish_module, "_is_published", MagicMock(side_effect=[published_rows]))
    lock: Any = SimpleNamespace(clock=CLOCK)
    made = snapshot(1, lag_row("g", "t", 0))
    with nullcontext() if expected is None else pytest.raises(TableError, match=expected):
        assert publish(lock, made).rows["consumer_lag"] == 1


@pytest.mark.parametrize(("writer_version", "is_refused"), [(2, False), (3, True)])
def test_a_table_that_the_kernel_does_not_write(writer_version: int, is_refused: bool) -> None:
    """The lock is refused, so that nothing is collected: a user may have added a CHECK constraint to any of the tables."""
    warehouse = MagicMock(exclusively=lambda *_: nullcontext())
    warehouse.opened = {STATE_TABLES[0].name: MagicMock(writer_version=writer_version)}
    warehouse.kernel.refuse_unwritable.side_effect = TableError("cannot be appended to: checkConstraints")
    warehouse.kernel.last_transaction.return_value = None
    expected = pytest.raises(TableError, match="checkConstraints") if is_refused else nullcontext()
    with expected, snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert lock.fence.version == 1
