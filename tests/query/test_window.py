"""Files of other times are left out, and a file whose log says nothing of its times is not."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_lagoon.query.window import Newest, Span, condition, of_table, pruned, times_of_newest, with_newest
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


def test_files_of_several_spans() -> None:
    """A file of one of the spans is kept, and of its rows the shares of all spans count, but none twice."""
    added = files(*((NOON + a * HOUR, NOON + b * HOUR) for a, b in ((0, 4), (5, 5), (6, 10))))
    apart = [Span(begin=NOON + a * HOUR, end=NOON + b * HOUR) for a, b in ((0, 1), (3, 4), (6, 8))]
    files_left = pruned(apart, added)
    assert (files_left.files.to_pylist(), files_left.rows) == ([0, 2], 100)
    alike = [Span(begin=NOON, end=NOON + 4 * HOUR)] * 2
    assert pruned(alike, added).rows == 100


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


File = Sequence[tuple[str, int]]  # snapshots of a file: cluster, hour
SNAPSHOTS = st.tuples(st.sampled_from(("east", "west", "x" * 32)), st.integers(0, 30))
HISTORIES = st.lists(st.lists(SNAPSHOTS, min_size=1, max_size=4), max_size=12)


def snapshot_log(history: Sequence[File]) -> pa.Table:
    """Make the log of table snapshots; a bound has at most 32 characters."""

    def bounds(choose: Any) -> pa.StructArray:
        clusters = [choose(cluster for cluster, _ in file)[:32] for file in history]
        times = [NOON + choose(hour for _, hour in file) * HOUR for file in history]
        return pa.StructArray.from_arrays(
            [pa.array(clusters, pa.string()), pa.array(times, TIME)], ["cluster", "captured_at"]
        )

    counts = pa.array([len(file) for file in history], pa.int64())
    return pa.table({"num_records": counts, "min": bounds(min), "max": bounds(max)})


def last(number: int, history: Sequence[File], until: int) -> dict[str, list[int]]:
    """Return the hours of the last snapshots of each cluster."""
    hours: dict[str, list[int]] = {}
    for cluster, hour in sorted(snapshot for file in history for snapshot in file):
        if hour <= until:
            hours[cluster] = [*hours.get(cluster, []), hour][-number:]
    return hours


@given(HISTORIES, st.lists(st.integers(0, 30) | st.none(), min_size=1, max_size=2), st.integers(1, 5))
@example([[("east", 5), ("east", 10)], [("east", 9)], [("east", 7)]], [None], 3)  # one file spans the others
def test_files_with_the_newest_snapshots(history: Sequence[File], hours: Sequence[int | None], number: int) -> None:
    """The last snapshots of each cluster before a time are in the files that are kept."""
    times = [None if hour is None else NOON + hour * HOUR for hour in hours]
    kept = with_newest(Newest(times=times, number=number), snapshot_log(history)).to_pylist()
    for hour in hours:
        until = 30 if hour is None else hour
        assert last(number, [history[file] for file in kept], until) == last(number, history, until)


@given(HISTORIES, st.integers(0, 30) | st.none(), st.integers(1, 5))
def test_times_of_the_newest_snapshots(history: Sequence[File], hour: int | None, number: int) -> None:
    """The last snapshots of each cluster before a time are of these times; an unknown or impossible bound allows all."""
    newest, added = Newest(times=[None if hour is None else NOON + hour * HOUR], number=number), snapshot_log(history)
    spans = times_of_newest(newest, added)
    assert spans is not None
    hours = [hour for last_hours in last(number, history, 30 if hour is None else hour).values() for hour in last_hours]
    assert all(any(span.begin <= NOON + hour * HOUR <= span.end for span in spans) for hour in hours)


@pytest.mark.parametrize("bounds", [(None, NOON), (NOON, None), (NOON + HOUR, NOON)])
def test_times_that_the_log_does_not_tell(bounds: tuple[datetime | None, datetime | None]) -> None:
    """A file without bounds, or with the later one first, may have any snapshot."""
    assert times_of_newest(Newest(times=[None]), files(bounds, (NOON, NOON))) is None


def test_files_of_one_cluster_with_older_snapshots_are_left_out() -> None:
    """Of files with one cluster the last two are enough; of others the log does not tell whose snapshots they have."""
    east = [[("east", hour)] for hour in range(20)]
    assert with_newest(Newest(times=[None]), snapshot_log(east)).to_pylist() == [18, 19]
    assert with_newest(Newest(times=[NOON + 4 * HOUR]), snapshot_log(east)).to_pylist() == [3, 4]
    assert with_newest(Newest(times=[None]), snapshot_log([*east, [("east", 0), ("east", 1)]])).to_pylist() == [18, 19]
    both = [[("east", hour), ("west", hour)] for hour in range(3)]
    assert with_newest(Newest(times=[None]), snapshot_log([*both, *east])).to_pylist() == [0, 1, 2, 21, 22]
    long = [[("x" * 32, hour)] for hour in range(3)]
    assert with_newest(Newest(times=[None]), snapshot_log(long)).to_pylist() == [0, 1, 2]


def test_files_with_several_snapshots_of_one_cluster() -> None:
    """A file has both snapshots if its log counts two, but one at most if some of it are later or it is not counted."""
    joined = snapshot_log([[("east", 0)], [("east", 1), ("east", 2)]])
    assert with_newest(Newest(times=[None]), joined).to_pylist() == [1]
    assert with_newest(Newest(times=[NOON + 2 * HOUR]), joined).to_pylist() == [1]
    later = snapshot_log([[("east", 0)], [("east", 1), ("east", 8), ("east", 9)]])
    assert with_newest(Newest(times=[NOON + 4 * HOUR]), later).to_pylist() == [0, 1]
    single = snapshot_log([[("east", 0)], [("east", 1)]])
    assert with_newest(Newest(times=[None]), single).to_pylist() == [0, 1]
    uncounted = joined.set_column(0, "num_records", pa.array([None, None], pa.int64()))
    assert with_newest(Newest(times=[None]), uncounted).to_pylist() == [0, 1]


def test_a_file_of_one_cluster_without_a_bound() -> None:
    """It is kept, although later files have both snapshots."""
    logs = snapshot_log([[("east", hour)] for hour in range(4)])
    for name in ("min", "max"):
        times = pa.array([None, *logs[name].combine_chunks().field("captured_at").to_pylist()[1:]], TIME)
        clusters = logs[name].combine_chunks().field("cluster")
        bounds = pa.StructArray.from_arrays([clusters, times], ["cluster", "captured_at"])
        unbounded = logs.set_column(logs.column_names.index(name), name, bounds)
        assert with_newest(Newest(times=[None]), unbounded).to_pylist() == [0, 2, 3]


def test_bounds_that_are_missing() -> None:
    """A file without bounds is kept."""
    added = files((None, NOON), (NOON, NOON + HOUR))
    assert with_newest(Newest(times=[None]), added).to_pylist() == [0, 1]
