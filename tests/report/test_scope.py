"""The snapshot of a page, and the snapshots of its history."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Ask, tuples
from kafka_lagoon.report.scope import (
    CHOICE,
    Scope,
    first_predecessor,
    has_all_predecessors,
    recent_window,
    scopes,
    windows_of,
    without_snapshot,
)
from kafka_lagoon.tables.table_states import table_state
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, snapshot
from tests.query.views.worked_examples import FILTERED_FOR_DAYS, lake_of_text
from tests.report.history import HOURS, LAST


def hours(scope: Scope) -> list[int]:
    return [(one.captured_ms - NOON_MS) // HOUR_MS for one in scope.runs]


@pytest.mark.long
def test_the_newest_snapshot_of_every_cluster(ask: Ask) -> None:
    """Every cluster has its newest snapshot, and the snapshots of the hours before it."""
    first, second = scopes(ask, None, None, 24)
    assert (first.snapshot.cluster, hours(first)) == ("default", list(HOURS))
    assert (second.snapshot.cluster, hours(second)) == ("second", [LAST])
    assert hours(scopes(ask, ["default"], None, 2)[0]) == [16, 17]


@pytest.mark.long
def test_a_past_slot(ask: Ask) -> None:
    """A slot has its snapshot, or the newest one before it; later snapshots are not in the history."""
    assert hours(scopes(ask, None, NOON_MS + 8 * HOUR_MS, 3)[0]) == [5, 6, 7, 8]
    assert scopes(ask, None, NOON_MS + 8 * HOUR_MS + 1, 3)[0].snapshot.slot_ms == NOON_MS + 8 * HOUR_MS


@pytest.mark.long
def test_what_is_not_there_is_named(ask: Ask) -> None:
    """An unknown cluster gets a suggestion; a time before the first snapshot is an error, too."""
    with pytest.raises(
        TableError, match=r"no published snapshot of defualt \(did you mean default\?\): there are default"
    ):
        scopes(ask, ["defualt"], None, 24)
    with pytest.raises(TableError, match="no published snapshot of a slot up to 2025-11-21 12:00:00 UTC"):
        scopes(ask, None, NOON_MS, 24)


@pytest.mark.long
def test_configured_clusters_without_a_snapshot(ask: Ask) -> None:
    """They are named, among the chosen ones; alone they make no page."""
    clusters = ("default", "third", "fourth")
    assert without_snapshot(scopes(ask, None, None, 24, clusters), None, clusters) == ["fourth", "third"]
    chosen = ["second", "third"]
    assert without_snapshot(scopes(ask, chosen, None, 24, clusters), chosen, clusters) == ["third"]
    with pytest.raises(TableError, match="no published snapshot of third"):
        scopes(ask, ["third"], None, 24, clusters)


@pytest.mark.long
def test_a_late_run_of_an_earlier_slot_is_the_newest(tmp_path: Path) -> None:
    """Without a slot, the page shows the snapshot of view snapshots_now."""
    lake = make_lake(tmp_path, [snapshot(1), snapshot(2), snapshot(3, slot_ms=NOON_MS)])
    with opened(lake, {"snapshots", "snapshots_now"}) as ask:
        ((newest,),) = tuples(ask("SELECT snapshot_id FROM snapshots_now"))
        assert [one.snapshot.snapshot_id for one in scopes(ask, None, None, 24)] == [newest]
        assert hours(scopes(ask, None, None, 24)[0]) == [1, 2, 3]
        assert scopes(ask, None, NOON_MS + 9 * HOUR_MS, 24)[0].snapshot.slot_ms == NOON_MS + 2 * HOUR_MS


@pytest.mark.long
def test_a_cluster_that_was_built_again_under_its_name(tmp_path: Path) -> None:
    """Its history begins after the last snapshot of the other cluster; an id that no broker returned is none of another."""
    ids = {1: "cluster-id", 2: "other", 3: "other", 4: "cluster-id", 5: None, 6: "cluster-id"}
    made = [snapshot(hour) for hour in ids]
    lake = make_lake(
        tmp_path, [replace(one, header=replace(one.header, cluster_id=ids[hour])) for hour, one in enumerate(made, 1)]
    )
    with opened(lake, {"snapshots"}) as ask:
        assert hours(scopes(ask, None, None, 24)[0]) == [4, 5, 6]
        assert hours(scopes(ask, None, NOON_MS + 5 * HOUR_MS, 24)[0]) == [4, 5]
        assert hours(scopes(ask, None, NOON_MS + 3 * HOUR_MS, 24)[0]) == [2, 3]


@pytest.mark.long
def test_points_that_lack_rows(tmp_path: Path) -> None:
    """Requests for a table failed in one snapshot; in another one its settings left the table out."""
    outcomes = {1: "complete", 2: "partial", 3: "skipped", 4: "complete", 5: "failed"}
    states = {hour: (table_state("log_dirs", outcome, 0, "any"),) for hour, outcome in outcomes.items()}
    lake = make_lake(tmp_path, [snapshot(hour, tables=states[hour]) for hour in outcomes])
    with opened(lake, {"snapshots", "table_states"}) as ask:
        (scope,) = scopes(ask, None, None, 24)
        assert scope.incomplete_points("log_dirs") == {1, 4}
        assert scope.incomplete_points("consumer_lag") == set()


def moment(hour: int) -> datetime:
    return datetime.fromtimestamp((NOON_MS + hour * HOUR_MS) / 1000, UTC)


@pytest.mark.long
def test_the_snapshot_before_the_history_is_read(tmp_path: Path) -> None:
    """A history that begins at the very time of a snapshot has that snapshot's predecessor in its first window."""
    lake = make_lake(tmp_path, [snapshot(hour, status="complete") for hour in range(30)])
    with opened(lake, CHOICE) as ask:
        (scope,) = scopes(ask, None, None, 24)
        assert hours(scope) == list(range(5, 30))
        (first, *_), recent = windows_of([scope]), recent_window([scope])
    assert first is not None
    (span,) = first
    assert span.begin <= moment(4)
    assert span.end == moment(29)
    assert [(span.begin, span.end) for span in recent] == [(moment(20), moment(29))]


@pytest.mark.long
@pytest.mark.parametrize("hours_asked", [24_000_000, 2**63 * 24])
def test_a_history_that_begins_before_the_calendar(ask: Ask, hours_asked: int) -> None:
    """It is all of the history, and the page can say how much was asked for."""
    (scope, *_) = scopes(ask, None, None, hours_asked)
    assert hours(scope) == list(HOURS)
    assert scope.hours == hours_asked
    assert windows_of([scope])[0] is not None


@pytest.mark.long
def test_the_status_of_groups_needs_ten_snapshots(ask: Ask) -> None:
    """They are read even if the history of the page is shorter, and fewer where there are no more."""
    (recent,) = recent_window(scopes(ask, ["default"], None, 2))
    assert (recent.begin, recent.end) == (moment(3), moment(17))
    (alone,) = recent_window(scopes(ask, ["second"], None, 24))
    assert (alone.begin, alone.end) == (moment(17), moment(17))


@pytest.mark.long
def test_the_first_snapshot_of_all_has_no_predecessor(ask: Ask) -> None:
    """The whole history is not opened in search of what was before it."""
    assert has_all_predecessors(scopes(ask, ["default"], None, 24)[0])


def test_a_list_of_an_earlier_visibility_is_read(tmp_path: Path) -> None:
    """Changes are those against the last list that saw as much, so a window that lacks it is too short."""
    lake = lake_of_text(tmp_path, FILTERED_FOR_DAYS)
    with opened(lake, CHOICE) as ask:
        (scope,) = scopes(ask, None, None, 2)
        short, *_ = windows_of([scope])
    with opened(lake, {"table_coverage"}, window=short) as ask:
        assert not has_all_predecessors(replace(scope, ask=ask))
    with opened(lake, {"table_coverage"}) as ask:
        assert first_predecessor(replace(scope, ask=ask)) == datetime(2026, 11, 3, 9, 30, tzinfo=UTC)


@pytest.mark.long
@pytest.mark.parametrize(
    ("of_a_day", "compared", "parts"),
    [(24, 5, 1), (200, 5, 2), (288, 5, 3), (1_440, 5, 5), (1_440, 1, 1), (1_440, 2, 2)],
)
def test_a_long_history_is_read_in_parts(ask: Ask, of_a_day: int, compared: int, parts: int) -> None:
    """A part has some days with at most 600 snapshots that are compared, or one such day; all are there once, the last ones first."""
    scope = scopes(ask, ["default"], None, 24)[0]
    days = [scope.snapshot.snapshot_date - timedelta(days=back) for back in range(5)]
    runs = [replace(scope.snapshot, snapshot_date=day) for day in reversed(days) for _ in range(of_a_day)]
    conditions = replace(scope, runs=runs).parts(600, set(days[:compared]))
    assert len(conditions) == parts
    named = [condition.split("'")[1::2] for condition in conditions]  # the first and the last day of each part
    assert named[0][1] == str(days[0])
    assert named[-1][0] == str(days[-1])
    day_after = [str(date.fromisoformat(last) + timedelta(days=1)) for _, last in named[1:]]
    assert [first for first, _ in named[:-1]] == day_after


@pytest.mark.long
def test_short_parts(ask: Ask) -> None:
    """Each snapshot of the history is in one part, and a part has at most so many that are compared."""
    scope = scopes(ask, ["default"], None, 24)[0]
    assert len(scope.runs) > 3
    chosen = "SELECT snapshot_id FROM snapshots WHERE cluster = 'default' AND"
    parts = [
        scope.rows(f"{chosen} {condition}")
        for condition in scope.short_parts(3, {run.snapshot_date for run in scope.runs})
    ]
    assert {len(part) for part in parts[:-1]} == {3}
    assert sorted(one for part in parts for (one,) in part) == sorted(run.snapshot_id for run in scope.runs)
    (whole,) = scope.short_parts(3, set())
    assert len(scope.rows(f"{chosen} {whole}")) == len(scope.runs)
