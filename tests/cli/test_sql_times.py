"""Times and intervals of SQL results, with DuckDB and Python's calendar as oracles."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.cli.sql_formats import json_blocks
from kafka_lagoon.cli.sql_times import spelled_interval, values_of
from kafka_lagoon.query.statements import Rows

_MONTHS, _DAYS = st.integers(-30_000, 30_000), st.integers(-100_000, 100_000)
_MICROSECONDS = st.integers(-(10**13), 10**13) | st.integers(-3, 3).map(lambda hours: hours * 3_600_000_000)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


def shown(connection: duckdb.DuckDBPyConnection, value: str) -> Any:
    """Return the value of a statement as `lagoon sql --json` writes it."""
    reader = connection.sql(f"SELECT {value} AS a").to_arrow_reader()
    (line,) = json_blocks(Rows(schema=reader.schema, batches=iter(reader)))
    return json.loads(line)["a"]


@given(_MONTHS, _DAYS, _MICROSECONDS)
def test_intervals_are_spelled_as_duckdb_prints_them(
    connection: duckdb.DuckDBPyConnection, months: int, days: int, microseconds: int
) -> None:
    """Every part has its own sign, and a part that is 0 is left out."""
    made = f"to_months({months}) + to_days({days}) + to_microseconds({microseconds})"
    (expected,) = connection.sql(f"SELECT CAST({made} AS VARCHAR)").fetchall()[0]
    assert spelled_interval(pa.MonthDayNano([months, days, microseconds * 1000])) == expected


@given(st.datetimes(), st.datetimes())
def test_a_difference_is_the_same_by_both_engines(
    connection: duckdb.DuckDBPyConnection, start: datetime, end: datetime
) -> None:
    """Spark returns Python's timedelta where DuckDB returns an interval."""
    assert shown(connection, f"TIMESTAMP '{end}' - TIMESTAMP '{start}'") == spelled_interval(end - start)


@given(st.datetimes(), st.integers(0, 999))
def test_nanoseconds_are_kept(moment: datetime, nanoseconds: int) -> None:
    """The rest is as Python spells it."""
    number = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000 + nanoseconds  # noqa: DTZ001
    if not -(2**63) < number < 2**63:
        return
    (text,) = values_of(pa.array([number], pa.timestamp("ns")))
    exact = f"{moment.isoformat(timespec='microseconds')}{nanoseconds:03}"
    assert datetime.fromisoformat(text[:26]) == moment
    assert exact.startswith(text)
    assert exact[len(text) :].strip("0") == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("TIMESTAMP '20000-02-29'", "+20000-02-29T00:00:00.000"),
        ("TIMESTAMPTZ '200000-12-31 23:59:59.5+00'", "+200000-12-31T23:59:59.500Z"),
        ("TIMESTAMP '0044-03-15 (BC)'", "-0043-03-15T00:00:00.000"),
        ("DATE '0001-01-01 (BC)'", "0000-01-01"),
        ("[TIMESTAMP_NS '2026-11-17 10:00:00.123456789', NULL]", ["2026-11-17T10:00:00.123456789", None]),
        ("{'x': [TIMESTAMP '20000-01-01'], 'y': 1}", {"x": ["+20000-01-01T00:00:00.000"], "y": 1}),
        ("MAP {TIMESTAMP '20000-01-01': DATE '20000-01-01'}", {"+20000-01-01T00:00:00.000": "+20000-01-01"}),
        ("[TIMESTAMP '20000-01-01']::TIMESTAMP[1]", ["+20000-01-01T00:00:00.000"]),
        ("union_value(at := TIMESTAMP '20000-01-01')", "+20000-01-01T00:00:00.000"),
        ("[1, 2]::INTEGER[2]", [1, 2]),
        ("TIME '24:00:00'", "24:00:00"),
        (
            "{'x': TIME_NS '10:00:00.123456789', 'y': TIME '10:00:00.5'}",
            {"x": "10:00:00.123456789", "y": "10:00:00.500000"},
        ),
        ("{'x': [INTERVAL 36 HOUR]}", {"x": ["36:00:00"]}),
        *(
            (f"'{sign}infinity'::{kind}", f"{sign}infinity")
            for sign in ("", "-")
            for kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
        ),
        ("['infinity'::TIMESTAMPTZ]", ["infinity"]),
    ],
)
def test_times_that_python_does_not_have(connection: duckdb.DuckDBPyConnection, value: str, expected: Any) -> None:
    """They are spelled exactly, also within lists, structs, maps and unions, and an infinite time is none of a calendar."""
    assert shown(connection, value) == expected
