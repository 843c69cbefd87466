"""A condition depends on the record alone, and faulty conditions are refused first."""

import time

import pytest

from kafka_lagoon.restore.conditions import faults_of, matching
from tests.restore.lake import records


@pytest.mark.parametrize(
    "condition",
    [
        'key IS NOT NULL AND "offset" % 2 = 0',
        "timestamp >= '2026-11-01'",
        "len(list_filter(headers, lambda one: one.key = 'a')) > 0",
        "headers[1].key = 'tenant' AND headers[1].value = '7'::BLOB",
        "decode(value) LIKE '%error%'",
        "records.partition IN (1, 2)",
    ],
)
def test_conditions_over_columns(condition: str) -> None:
    """DuckDB's functions of one row are accepted."""
    assert faults_of(condition) == []


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("random() < 0.5", "random gives something else each time"),
        ("timestamp > now() - INTERVAL 1 DAY", "now gives something else each time"),
        ("timestamp::DATE = current_date", "current_date gives something else each time"),
        ("current_timestamp > timestamp", "current_timestamp gives something else each time"),
        ("partition IN (SELECT 1)", "it reads another table"),
        ("colour = 'red'", "colour"),
        ("partition = 1) OR (true", "syntax error"),
        ("partition = 1 LIMIT 5", "syntax error"),
        ("partition = 1; DROP TABLE records", "SELECT"),
        ("partition =", "syntax error"),
    ],
)
def test_what_a_condition_cannot_be(condition: str, words: str) -> None:
    """They would select other records when the restore continues, or are not conditions."""
    assert any(words in fault for fault in faults_of(condition))


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
