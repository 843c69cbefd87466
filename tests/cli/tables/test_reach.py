"""Commands over the tables open the files that they need, and answer as if they had opened all of them."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_tables import TableQuery, select_rows
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from tests.cli.tables.conftest import topics
from tests.clock import CLOCK
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, lag_row, row, snapshot
from tests.effort import first
from tests.query.views.worked_examples import FILTERED_FOR_DAYS, lake_of_text

pytestmark = pytest.mark.long

DAY = 24  # hours, which number the snapshots
LAST = 12 * DAY
UNKNOWN = (
    row(CoverageRow, api="Metadata", requests=1, answered=0, expected=1, failed=1),
    row(CollectionFailureRow, api="Metadata", scope_type="cluster", error_name="REQUEST_TIMED_OUT"),
)
WHOLE, SHORT = topics(1, (1, 2), "old"), topics(1, (1,), "old")
HISTORY = (
    snapshot(1, *WHOLE, topics=2, status="complete"),
    snapshot(DAY, *SHORT, topics=2, status="complete"),  # under-replicated from here
    *(snapshot(number, *UNKNOWN, status="partial") for number in (3 * DAY, 9 * DAY, LAST - 2)),
    snapshot(LAST - 1, *topics(1, (1,), "new"), topics=2, status="complete"),
    snapshot(LAST, *topics(None, (1,), "new"), topics=2, status="complete"),  # and leaderless since the last one
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve days, in which the topics were often unknown."""
    return make_lake(tmp_path_factory.mktemp("reach"), HISTORY)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: NOON_MS + LAST * HOUR_MS + 60_000)
    )


LAST_TIME = ("--at", "2026-11-21T09:30")
UNKNOWN_ONCE = """== gap
snapshots | captured_at | topics | status
1 | 20 21:30 | 1 | complete
2 | 21 01:30 | 1 | complete
3 | 21 05:30 | 1 | complete
4 | 21 09:30 | 1 | complete

coverage | api | requests | visibility
1 | Metadata | 1 | complete
2 | Metadata | 1 | complete
3 | Metadata | 1 | complete
4 | Metadata | 1 | complete

topics | topic | topic_id | partitions
1 | a | A | 1
2 | a | A | 1
3 | a | A | 1
4 | a | A | 1

partition_offsets | topic | topic_id | partition | log_start_offset | high_watermark
1 | a | A | 0 | 0 | 45
2 | a | A | 0 | 0 | 50
3 | a | A | 0 | 0 | -
4 | a | A | 0 | 0 | 40
"""


def answer(lake: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    """Return the rows of a command."""
    assert main([*argv, "--json", "--warehouse", str(lake)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    "command",
    first(
        [
            "lag",
            "health --days 30",
            "changes --since 4d",
            "health",
            "health --since 20d",
            f"health --at {LAST - 1}",
            "changes",
            f"changes --at {LAST - 1}",
            "changes --since 90m",
            "changes --since 300d",
        ],
        3,
    ),
)
def test_answers_are_those_of_the_whole_history(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Opening all files changes nothing: also where a table was collected last before the snapshot that is compared."""
    argv = [_time(word) for word in command.split()]
    some = answer(lake, capsys, *argv)

    make_available = duckdb_engine.make_available
    monkeypatch.setattr(
        duckdb_engine,
        "make_available",
        lambda connection, folder, names, _, there: make_available(connection, folder, names, None, there),
    )
    assert answer(lake, capsys, *argv) == some


@pytest.mark.parametrize("times", first([[], [*LAST_TIME], [*LAST_TIME, "--since", "2026-11-21T08:00"]]))
def test_an_end_that_the_previous_snapshot_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: list[str]
) -> None:
    """The end is compared with the last known one of the day, as in view topology_changes."""
    lake = lake_of_text(tmp_path, UNKNOWN_ONCE)
    (change,) = (one for one in answer(lake, capsys, "changes", *times) if one["kind"] == "change")
    assert (change["change_type"], change["old_value"], change["new_value"]) == ("truncated", "50", "40")


def test_an_end_that_no_earlier_snapshot_of_the_day_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The end is compared with that of the last snapshot before the day, which may be days earlier."""
    text = UNKNOWN_ONCE.replace("1 | 20 21:30", "1 | 17 21:30")
    lake = lake_of_text(tmp_path, text.replace("2 | a | A | 0 | 0 | 50", "2 | a | A | 0 | - | -"))
    (change,) = (one for one in answer(lake, capsys, "changes") if one["kind"] == "change")
    assert (change["change_type"], change["old_value"], change["new_value"]) == ("truncated", "45", "40")


@pytest.mark.parametrize("times", first([[], ["--since", "2026-11-21T08:00"]]))
def test_a_list_that_was_seen_in_full_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, times: list[str]
) -> None:
    """Topics that came and went while permissions were missing: lists are compared with the last complete one, however old."""
    now = datetime(2026, 11, 21, 10, tzinfo=UTC)
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: 1_000 * int(now.timestamp())))
    lake = lake_of_text(tmp_path, FILTERED_FOR_DAYS)
    shown = [one for one in answer(lake, capsys, "changes", *times) if one["kind"] == "change"]
    assert [(one["change_type"], one["entity"], one["is_proven"]) for one in shown] == [
        ("removed", "gone", True),
        ("added", "new", True),
    ]


def test_what_an_earlier_comparison_of_lists_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A topic that two complete lists show to be new is not new again between two filtered ones, of which one is between those."""
    text = FILTERED_FOR_DAYS.replace("3 | Metadata | 1 | filtered", "3 | Metadata | 1 | complete").replace(
        "4 | Metadata | 1 | complete", "4 | Metadata | 1 | filtered"
    )
    text = text.replace("2 | 03 10:30", "2 | 17 10:30").replace("3 | a | A | 1", "3 | a | A | 1\n3 | new | N | 1")
    lake = lake_of_text(tmp_path, text.replace("3 | 21 08:30", "3 | 20 08:30"))
    assert not [one for one in answer(lake, capsys, "changes") if one["kind"] == "change"]


SEEN_IN_FULL_AT_LAST = (
    FILTERED_FOR_DAYS.replace("1 | Metadata | 1 | complete", "1 | Metadata | 1 | filtered")
    .replace("1 | 03 09:30", "1 | 01 09:30")
    .replace("2 | 03 10:30", "2 | 19 10:30")
)
NEVER_ASKED_BEFORE = SEEN_IN_FULL_AT_LAST.replace("complete", "filtered").replace(
    "4 | Metadata | 1 | filtered", "4 | Metadata | 1 | filtered\n4 | DescribeAcls | 1 | -"
)


@pytest.mark.parametrize("text", [SEEN_IN_FULL_AT_LAST, NEVER_ASKED_BEFORE])
@pytest.mark.parametrize("command", first(["changes", "report --hours 1", "changes --since 2026-11-21T09:00"], 2))
def test_what_is_seen_for_the_first_time_opens_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, command: str
) -> None:
    """The first complete list and the first ACLs have nothing to be compared with, so the rest of the history is not opened."""
    now = datetime(2026, 11, 21, 10, tzinfo=UTC)
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: 1_000 * int(now.timestamp())))
    opened: dict[str, int] = {}

    def counted(connection: duckdb.DuckDBPyConnection, name: str, *others: Any) -> TableQuery:
        query = select_rows(connection, name, *others)
        opened[name] = query.sql.count(".parquet'")
        return query

    lake = lake_of_text(tmp_path, text)
    monkeypatch.setattr(duckdb_engine, "select_rows", counted)
    out = [] if command.startswith("changes") else ["--out", str(tmp_path / "page.html")]
    assert main([*command.split(), *out, "--warehouse", str(lake)]) in (0, 3)
    assert opened["topics"] == 2  # those of the day, and the last one before it
    capsys.readouterr()


@pytest.mark.parametrize("command", first(["changes", "health"]))
def test_times_at_the_ends_of_the_calendar(lake: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """The years 1 to 9999 are accepted: all of the history is since the first day and until the last one."""
    since_the_first = answer(lake, capsys, command, "--since", "0001-01-01")
    assert since_the_first == answer(lake, capsys, command, "--since", "300d ago")
    assert len(since_the_first) > 1
    until_the_last = answer(lake, capsys, command, "--since", "0001-01-01", "--at", "9999-12-31T23:59:59.999")
    assert since_the_first == until_the_last


@pytest.mark.parametrize("limits", [(), ("--fail-above", "age=1d")])
@pytest.mark.parametrize("command", ["health", "changes"])
def test_an_empty_span_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str], command: str, limits: tuple[str, ...]
) -> None:
    """A mistaken year has an answer without rows, which a schedule would take for good news."""
    for words, fault in (
        (("--since", "9999-12-31"), "--since 9999-12-31T00:00:00.000Z is in the future"),
        (
            ("--since", "2025-11-21T12:00", "--at", "2025-11-21T11:00"),
            "--since 2025-11-21T12:00:00.000Z is later than --at 2025-11-21T11:00:00.000Z",
        ),
    ):
        assert main([command, *words, *limits, "--warehouse", str(lake)]) == 2
        assert capsys.readouterr() == ("", f"lagoon: {fault}: no snapshot is in this span\n")


def _time(word: str) -> str:
    """A number as the time of that snapshot, a duration as the time so long ago."""
    if word.isdigit() and int(word) >= LAST - 1:
        return str(NOON_MS + int(word) * HOUR_MS)
    return f"{word} ago" if word[:-1].isdigit() and word[-1] in "dm" else word


def test_the_begin_of_a_finding(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding that began before the searched history is older, and its number of snapshots is not known."""
    findings = {
        days: [
            (shown["finding"], shown["since"][:10], shown["is_older"], shown["snapshots"])
            for shown in answer(lake, capsys, "health", "--days", str(days))
            if shown["kind"] == "finding" and shown["finding"] in ("leaderless", "under_replicated")
        ]
        for days in (1, 30)
    }
    assert findings[1] == [("leaderless", "2025-12-03", False, 1), ("under_replicated", "2025-12-02", True, None)]
    assert findings[30] == [("leaderless", "2025-12-03", False, 1), ("under_replicated", "2025-11-22", False, 3)]


def test_the_files_that_are_opened(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lag` opens the files of one snapshot, `changes` those back to the snapshot that it compares with."""
    opened: dict[str, int] = {}

    def counted(connection: duckdb.DuckDBPyConnection, name: str, *others: Any) -> TableQuery:
        query = select_rows(connection, name, *others)
        opened[name] = query.sql.count(".parquet'")
        return query

    monkeypatch.setattr(duckdb_engine, "select_rows", counted)
    answer(lake, capsys, "lag")
    none = dict.fromkeys(("consumer_lag", "consumer_groups", "owners", "expected_groups"), 0)
    assert opened == {"snapshots": 1, "topics": 1, "coverage": 1, "collection_failures": 0, **none}
    opened.clear()
    answer(lake, capsys, "changes")
    assert (opened["snapshots"], opened["topics"], opened["partitions"]) == (2, 2, 2)


WHOLE_HISTORY = tuple(
    snapshot(
        number,
        *SHORT,
        row(ConsumerGroupRow, group_id="billing", state="Stable"),
        lag_row("billing", "orders", 0, lag=5),
        topics=2,
        status="complete",
    )
    for number in (1, DAY, 3 * DAY, 9 * DAY, LAST - DAY - 13, LAST - DAY - 1, *range(LAST - 10, LAST + 1))
)
# Snapshots of the UTC day that it begins in, with the one before; the status of groups in the report needs ten.
SINCE_A_DAY = 13


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The last day, and the same after some more days."""
    folders = tmp_path_factory.mktemp("day"), tmp_path_factory.mktemp("days")
    return make_lake(folders[0], WHOLE_HISTORY[-SINCE_A_DAY:]), make_lake(folders[1], WHOLE_HISTORY)


@pytest.mark.parametrize(
    "command",
    first(
        ["lag", "changes --since 1d", "metrics", "health", "changes", "report --hours 24 --out {folder}/page.html"], 3
    ),
)
def test_a_longer_history_costs_no_more_files(
    histories: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
) -> None:
    """A command opens as many files, with as many bytes, after twelve days as after one."""
    opened: list[tuple[str, int, int]] = []

    def counted(connection: duckdb.DuckDBPyConnection, name: str, *others: Any) -> TableQuery:
        query = select_rows(connection, name, *others)
        files = [Path(file) for file in re.findall(r"'(/[^']*\.parquet)'", query.sql)]
        opened.append((name, len(files), sum(file.stat().st_size for file in files)))
        return query

    monkeypatch.setattr(duckdb_engine, "select_rows", counted)
    costs = []
    for lake in histories:
        assert main([*map(_time, command.format(folder=tmp_path).split()), "--warehouse", str(lake)]) in (0, 3)
        costs.append([cost for cost in opened if cost[0] != "snapshots"])
        # Searched for the chosen snapshots, and whole by the report, once.
        most = max(files for name, files, _ in opened if name == "snapshots")
        assert most <= SINCE_A_DAY or command.startswith("report")
        opened.clear()
    assert costs[0] == costs[1]
    assert any(files for _, files, _ in costs[0])
    capsys.readouterr()
