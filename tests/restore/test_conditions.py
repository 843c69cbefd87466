"""A condition depends on the record alone, and faulty conditions are refused first."""

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.restore.conditions import columns_in, faults_of, matching
from tests.restore.lake import records

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "condition",
    [
        'key IS NOT NULL AND "offset" % 2 = 0',
        "timestamp >= '2026-11-01'",
        "len(list_filter(headers, lambda one: one.key = 'a')) > 0",
        "headers[1].key = 'tenant' AND headers[1].value = '7'::BLOB",
        "decode(value) LIKE '%error%'",
        "records.partition IN (1, 2)",
        "key.decode() = 'a' AND records.value.decode().upper() LIKE 'B_'",
        "nullif(leader_epoch, 0) IS NULL OR split_part(topic, '.', 1) = 'a' OR if(is_aborted, 1, 0) = 1",
        "split_part(topic, '.', 2)::INT = 5 OR headers[1].value::BLOB = value OR decode(value)::JSON->>'a' = 'b'",
        "list_max([partition, leader_epoch]) > 3 AND age(timestamp, '2026-11-01') > INTERVAL 1 DAY",
    ],
)
def test_conditions_over_columns(condition: str) -> None:
    """DuckDB's functions of one row are accepted."""
    assert faults_of(condition) == []


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("random() < 0.5", "random may have another value each time"),
        ("timestamp > now() - INTERVAL 1 DAY", "now may have another value each time"),
        ("timestamp::DATE = current_date", "current_date may have another value each time"),
        ("current_timestamp > timestamp", "current_timestamp may have another value each time"),
        ("timestamp > ago(INTERVAL 1 DAY)", "ago may have another value each time"),
        ("AGE(timestamp) > INTERVAL 1 DAY", "age with one argument may have another value each time"),
        ("timestamp.age() > INTERVAL 1 DAY", "age with one argument may have another value each time"),
        ("timestamp < Current_LocalTimestamp()", "current_localtimestamp may have another value each time"),
        ("COLUMNS(*) IS NOT NULL", "* and COLUMNS mean several columns"),
        ("COLUMNS(c -> c = 'value') IS NOT NULL", "* and COLUMNS mean several columns"),
        ("concat(*COLUMNS('^v')) <> ''", "* and COLUMNS mean several columns"),
        ("records IS NOT NULL", "records means all columns"),
        ("struct_extract(Records, 'ke' || 'y') IS NULL", "records means all columns"),
        ("records.struct_extract('key') IS NULL", "records means all columns"),
        ("#1 IS NOT NULL", "# and a number mean a column"),
        ("partition IN (SELECT 1)", "it reads another table"),
        ("colour = 'red'", "colour"),
        ("partition = 1) OR (true", "syntax error"),
        ("partition = 1 LIMIT 5", "syntax error"),
        ("partition = 1; DROP TABLE records", "SELECT"),
        ("partition =", "syntax error"),
        ("partition = 1 AND timestamp >= '2026-11-31'", "out of range"),
        ("key IS NULL OR timestamp < 'tomorrow'", "invalid timestamp"),
        ("partition = 'first'", "Could not convert string 'first'"),
        ("key = 'Zoë'::BLOB", "Invalid byte"),
        ("regexp_matches(decode(value), '(')", "missing )"),
    ],
)
def test_what_a_condition_cannot_be(condition: str, words: str) -> None:
    """They would select other records when the restore continues, or are not conditions."""
    assert any(words in fault for fault in faults_of(condition))


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("key = 'value'::BLOB /* headers */", {"key"}),
        ('"Partition" = 1 OR records."offset" > 5', {"partition", "offset"}),
        ("records.key.decode() = 'a' OR value.decode() = 'b'", {"key", "value"}),
        (
            "len(list_filter(headers, lambda one: one.key = 'a')) > 0",
            {"headers", "key"},
        ),  # a field's name is taken for a column's
        ("true", set()),
    ],
)
def test_columns_that_a_condition_names(condition: str, columns: set[str]) -> None:
    """Only these are read; they follow from the syntax, so text and comments name none."""
    assert columns_in(condition) == columns


def test_columns_of_a_condition_that_is_nested_too_deeply() -> None:
    """Every column is read: --from and --until nest a condition deeper than it was when it was checked."""
    assert columns_in("partition = 1" + " + 1" * 900) >= {"key", "value", "ingest_id"}


def test_long_conditions() -> None:
    """DuckDB is asked once for all functions, and a condition that it parses and Python cannot walk through is a fault."""
    started = time.process_time()
    assert faults_of("partition = 1" + " + 1" * 200) == []
    assert time.process_time() - started < 1
    assert faults_of("partition = 1" + " + 1" * 900) == ["it is nested too deeply"]
    assert faults_of("true" + " OR true" * 2_000) == ["it is longer than 10,000 characters"]


def test_rows_keep_their_order() -> None:
    """Matching records stay in order; null does not match."""
    import pyarrow as pa  # noqa: PLC0415

    table = pa.Table.from_batches([records([5, 3, 9, 7], key=[b"a", None, b"a", b"b"])])
    assert matching(table, "key = 'a'::BLOB")["offset"].to_pylist() == [5, 9]


@pytest.mark.parametrize(("text", "key"), [("Zoë", "Zoë".encode()), (r"a\x41", rb"a\x41"), ("k1", b"k1")])
def test_the_condition_of_the_page(text: str, key: bytes) -> None:
    """It finds keys that are not ASCII, or have a backslash, which a cast to BLOB refuses or reads as another byte."""
    (condition,) = re.findall(r'--where "(key = [^"]*)"', (ROOT / "docs" / "restore.md").read_text("utf-8"))
    table = pa.Table.from_batches([records([5, 3], key=[key, b"aA"])])
    wanted = condition.replace("k1", text)
    assert faults_of(wanted) == []
    assert matching(table, wanted)["offset"].to_pylist() == [5]


@pytest.mark.parametrize(
    "condition",
    [
        "true); COPY (SELECT 1) TO '{folder}/planted.csv'; SELECT \"offset\" FROM records WHERE (true",
        "true); ATTACH '{folder}/planted.db'; SELECT \"offset\" FROM records WHERE (true",
        'true); SET enable_external_access = true; SELECT "offset" FROM records WHERE (true',
        "(SELECT count(*) FROM read_text('{folder}/outside.txt')) > 0",
    ],
)
def test_a_condition_reaches_no_file(condition: str, tmp_path: Path) -> None:
    """Whoever may write the warehouse could change the stored plan of a restore: its condition reads and writes no file."""
    (tmp_path / "outside.txt").write_text("secret\n")
    table = pa.table({"offset": [1, 2], "key": [b"a", b"b"]})
    with pytest.raises(TableError, match="--where: "):
        matching(table, condition.format(folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["outside.txt"]
