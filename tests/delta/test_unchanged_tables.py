"""Unchanged rows are stored once a day, and every reader finds them for each snapshot."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from kafka_lagoon.delta.arrow import arrow_blocks, write_parquet
from kafka_lagoon.delta.compact import compact
from kafka_lagoon.delta.publish import publish, snapshot_lock, stored_tables
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.security_rows import AclRow
from kafka_lagoon.tables.snapshot_rows import Snapshot, TableState
from kafka_lagoon.tables.table_states import StoredTable
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.samples import HOUR_MS, NOON_MS, row, snapshot
from tests.delta.test_publish import publish_once, rows_of
from tests.query.test_views import check
from tests.warehouses import open_at

FIRST = "0192-0001-default"


def state(stored_in: str, digest: str | None = "d", table: str = "acls", outcome: str = "complete") -> TableState:
    """Make a snapshot's entry for a table with one row."""
    return TableState(table_name=table, outcome=outcome, row_count=1, stored_in=stored_in, digest=digest)


def attempt(number: int, stored_in: str | None = None, principal: str = "a", **state_of: Any) -> Snapshot:
    """Make an attempt with one ACL, whose rows it stores itself or refers to."""
    own = f"0192-{number:04d}-default"
    states = (state(stored_in or own, **state_of),)
    return snapshot(number, row(AclRow, principal=principal), status="complete", tables=states)


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    """Publishes two snapshots with the same ACL, one with another, one whose request failed, one of another version."""
    publish_once(warehouse, attempt(1))
    publish_once(warehouse, attempt(2, FIRST))
    publish_once(warehouse, attempt(3, principal="b"))
    failed = state("0192-0004-default", digest=None, outcome="failed")
    publish_once(warehouse, snapshot(4, status="complete", tables=(failed,)))
    publish_once(warehouse, snapshot(5, row(AclRow, principal="c"), status="complete"))
    return warehouse


def test_rows_are_stored_once_and_shown_for_each_snapshot(filled: Warehouse) -> None:
    """The table has stored rows once, the view has them for each snapshot; both engines agree, and Polars on the files."""
    wanted = [(FIRST, "a"), ("0192-0002-default", "a"), ("0192-0003-default", "b"), ("0192-0005-default", "c")]
    check(filled, "SELECT snapshot_id, principal FROM acls_published", wanted)
    check(
        filled,
        "SELECT CAST(hour(captured_at) AS INT) AS captured, CAST(hour(slot) AS INT) AS slot_hour, status FROM acls_published "
        "WHERE snapshot_id = '0192-0002-default'",
        [(14, 14, "complete")],
    )
    stored = [(FIRST, "a"), ("0192-0003-default", "b"), ("0192-0005-default", "c")]
    assert sorted((one["snapshot_id"], one["principal"]) for one in rows_of(filled, "acls")) == stored
    snapshots, acls = (pl.read_delta(urlsplit(filled.locations[name]).path) for name in ("snapshots", "acls"))
    states = snapshots.select("snapshot_id", "tables").explode("tables").unnest("tables")
    joined = states.join(acls, left_on="stored_in", right_on="snapshot_id")
    assert sorted(joined.select("snapshot_id", "principal").rows()) == wanted[:3]


@pytest.mark.proof
def test_a_view_lists_the_tables_of_each_snapshot(filled: Warehouse) -> None:
    """A failed table has no digest, so that it is not taken for empty; rows of version 0.1.0 have no states."""
    check(
        filled,
        "SELECT snapshot_id, table_name, outcome, row_count, stored_in, digest FROM table_states",
        [
            (FIRST, "acls", "complete", 1, FIRST, "d"),
            ("0192-0002-default", "acls", "complete", 1, FIRST, "d"),
            ("0192-0003-default", "acls", "complete", 1, "0192-0003-default", "d"),
            ("0192-0004-default", "acls", "failed", 1, "0192-0004-default", None),
        ],
    )


def test_the_next_run_finds_what_is_stored(warehouse: Warehouse) -> None:
    """It is found by the latest snapshot of the cluster and by the day alone."""
    publish_once(warehouse, attempt(1))
    publish_once(warehouse, attempt(2, FIRST))
    publish_once(warehouse, snapshot(3, tables=(state("other", digest="x"),), cluster="other"))
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        stored = {"acls": StoredTable(snapshot_id=FIRST, captured_at_ms=NOON_MS + 2 * HOUR_MS, digest="d")}
        assert stored_tables(lock, NOON_MS + 4 * HOUR_MS) == stored
        assert stored_tables(lock, NOON_MS + 24 * HOUR_MS) == {}
    publish_once(warehouse, snapshot(4, tables=(state("0192-0004-default", digest=None),)))
    publish_once(warehouse, snapshot(5))
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert stored_tables(lock, NOON_MS + 6 * HOUR_MS) == {}
    with snapshot_lock(warehouse, "new", CLOCK) as lock:
        assert stored_tables(lock, NOON_MS) == {}


def test_what_is_stored_is_found_in_a_joined_file(warehouse: Warehouse) -> None:
    """The latest snapshot of the cluster counts there; a cluster between two others by its name has none."""
    publish_once(warehouse, attempt(1))
    publish_once(warehouse, attempt(2, principal="b", digest="x"))
    publish_once(warehouse, snapshot(3, tables=(state("other", digest="y"),), cluster="other"))
    table = STATE_TABLES[-1]
    files = warehouse.kernel.live_files(warehouse.state(table.name))
    assert len(compact(warehouse, table, files, 1 << 30, CLOCK)[0]) == 3
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert {name: one.digest for name, one in stored_tables(lock, NOON_MS).items()} == {"acls": "x"}
    with snapshot_lock(warehouse, "new", CLOCK) as lock:
        assert stored_tables(lock, NOON_MS) == {}


@pytest.mark.parametrize(
    ("operation", "is_there"), [(foreign.overwrite, False), (foreign.optimize, True), (foreign.vacuum, True)]
)
def test_rows_that_others_took_away_are_stored_again(
    warehouse: Warehouse, operation: Callable[[Warehouse, str], None], is_there: bool
) -> None:
    """A snapshot refers only to existing rows, after any change of the table between two runs."""
    publish_once(warehouse, attempt(1))
    operation(warehouse, "acls")
    warehouse.opened.clear()
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        assert (set(stored_tables(lock, NOON_MS)) == {"acls"}) == is_there


def test_a_commit_without_a_time_hides_none_before_it(tmp_path: Path) -> None:
    """Rows that were replaced are stored again, also where a later commit of others does not tell its time."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    published = attempt(1)
    by_a_slow_clock = published.header.captured_at_ms - HOUR_MS // 2
    info, remove = {"commitInfo": {"timestamp": by_a_slow_clock}}, {"remove": {"path": "a", "dataChange": True}}
    for version, actions in ((1, (info, remove)), (2, ({"add": {"path": "b", "dataChange": True}},))):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    storage, header = Storage(jvm=None, conf=None), STATE_TABLES[-1]
    pieces = arrow_blocks(header, published.header, published.rows[header.row])
    stored, _ = storage.write_with(f"file:{tmp_path}/snapshot.parquet", lambda sink: write_parquet(sink, pieces))
    lake = SimpleNamespace(
        kernel=SimpleNamespace(storage=storage, files=lambda *_: [stored.url]),
        locations={"acls": f"file:{tmp_path}"},
        base=lambda _: SimpleNamespace(version=2),
    )
    lock: Any = SimpleNamespace(warehouse=lake, history=None, cluster="default")
    assert stored_tables(lock, NOON_MS) == {}
    (log / f"{1:020d}.json").write_text(json.dumps(info))
    assert set(stored_tables(lock, NOON_MS)) == {"acls"}
    (log / f"{2:020d}.json").write_text("\n".join(map(json.dumps, (info, remove))))
    assert stored_tables(lock, NOON_MS) == {}


def test_a_table_that_was_made_again_has_no_stored_rows(warehouse: Warehouse) -> None:
    """No commit of the new table contradicts the snapshot that refers to rows of the old one."""
    publish_once(warehouse, attempt(1))
    shutil.rmtree(urlsplit(warehouse.locations["acls"]).path)
    again = open_at(warehouse.spark, Path(urlsplit(warehouse.locations["acls"]).path).parent)
    with snapshot_lock(again, "default", CLOCK) as lock:
        assert stored_tables(lock, NOON_MS) == {}


def test_rows_that_go_while_a_snapshot_is_taken(warehouse: Warehouse) -> None:
    """The snapshot is not published, because it would refer to rows that are gone."""
    publish_once(warehouse, attempt(1))
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        warehouse.opened["acls"] = warehouse.state("acls")
        foreign.overwrite(warehouse, "acls")
        with pytest.raises(
            ChecksFailed, match=r"^table acls had rows replaced \(version 2.*VERSION AS OF 1 brings them back"
        ):
            publish(lock, attempt(2, FIRST))
    assert len(rows_of(warehouse, "snapshots")) == 1
