"""Results of statements as text."""

import json
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import TableError
from pipeline.tables.schema import TABLES
from pipeline.tables.sql import as_json_lines, as_text, list_relations, query
from pipeline.tables.views import VIEWS
from pipeline.tables.warehouse import Warehouse
from tests.tables.samples import HOSTILE, lag_row, snapshot
from tests.tables.test_publish import publish_once


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    """One published snapshot with odd names."""
    publish_once(warehouse, snapshot(1, lag_row(HOSTILE, "t", 0, lag=2**63 - 1), lag_row("g", "t", 1)))
    for relation in (*TABLES, *VIEWS):  # what other tests left in the session
        warehouse.spark.catalog.dropTempView(relation.name)
    return warehouse


def test_a_statement_finds_what_it_mentions(filled: Warehouse) -> None:
    """Tables and views are there by name, upper case or lower; only those that a statement needs are opened."""
    result = query(filled, "SELECT group_id, lag FROM LAG_NOW ORDER BY partition")
    assert result.to_pylist() == [{"group_id": HOSTILE, "lag": 2**63 - 1}, {"group_id": "g", "lag": None}]
    opened = {one.name for one in filled.spark.catalog.listTables()}
    assert opened == {"consumer_lag", "snapshots", "snapshots_now", "lag_now"}
    moments = as_text(query(filled, "SELECT DISTINCT captured_at, snapshot_date FROM consumer_lag"))
    assert moments.splitlines() == ["captured_at               snapshot_date", "2025-11-21T13:00:00.123Z  2025-11-21"]


@pytest.mark.parametrize(("statement", "complaint"), [("SELEC 1", "SELEC"), ("SELECT nope FROM snapshots", "nope")])
def test_a_wrong_statement_is_one_line(warehouse: Warehouse, statement: str, complaint: str) -> None:
    """What Spark has to say about a statement is said without a stack trace."""
    with pytest.raises(TableError, match=complaint) as raised:
        query(warehouse, statement)
    assert "\n" not in str(raised.value)


ODD: dict[str, Any] = {
    "name": ["short", HOSTILE],
    "lag": [5, None],
    "topics": [["a", "é"], None],
    "known": [True, False],
}


def test_text_is_aligned_and_harmless() -> None:
    """Numbers stand to the right, null is spelled out, and no byte of a name reaches the terminal as a command."""
    lines = as_text(pa.table(ODD)).splitlines()
    assert lines[0].split() == ["name", "lag", "topics", "known"]
    assert lines[1].split() == ["short", "5", '["a",', '"é"]', "true"]
    assert lines[2].endswith("  null  null        false")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert r"\u001b[31m \u202e\u2066 é 😀" in lines[2]


def test_json_is_exact() -> None:
    """One object a line; 64-bit integers, null and odd names come back as they were."""
    lines = as_json_lines(pa.table({**ODD, "lag": [2**63 - 1, None]})).splitlines()
    assert [json.loads(line)["lag"] for line in lines] == [2**63 - 1, None]
    assert json.loads(lines[1])["name"] == HOSTILE
    assert all(line.isascii() for line in lines)


def test_nothing_is_no_text() -> None:
    """Statements without a result print nothing; results without rows print their header."""
    assert not as_text(pa.table({}))
    assert not as_json_lines(pa.table({}))
    assert as_text(pa.table({"lag": pa.array([], pa.int64())})) == "lag"


def test_the_list_has_every_table_column_and_view() -> None:
    """Without a statement, everything that can be asked is listed with its meaning."""
    text = list_relations()
    for table in TABLES:
        assert f"{table.name}\n  {table.comment}\n" in text
        assert all(f"    {column.name} " in text and column.comment in text for column in table.columns)
    assert all(f"{view.name} (view)\n  {view.comment}\n" in f"{text}\n" for view in VIEWS)
