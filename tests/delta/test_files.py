"""The statistics in the log are true for every row of a file."""

import json
import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.delta.files import (
    DataFile,
    DescribedFile,
    add_action,
    described_file,
    live_file,
    merged,
    statistics_of,
    url_of,
)
from kafka_lagoon.errors import TableError

DAY = ("day", date(2026, 11, 21))
LAST = "\U0010ffff"

SHORT = st.sampled_from(["", "a", "\x1b[31m", "é", "😀", "\uffff", LAST])
TEXT = st.one_of(
    st.text(max_size=40),
    st.builds(lambda head, tail: head * 16 + tail, SHORT, SHORT),
    st.builds(lambda head, count, tail: head * count + tail, SHORT, st.integers(30, 70), SHORT),
)
TIME = st.datetimes(timezones=st.just(UTC))
COLUMNS = {
    "text": (TEXT, pa.string()),
    "number": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "small": (st.integers(-(2**31), 2**31 - 1), pa.int32()),
    "ratio": (st.floats(), pa.float64()),
    "flag": (st.booleans(), pa.bool_()),
    "time": (TIME, pa.timestamp("us", tz="UTC")),
    "date": (st.dates(), pa.date32()),
    "bytes": (st.binary(max_size=3), pa.binary()),
    "list": (st.lists(st.none() | st.text(max_size=2), max_size=2), pa.list_(pa.string())),
    "pairs": (st.lists(st.fixed_dictionaries({"a": TEXT}), max_size=2), pa.list_(pa.struct([("a", pa.string())]))),
}
ROWS = st.lists(st.fixed_dictionaries({name: st.none() | values for name, (values, _) in COLUMNS.items()}), max_size=5)


def in_log(arrow: pa.Table) -> dict[str, Any]:
    """Return the statistics of a file with these rows, as a reader of the log gets them."""
    file = DataFile(url="f", size=1, modified_at_ms=1, statistics=statistics_of(arrow))
    add = json.loads(add_action(file, "f", DAY))["add"]
    stats: dict[str, Any] = json.loads(add["stats"], parse_constant=lambda name: f"{name} is no JSON")
    return stats


def value(name: str, spelled: Any) -> Any:
    """Return a bound in the type of its column."""
    if name == "time":
        return datetime.fromisoformat(spelled)
    return date.fromisoformat(spelled) if name == "date" else spelled


@given(rows=ROWS)
def test_bounds_and_nulls_hold_for_every_row(rows: list[dict[str, Any]]) -> None:
    """No value is outside its bounds, nulls are counted, and an ordered column with values has bounds."""
    arrow = pa.Table.from_pylist(rows, pa.schema([(name, kind) for name, (_, kind) in COLUMNS.items()]))
    stats = in_log(arrow)
    assert stats["numRecords"] == len(rows)
    assert stats["nullCount"] == {name: sum(row[name] is None for row in rows) for name in COLUMNS}
    assert stats["minValues"].keys() == stats["maxValues"].keys()
    for name in COLUMNS:
        present = [row[name] for row in rows if row[name] is not None]
        if name in stats["minValues"]:
            least, greatest = value(name, stats["minValues"][name]), value(name, stats["maxValues"][name])
            latest = greatest + timedelta(microseconds=999) if name == "time" and greatest.year == 9999 else greatest
            assert all(least <= one <= latest for one in present)
        else:
            assert not present or name in {"bytes", "list", "pairs", "ratio"}


def test_long_text_is_cut_on_both_sides() -> None:
    """A bound of text has 32 characters, as Delta's own; the upper bound ends with a character above the truncated rest."""
    stats = in_log(pa.table({"text": ["a" * 100, "b" * 31 + LAST + LAST + "c" * 40]}))
    assert stats["minValues"] == {"text": "a" * 32}
    assert stats["maxValues"] == {"text": "b" * 31 + LAST + LAST + LAST}


def test_times_are_rounded_outwards() -> None:
    """The lower bound in milliseconds is not later, the upper not earlier, than the microseconds."""
    times = [datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2025, 1, 1, 0, 0, 0, 1, UTC)]
    stats = in_log(pa.table({"time": times}))
    assert stats["minValues"] == {"time": "1969-12-31T23:59:59.999Z"}
    assert stats["maxValues"] == {"time": "2025-01-01T00:00:00.001Z"}


def test_numbers_that_json_has_not_leave_a_column_without_bounds() -> None:
    """NaN and infinities are not written to the log and hide no row: their column has only a null count."""
    for odd in (float("nan"), float("inf")):
        stats = in_log(pa.table({"ratio": [0.5, odd, None]}))
        assert (stats["minValues"], stats["nullCount"]) == ({}, {"ratio": 1})


def test_statistics_of_parts_are_those_of_the_whole() -> None:
    """Bounds are the outermost, nulls are summed; a NaN in one part removes the bounds, a part of nulls does not."""
    parts = [
        pa.table({"text": pa.array(["b", "c"]).dictionary_encode(), "number": [1.0, math.nan], "empty": [None, 4]}),
        pa.table({"text": pa.array(["a", None]).dictionary_encode(), "number": [1.0, 2.0], "empty": [None, None]}),
    ]
    whole = merged([statistics_of(part.cast(parts[0].schema)) for part in parts])
    assert (whole.rows, whole.nulls) == (4, {"text": 1, "number": 0, "empty": 3})
    assert whole.least == {"text": "a", "empty": 4}
    assert whole.greatest == {"text": "c", "empty": 4}


def test_a_dictionary_has_the_bounds_of_what_is_used() -> None:
    """A value of the dictionary that no row uses is not in the bounds."""
    column = pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int32()), ["a", "b", "z"])
    assert statistics_of(pa.table({"text": column})).least == {"text": "b"}
    assert statistics_of(pa.table({"text": column})).greatest == {"text": "b"}


def test_bounds_of_joined_rows() -> None:
    """A column of nulls has no bounds and does not change those of others; a column with a NaN has none."""
    first = pa.table({"a": [1, 5], "b": pa.array([None, None], pa.string()), "c": [0.5, float("nan")]})
    second = pa.table({"a": [3, None], "b": ["x", None], "c": [1.5, 2.5]})
    assert merged([statistics_of(first), statistics_of(second)]) == statistics_of(pa.concat_tables([first, second]))


def test_a_deletion_vector_is_refused() -> None:
    """The file still has the rows that it deletes; a file without it is described."""
    add = {"path": "day=1/a%20b.parquet", "size": 1, "deletionVector": None}
    assert described_file("file:/t", add).url == "file:/t/day=1/a b.parquet"
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 34, "cardinality": 2}
    with pytest.raises(
        TableError, match=r"a%20b\.parquet are deleted by a deletion vector.*REORG TABLE delta\.`file:/t` APPLY"
    ):
        described_file("file:/t", {**add, "deletionVector": vector})


@pytest.mark.parametrize(
    "add", [{}, {"path": 5}, {"path": "a", "stats": "{"}, {"path": "a", "size": 1, "stats": "[1]"}]
)
def test_what_is_no_add_action(add: dict[str, Any]) -> None:
    """Every engine may write to the log; other JSON than expected is one line."""
    with pytest.raises(TableError, match="an add action in the log of /t cannot be read"):
        described_file("/t", add)
    with pytest.raises(TableError, match="an add action of a table that is partitioned by day cannot be read"):
        live_file(add, "day")


@pytest.mark.parametrize(
    ("location", "path", "expected"),
    [
        ("file:/w/t", "day=1/a%20b.parquet", "file:/w/t/day=1/a b.parquet"),
        ("file:/w/t", "day=1/a%253Ab.parquet", "file:/w/t/day=1/a%3Ab.parquet"),
        ("file:/w/t", "a%3Ab.parquet", "file:/w/t/a:b.parquet"),
        ("file:/w/t", "file:/w/t/day=1/a%20b.parquet", "file:/w/t/day=1/a b.parquet"),
        ("file:/w/t", "file:///w/t/day=1/a.parquet", "file:/w/t/day=1/a.parquet"),
        ("file:/w/t", "/w/t/day=1/a.parquet", "file:/w/t/day=1/a.parquet"),
        ("s3a://bucket/w/t", "s3a://bucket/w/t/day=1/a.parquet", "s3a://bucket/w/t/day=1/a.parquet"),
        ("s3a://bucket/w/t", "/w/t/day=1/a.parquet", "s3a://bucket/w/t/day=1/a.parquet"),
    ],
)
def test_paths_in_a_log_are_relative_or_absolute(location: str, path: str, expected: str) -> None:
    """Delta's protocol allows both, and the URL is spelled as in the listing of a folder."""
    assert url_of(location, path) == expected
    add = {"path": path, "size": 1, "modificationTime": 1, "partitionValues": {"day": "2026-11-21"}}
    assert live_file(add, "day").url(location) == described_file(location, add).url == expected


@pytest.mark.parametrize("rows", ["10", 1.5, -1, True, []])
def test_a_number_of_rows_that_is_none(rows: object) -> None:
    """Every engine may write statistics: such a number is one line, and no sum with it."""
    add = {"path": "a", "size": 1, "modificationTime": 1, "partitionValues": {"day": "2026-01-01"}}
    add["stats"] = json.dumps({"numRecords": rows})
    with pytest.raises(TableError, match="numRecords is"):
        described_file("/t", add)
    with pytest.raises(TableError, match="numRecords is"):
        live_file(add, "day")


@pytest.mark.parametrize("name", ["minValues", "maxValues", "nullCount"])
def test_statistics_that_are_no_objects(name: str) -> None:
    """They are one line, too."""
    with pytest.raises(TableError, match="cannot be read"):
        described_file("/t", {"path": "a", "size": 1, "stats": json.dumps({name: [1]})})


def test_bounds_of_another_type_are_none() -> None:
    """A file whose bounds cannot be compared may have any row."""
    file = DescribedFile(url="a", size=1, rows=1, least={"n": 1, "t": "a", "m": 1}, greatest={"n": 2, "t": 5})
    assert file.bounds("n", int) == (1, 2)
    assert file.bounds("n", str) is file.bounds("t", str) is file.bounds("m", int) is file.bounds("x", int) is None
