"""Files of other times are left out, and a file whose log says nothing of its times is not."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kafka_lagoon.query.window import Span, condition, of_table, pruned
from kafka_lagoon.tables.schema import TABLES

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
TIME = pa.timestamp("us", "UTC")


def files(*bounds: tuple[datetime | None, datetime | None], rows: int | None = 100) -> pa.Table:
    """Make the files of a log with these bounds."""
    least, greatest = ([pair[place] for pair in bounds] for place in (0, 1))
    return pa.table(
        {
            "num_records": pa.array([rows] * len(bounds), pa.int64()),
            "min": pa.StructArray.from_arrays([pa.array(least, TIME)], ["captured_at"]),
            "max": pa.StructArray.from_arrays([pa.array(greatest, TIME)], ["captured_at"]),
        }
    )


@pytest.mark.parametrize(
    ("begin", "end", "kept", "rows"),
    [
        (0, 0, [1, 2], 100),
        (0, 1, [1, 2], 150),  # half of the time between 1 and 3
        (2, 9, [2, 3], 50),
        (-9, -5, [], 0),
    ],
)
def test_files_of_a_span(begin: int, end: int, kept: Sequence[int], rows: int) -> None:
    """Files that overlap are kept, and the rows estimated by the share of their time."""
    added = files(*((NOON + a * HOUR, NOON + b * HOUR) for a, b in ((-2, -1), (0, 0), (0, 2), (4, 14))))
    files_left = pruned([Span(begin=NOON + begin * HOUR, end=NOON + end * HOUR)], added)
    assert files_left.files.to_pylist() == kept
    assert files_left.rows == rows


@pytest.mark.parametrize(
    "added",
    [
        files((None, NOON), (NOON, None)),
        files((NOON + HOUR, NOON + HOUR), (NOON, NOON), rows=None),
        files((NOON, NOON), (NOON, NOON)).drop_columns(["min"]),
        pa.table({"num_records": pa.array([1, 2], pa.int64()), "min": [{"x": 1}] * 2, "max": [{"x": 1}] * 2}),
    ],
)
def test_what_is_not_known_is_kept(added: pa.Table) -> None:
    """Without bounds or numbers of rows every file is read, and the number of rows is unknown."""
    files_left = pruned([Span(begin=NOON, end=NOON)], added)
    assert (files_left.files.to_pylist(), files_left.rows) == ([0, 1], None)


def test_rows_that_are_stored_once_a_day() -> None:
    """Tables that are written when they change are read from the begin of the UTC day; rows of no snapshot have no times."""
    by_name: dict[str, Any] = {table.name: table for table in TABLES}
    window = [Span(begin=NOON, end=NOON + HOUR)]
    assert of_table(by_name["consumer_lag"], window) == window
    assert of_table(by_name["configs"], window) == [Span(begin=NOON - 12 * HOUR, end=NOON + HOUR)]
    assert of_table(by_name["records"], window) is None


def test_spans() -> None:
    """A span that ends before it begins is an error; the condition of several is that of any."""
    with pytest.raises(ValueError, match="cannot end"):
        Span(begin=NOON, end=NOON - HOUR)
    spans = [Span(begin=NOON, end=NOON + HOUR)] * 2
    assert condition(spans).count(" OR ") == 1
    assert "captured_at BETWEEN TIMESTAMPTZ '2026-11-22T12:00:00+00:00' AND" in condition(spans)
