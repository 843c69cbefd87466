"""Rows of admin_actions are visible to every reader once they are written, with and without Spark."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta import admin_actions
from kafka_lagoon.delta.admin_actions import fence_of_now, is_passed, recording, warehouse_for_actions
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, TABLES
from kafka_lagoon.tables.write_rows import AdminActionRow
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.action_samples import finished, started
from tests.delta.test_log_store import a_lake
from tests.nulls import plain_table, unexplained
from tests.object_store import ObjectStore
from tests.warehouses import settings

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOON_MS = round(NOON.timestamp() * 1000)
OUTCOMES = [("of alter_configs", "unknown"), ("of create_topic", "done"), ("of delete_topic", "failed")]


def test_rows_are_written_without_a_session(tmp_path: Path, spark: SparkSession) -> None:
    """A new folder gets all tables and checkpoints, and DuckDB, deltalake and Spark read the rows."""
    folder = tmp_path / "new folder"
    command = [sys.executable, "-m", "tests.delta.plain_recording", str(folder), str(NOON_MS)]
    assert subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stdout == "None\n"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {table.name for table in TABLES}
    assert (folder / "admin_actions" / "_delta_log" / "_last_checkpoint").exists()
    with duckdb_engine.opened(folder, {"admin_outcomes"}) as ask:
        result = ask("SELECT action_id, outcome FROM admin_outcomes ORDER BY 1")
        assert [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()] == OUTCOMES
    by_deltalake = deltalake.DeltaTable(str(folder / "admin_actions")).to_pyarrow_dataset().to_table().to_pylist()
    seen = spark.read.format("delta").load(str(folder / "admin_actions"))
    assert [row.asDict() for row in seen.orderBy("event", "action_id").collect()] == [
        row | {"at": row["at"].replace(tzinfo=None)}
        for row in sorted(by_deltalake, key=lambda row: (row["event"], row["action_id"]))
    ]
    assert {(row["event"], row["at"]) for row in by_deltalake} == {
        ("started", NOON),
        ("finished", NOON.replace(microsecond=5000)),
    }
    assert {str(row["write_date"]) for row in by_deltalake} == {"2026-11-21"}


def test_one_run_at_a_time_alters_a_cluster(warehouse: Warehouse) -> None:
    """A second run over the same cluster ends at once; a run over another cluster does not."""
    with recording(warehouse, "one", CLOCK):
        with pytest.raises(LockHeld), recording(warehouse, "one", CLOCK):
            pass
        with recording(warehouse, "two", CLOCK) as recorder:
            recorder.write(started(NOON_MS))
    state = warehouse.state(ADMIN_ACTIONS.name)
    assert state.version == 1


def test_what_cannot_be_written_is_an_error(warehouse: Warehouse) -> None:
    """A row that cannot be written is an error."""
    folder = Path(warehouse.locations[ADMIN_ACTIONS.name].removeprefix("file:"))
    with recording(warehouse, "one", CLOCK) as recorder:
        folder.rename(folder.with_name("gone"))
        folder.write_text("a file")
        with pytest.raises(TableError):
            recorder.write(started(NOON_MS))


def test_every_null_has_its_reason() -> None:
    """A row without an outcome is the first of its action, and a row without an error is no failure."""
    rows = [*started(NOON_MS), *finished(NOON_MS)]
    assert unexplained({ADMIN_ACTIONS.name: (AdminActionRow, plain_table(AdminActionRow, rows))}) == []


def test_a_table_that_lacks_columns_is_opened_with_spark(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may have more columns than the table; only a session can add them."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    more = replace(ADMIN_ACTIONS.columns[0], name="more", field="more", nullable=True)
    newer = replace(ADMIN_ACTIONS, columns=(more, *ADMIN_ACTIONS.columns))
    monkeypatch.setattr(admin_actions, "ADMIN_ACTIONS", newer)
    with warehouse_for_actions(settings(f"warehouse={warehouse.name}"), CLOCK, "admin") as opened:
        assert opened.session is not None


@pytest.mark.parametrize(
    "operation", [foreign.overwrite, lambda warehouse, table: foreign.restore(warehouse, table, 0)]
)
def test_rows_that_others_take_away(warehouse: Warehouse, operation: Callable[[Warehouse, str], None]) -> None:
    """A run whose `started` rows were removed does not continue."""
    with recording(warehouse, "one", CLOCK) as recorder:
        recorder.write(started(NOON_MS))
        operation(warehouse, ADMIN_ACTIONS.name)
        with pytest.raises(TableError, match=r"^table admin_actions .* rows that this run counts on are gone"):
            recorder.write(finished(NOON_MS))


@pytest.mark.parametrize(
    "last", [{"add": {"path": "a", "dataChange": True}}, {"commitInfo": {"timestamp": CLOCK.now_ms() - 700_000}}]
)
def test_others_say_nothing_of_a_run(tmp_path: Path, last: dict[str, Any]) -> None:
    """A commit of others without a time, or with that of a clock that is late, does not make a run look dead."""
    begun = {"commitInfo": {"timestamp": CLOCK.now_ms()}}, {"txn": {"appId": "lagoon/alter/one", "version": 1}}
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version, actions in ((1, begun), (2, (last,))):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    storage = Storage(jvm=None, conf=None)
    kernel = SimpleNamespace(storage=storage)
    kernel.last_transaction = lambda *_: 1
    location = f"file:{tmp_path}"
    table: Any = SimpleNamespace(
        kernel=kernel,
        has_locks=False,
        locations={ADMIN_ACTIONS.name: location},
        state=lambda _: SimpleNamespace(version=2, location=location),
        opened={},
    )
    with pytest.raises(LockHeld, match="10 minutes"), recording(table, "one", CLOCK):
        pass
    later = replace(CLOCK, now_ms=lambda: CLOCK.now_ms() + 601_000)
    with recording(table, "one", later):
        pass


@pytest.fixture(scope="module")
def lake(spark: SparkSession, bucket: ObjectStore) -> Warehouse:  # noqa: ARG001  reaches the bucket
    """A warehouse in the bucket, with one table."""
    made = at_path(spark, a_lake())
    location, table = made.locations[ADMIN_ACTIONS.name], ADMIN_ACTIONS
    made.kernel.create(location, table.delta_schema(), table.partition_by, table.properties)
    return made


@pytest.mark.proof
class TestOnAnObjectStore:
    """Without file locks the transaction id of a cluster's alterations prevents two runs at a time."""

    def rows(self, lake: Warehouse) -> int:
        """Return the number of rows."""
        return sum(file.rows or 0 for file in lake.kernel.live_files(lake.state(ADMIN_ACTIONS.name)))

    def test_of_two_that_begin_at_once_one_goes_on(self, lake: Warehouse) -> None:
        """Both have read that no run is active; the second to commit its start raises LockHeld, and writes nothing."""
        with recording(lake, "race", CLOCK) as first, recording(lake, "race", CLOCK) as second:
            first.write(started(NOON_MS))
            before = self.rows(lake)
            with pytest.raises(LockHeld, match="it began in the meantime"):
                second.write(started(NOON_MS))
            first.write(finished(NOON_MS))
            assert self.rows(lake) == before + 2

    def test_a_run_that_began_since_others_planned(self, lake: Warehouse) -> None:
        """Whoever has read the cluster before that cannot alter it, also after the run has ended."""
        fence = fence_of_now(lake, "planned", CLOCK)
        assert fence is not None
        assert not is_passed(lake, fence)
        with recording(lake, "planned", CLOCK) as recorder:
            recorder.write(started(NOON_MS))
        assert is_passed(lake, fence)
        with recording(lake, "planned", CLOCK, fence=fence) as recorder, pytest.raises(LockHeld, match="meantime"):
            recorder.write(started(NOON_MS))

    def test_who_comes_later_waits_for_the_end(self, lake: Warehouse) -> None:
        """Another cluster is free; as soon as a run has ended, the next may begin."""
        with recording(lake, "one", CLOCK) as recorder:
            recorder.write(started(NOON_MS))
            with pytest.raises(LockHeld, match="10 minutes"), recording(lake, "one", CLOCK, 50):
                pass
            with recording(lake, "two", CLOCK) as other:
                other.write(started(NOON_MS))
            recorder.write(finished(NOON_MS))
        with recording(lake, "one", CLOCK) as recorder:
            recorder.write(started(NOON_MS))

    def test_a_run_that_died(self, lake: Warehouse) -> None:
        """It keeps other runs away for ten minutes, and later commits of it are refused."""
        dead = recording(lake, "dead", CLOCK)
        writer = dead.__enter__()
        writer.write(started(NOON_MS))
        later = replace(CLOCK, now_ms=lambda: CLOCK.now_ms() + 601_000)
        with pytest.raises(LockHeld), recording(lake, "dead", CLOCK):
            pass
        with recording(lake, "dead", later) as recorder:
            recorder.write(started(NOON_MS))
            with pytest.raises(LockHeld):
                writer.write(finished(NOON_MS))

    def test_a_commit_whose_answer_was_lost(self, lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        """The repeated commit is refused, but the commit is the run's own."""
        real = Kernel.append

        def repeated(*arguments: Any, **options: Any) -> int:
            real(*arguments, **options)
            return real(*arguments, **options)

        with recording(lake, "lost", CLOCK) as recorder:
            with monkeypatch.context() as patch:
                patch.setattr(Kernel, "append", repeated)
                recorder.write(started(NOON_MS))
            recorder.write(finished(NOON_MS))
