"""Joined files have the rows of the small files of any writer, and replace them in one commit or not at all."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_lagoon.delta import compact as compact_module
from kafka_lagoon.delta.compact import compact, has_row_ids, keep_rows
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, SchemaChanged, TableError
from kafka_lagoon.tables.schema import STATE_TABLES
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.samples import lag_row, snapshot
from tests.delta.test_publish import publish_once, rows_of
from tests.effort import first

LAG = next(table for table in STATE_TABLES if table.name == "consumer_lag")
ALL = 1 << 30


def fill(warehouse: Warehouse, *numbers: int) -> None:
    """Make snapshots of one lag row each."""
    for number in numbers:
        publish_once(warehouse, snapshot(number, lag_row("g", "t", 0, lag=number)))


def folder(warehouse: Warehouse) -> Path:
    """Make a folder with the lag of these snapshots."""
    return Path(warehouse.locations[LAG.name].removeprefix("file:"))


def join(warehouse: Warehouse, target_bytes: int = ALL) -> int:
    """Join all files; return their number."""
    files = warehouse.kernel.live_files(warehouse.state(LAG.name))
    return len(compact(warehouse, LAG, files, target_bytes, CLOCK)[0])


def lags(warehouse: Warehouse) -> list[Any]:
    """Return the lag of every row, in the order of the files."""
    return [row["lag"] for row in rows_of(warehouse, LAG.name)]


def rewritten(warehouse: Warehouse, number: int, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    """Rewrite the file of one snapshot, as another writer or version would have written it."""
    (path,) = folder(warehouse).rglob(f"*{number:04d}-default.parquet")
    pq.write_table(change(pq.read_table(path, partitioning=None)), path, **options)


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("TRUE", True), ("false", False), (None, False)])
def test_tables_whose_rows_have_ids(value: str | None, expected: bool) -> None:
    """Row tracking is a property of the table; files that pyarrow writes would give its rows new ids."""
    kernel = SimpleNamespace(table_property=lambda _, key: value if key == "delta.enableRowTracking" else None)
    lake: Any = SimpleNamespace(kernel=kernel, state=lambda _: None)
    assert has_row_ids(lake, STATE_TABLES[0]) is expected


def test_files_of_other_writers_and_versions(warehouse: Warehouse) -> None:
    """Spark writes times as INT96 without a zone, and files of an older version lack columns, which are null then."""
    fill(warehouse, 1, 2, 3)
    captured = [row["captured_at"] for row in rows_of(warehouse, LAG.name)]
    rewritten(warehouse, 1, lambda rows: rows, use_deprecated_int96_timestamps=True)
    rewritten(warehouse, 2, lambda rows: rows.drop_columns(["lag", "topic_id"]))
    assert join(warehouse) == 3
    assert sorted(row["captured_at"] for row in rows_of(warehouse, LAG.name)) == sorted(captured)
    assert lags(warehouse) == [1, None, 3]


def test_rows_are_in_order_of_time_and_files_of_a_size(warehouse: Warehouse) -> None:
    """A file ends before it would pass the target size; a single remaining file is not joined."""
    fill(warehouse, 1, 2, 3, 4, 5)
    size = next(folder(warehouse).rglob("*.parquet")).stat().st_size
    assert join(warehouse, round(size * 2.5)) == 4
    assert sorted(lags(warehouse)) == [1, 2, 3, 4, 5]
    files = warehouse.kernel.live_files(warehouse.state(LAG.name))
    assert sorted(file.rows for file in files) == [1, 2, 2]


def test_another_commit_in_between(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock a run may commit while files are joined: its rows stay, and the files are joined after it."""
    fill(warehouse, 1, 2)
    replace, others = Kernel.replace, [3]

    def late(kernel: Kernel, *arguments: Any, **named: Any) -> int:
        if others:
            state = warehouse.state(LAG.name)
            file = warehouse.kernel.storage.write_rows(f"{state.location}/snapshot_date=2025-11-21/3.parquet", third)
            kernel.append(state, [file], ("snapshot_date", date(2025, 11, others.pop() + 18)))
        return replace(kernel, *arguments, **named)

    third = pq.read_table(next(folder(warehouse).rglob("*0002-default.parquet")), partitioning=None)
    monkeypatch.setattr(Kernel, "replace", late)
    assert join(warehouse) == 2
    assert sorted(lags(warehouse)) == [1, 2, 2]


FOREIGN: dict[str, Callable[[Warehouse, str], None]] = {
    "restore": lambda warehouse, table: foreign.restore(warehouse, table, 1),
    "overwrite": foreign.overwrite,
    "delete": foreign.delete,
    "update": foreign.update,
    "optimize": foreign.optimize,
    "vacuum": foreign.vacuum,
}


@pytest.mark.parametrize("operation", first(list(FOREIGN.values()), 3), ids=FOREIGN)
@pytest.mark.parametrize(("where", "what"), first([(Kernel, "replace"), (compact_module, "replace_files")]))
def test_what_others_do_meanwhile(
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
    operation: Callable[[Warehouse, str], None],
    where: object,
    what: str,
) -> None:
    """Another commit before the files are checked again, or just before the commit, neither restores nor doubles rows."""
    fill(warehouse, 1, 2)
    real, left = getattr(where, what), list[list[int | None]]()

    def late(*arguments: Any, **named: Any) -> Any:
        if not left:
            operation(warehouse, LAG.name)
            left.append(sorted(lags(warehouse)))
        return real(*arguments, **named)

    monkeypatch.setattr(where, what, late)
    join(warehouse)
    assert [sorted(lags(warehouse))] == left


def test_columns_that_others_have_added_meanwhile(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with our columns do not replace files that may have more."""
    fill(warehouse, 1, 2)
    real = compact_module.replace_files

    def late(*arguments: Any) -> bool:
        warehouse.spark.sql(f"ALTER TABLE {warehouse.identifiers[LAG.name]} ADD COLUMNS (theirs INT)")
        return real(*arguments)

    monkeypatch.setattr(compact_module, "replace_files", late)
    with pytest.raises(SchemaChanged, match="column theirs is not ours"):
        join(warehouse)


def test_files_that_another_run_has_removed(warehouse: Warehouse) -> None:
    """Of two maintenances that join the same files the later one changes nothing, and leaves no file."""
    fill(warehouse, 1, 2)
    files = warehouse.kernel.live_files(warehouse.state(LAG.name))
    assert join(warehouse) == 2
    before = set(folder(warehouse).rglob("*.parquet"))
    assert compact(warehouse, LAG, files, ALL, CLOCK) == ((), ())
    assert set(folder(warehouse).rglob("*.parquet")) == before
    assert sorted(lags(warehouse)) == [1, 2]


def test_a_file_with_other_rows_than_the_log_says(warehouse: Warehouse) -> None:
    """Files that may be damaged are not rewritten."""
    fill(warehouse, 1, 2)
    rewritten(warehouse, 1, lambda rows: rows.slice(0, 0))
    with pytest.raises(ChecksFailed, match="hold 1 rows, its log says 2"):
        join(warehouse)


def test_a_damaged_file_is_named(warehouse: Warehouse) -> None:
    """Of all files of many days it is the one to bring back from a backup."""
    fill(warehouse, 1, 2)
    (path,) = folder(warehouse).rglob("*0002-default.parquet")
    path.write_bytes(b"")
    with pytest.raises(TableError, match=rf"{path} cannot be read: Parquet file size is 0 bytes$"):
        join(warehouse)


@pytest.mark.parametrize("rewrite", [join, lambda warehouse, size: keep(warehouse, 1, 3, 4, target_bytes=size)])
def test_files_made_before_one_that_fails(warehouse: Warehouse, rewrite: Callable[[Warehouse, int], object]) -> None:
    """They are deleted: maintenance would make them again every night, as long as one file is damaged."""
    fill(warehouse, 1, 2, 3, 4)
    two_files = 2 * max(path.stat().st_size for path in folder(warehouse).rglob("*.parquet"))
    rewritten(warehouse, 4, lambda rows: rows.slice(0, 0))
    before = set(folder(warehouse).rglob("*.parquet"))
    with pytest.raises(ChecksFailed, match="hold 1 rows, its log says 2"):
        rewrite(warehouse, two_files)
    assert set(folder(warehouse).rglob("*.parquet")) == before


DAY = date(2025, 11, 21)


def keep(warehouse: Warehouse, *numbers: int, target_bytes: int = ALL) -> int | None:
    """Keep the rows of these snapshots; return the number of removed rows, None if nothing was committed."""
    files = warehouse.kernel.live_files(warehouse.state(LAG.name))
    ids = frozenset(f"0192-{number:04d}-default" for number in numbers)
    return keep_rows(warehouse, LAG, files, {DAY: ids}, target_bytes, CLOCK)


def test_rows_of_some_snapshots_stay(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in joined and in small files; row groups without the snapshots are not read."""
    fill(warehouse, 1, 2, 3, 4, 5)
    monkeypatch.setattr("kafka_lagoon.delta.compact._ROW_GROUP_BYTES", 1)
    join(warehouse)
    fill(warehouse, 6)
    read: list[int] = []
    real = pq.ParquetFile.read_row_group

    def counted(file: pq.ParquetFile, number: int, **options: Any) -> pa.Table:
        read.append(number)
        return real(file, number, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    assert keep(warehouse, 2, 4, 5, 7) == 3
    assert read == [1, 3, 4]
    assert sorted(lags(warehouse)) == [2, 4, 5]
    (file,) = warehouse.kernel.live_files(warehouse.state(LAG.name))
    assert (file.rows, file.day) == (3, DAY)


def test_rows_of_files_above_the_target_size_stay(warehouse: Warehouse) -> None:
    """Such files are rewritten like others."""
    fill(warehouse, 1, 2, 3)
    assert keep(warehouse, 2, 3, target_bytes=1) == 1
    assert sorted(lags(warehouse)) == [2, 3]


def test_readers_of_changes_hear_of_removed_rows_alone(warehouse: Warehouse) -> None:
    """Joined rows are no change to them, and rows that stay are not new where others of their file go."""

    def data_changes() -> dict[str, bool]:
        lines = foreign.commit_files(warehouse, LAG.name)[-1].read_text().splitlines()
        actions = {name: action for line in lines for name, action in json.loads(line).items()}
        return {name: actions[name]["dataChange"] for name in ("add", "remove")}

    fill(warehouse, 1, 2, 3)
    assert join(warehouse) == 3
    assert data_changes() == {"add": False, "remove": False}
    assert keep(warehouse, 2) == 2
    assert data_changes() == {"add": False, "remove": True}


def test_rows_of_writers_without_statistics_stay(warehouse: Warehouse) -> None:
    """Where nothing says which snapshots a row group has, it is read."""
    fill(warehouse, 1, 2, 3)
    rewritten(warehouse, 2, lambda rows: rows, write_statistics=False)
    assert keep(warehouse, 2, 3) == 1
    assert sorted(lags(warehouse)) == [2, 3]


def test_files_without_rows_to_be_removed_stay(warehouse: Warehouse) -> None:
    """Without rows to remove there is no new file and no commit; files without rows to keep are not read."""
    fill(warehouse, 1, 2)
    before = set(folder(warehouse).rglob("*.parquet")), warehouse.state(LAG.name).version
    assert keep(warehouse, 1, 2, 3) is None
    assert (set(folder(warehouse).rglob("*.parquet")), warehouse.state(LAG.name).version) == before
    rewritten(warehouse, 1, lambda rows: rows.slice(0, 0))
    with pytest.raises(ChecksFailed, match="hold 1 rows, its log says 2"):
        keep(warehouse, 2)
    assert keep(warehouse) == 2
    assert warehouse.kernel.live_files(warehouse.state(LAG.name)) == []


def test_rows_of_spark_and_of_older_versions_stay(warehouse: Warehouse) -> None:
    """Times as INT96 and missing columns are handled as in joining."""
    fill(warehouse, 1, 2, 3)
    captured = sorted(row["captured_at"] for row in rows_of(warehouse, LAG.name))
    rewritten(warehouse, 1, lambda rows: rows, use_deprecated_int96_timestamps=True)
    rewritten(warehouse, 2, lambda rows: rows.drop_columns(["lag", "topic_id"]))
    assert keep(warehouse, 1, 2) == 1
    assert sorted(row["captured_at"] for row in rows_of(warehouse, LAG.name)) == captured[:2]
    assert lags(warehouse) == [1, None]
