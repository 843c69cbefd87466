"""Groups on the page agree with the tables, and unknown values have a text."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.charts import Reading
from kafka_lagoon.report.group_section import group_section
from kafka_lagoon.report.groups import groups_of, histories, statuses, total_history
from kafka_lagoon.report.page import RELATIONS, cluster_page, render
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.table_states import table_state
from tests.delta.lake import make_lake
from tests.delta.samples import lag_row, row, snapshot
from tests.duckdb_views import connected
from tests.effort import first
from tests.report.history import CLOSING, HOURS, HUGE, RIGHT_TO_LEFT, SCRIPT

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("snapshots", "is_noted"), [(12, False), (13, True)])
def test_points_that_stand_for_several_snapshots_are_noted(scope: Scope, snapshots: int, is_noted: bool) -> None:
    """A point of the charts stands for one snapshot unless there are more snapshots than points."""
    assert len(scope.axis.points) == 12
    of_groups = group_section(replace(scope, axis=replace(scope.axis, snapshots=snapshots))).section
    assert any("stands for several snapshots" in note for note in of_groups.notes) == is_noted


def test_sums_are_those_of_the_tables(scope: Scope, lake: Path) -> None:
    """Lag, time lag, losses and partitions of each group equal the sums of the tables."""
    with connected(lake, ["lag_now"]) as connection:
        wanted = connection.sql(
            """
            SELECT group_id, count(*), sum(lag)::HUGEINT::BIGINT, sum(records_lost)::BIGINT FROM lag_now
            WHERE cluster = 'default' GROUP BY group_id ORDER BY group_id
            """
        ).fetchall()
    given = [(one.group_id, one.partitions, one.lag, one.records_lost) for one in groups_of(scope)]
    assert sorted(given) == wanted


def test_the_worst_first(scope: Scope) -> None:
    """Groups with losses come first, then unknown ages, then the oldest; groups without a commit come last."""
    names = [one.group_id for one in groups_of(scope)]
    assert names == [SCRIPT, "unknown", CLOSING, "billing", "huge", RIGHT_TO_LEFT, "caught-up", "fresh"]


def test_what_is_not_known_has_its_reason(scope: Scope) -> None:
    """A partial sum names the number of partitions without lag and the reason; without a commit no lag is missing."""
    groups = {one.group_id: one for one in groups_of(scope)}
    unknown = groups["unknown"]
    assert (unknown.lag, unknown.remark()) == (4, "lag unknown of 1 of 2 partitions: LEADER_NOT_AVAILABLE")
    assert unknown.change is None
    assert groups["fresh"].remark() == "no commit for 1 of 1 partitions"
    assert groups[CLOSING].remark() == "age unknown of 1 partitions: COMMIT_PAST_END"
    assert (groups["huge"].lag, groups["billing"].change) == (HUGE, 1717 - 101)
    assert groups["billing"].worst_partition == "topic orders, partition 0"


def test_histories(scope: Scope) -> None:
    """Each snapshot has a value; if the lag of a partition is unknown, or rows are missing, the value is marked as partial."""
    groups = groups_of(scope)
    history = histories(scope, groups)
    assert [one and one.value for one in history["billing"].lag] == [101 * hour for hour in HOURS]
    assert [one and one.value for one in history["billing"].time_lag] == [60_000 * hour for hour in HOURS]
    assert history["unknown"].lag == [Reading(10) if hour == 5 else Reading(4, is_partial=True) for hour in HOURS]
    assert history["fresh"].lag == [None] * len(HOURS)
    assert [one and one.is_partial for one in total_history(scope)] == [True] * len(HOURS)  # in hour 5 a broker failed


def test_a_snapshot_without_the_list_of_groups_is_unknown(tmp_path: Path) -> None:
    """Where no request for groups was answered the lag is unknown, not that of no group; where there is none it is not."""
    facts = (row(ConsumerGroupRow, group_id="billing", state="Empty"), lag_row("billing", "orders", 0, lag=7))
    outcomes = {1: "complete", 2: "failed", 3: "complete", 4: "complete"}
    states = {
        hour: tuple(table_state(name, outcome, 0, "any") for name in ("consumer_groups", "consumer_lag"))
        for hour, outcome in outcomes.items()
    }
    of_hours = {1: facts, 2: (), 3: (), 4: facts}
    made = make_lake(tmp_path, [snapshot(hour, *of_hours[hour], tables=states[hour]) for hour in outcomes])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        wanted = [Reading(7), Reading(None), None, Reading(7)]
        assert total_history(scope) == wanted
        history = histories(scope, groups_of(scope))["billing"]
        assert (history.lag, history.time_lag[1:3]) == (wanted, [Reading(None), None])


def test_status_by_the_rules_of_burrow(scope: Scope) -> None:
    """A group with lag whose commit does not move has stopped or stalled."""
    status = statuses(scope, groups_of(scope))
    assert status["caught-up"] == "OK"
    assert status["fresh"] is None
    assert status["billing"] == "STOP"


@pytest.mark.parametrize("time_lag_ms", first([-(10**18), 2**63 - 1]))
def test_a_stopped_group_before_a_record_of_no_possible_time(tmp_path: Path, time_lag_ms: int) -> None:
    """Producers that count nanoseconds, or anything else, give no time since when a group is behind; the page is made."""
    facts = (
        row(ConsumerGroupRow, group_id="billing", state="Empty", members=0),
        lag_row("billing", "orders", 0, lag=7, committed_offset=5, time_lag_ms=time_lag_ms),
    )
    hours = range(1, 12)
    made = make_lake(tmp_path, [snapshot(hour, *facts, status="complete", groups=1) for hour in hours])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        of_groups = group_section(scope)
        (tile,) = of_groups.tiles
        assert (tile.value, tile.note, tile.since_ms) == ("1", "billing", None)
        assert [concern.since_ms for concern in of_groups.concerns if "stopped" in concern.text] == [None]
        assert any("furthest behind" in concern.text for concern in of_groups.concerns) == (time_lag_ms > 0)
        assert "billing" in render([cluster_page(scope)], "", 0)


def test_partitions_with_the_same_lag(tmp_path: Path) -> None:
    """The first by topic and number is the worst, in whatever order the rows are stored."""
    places = [("payments", 0), ("orders", 10), ("orders", 2), ("audit", 0)]
    facts = [lag_row("billing", topic, number, lag=0 if topic == "audit" else 7) for topic, number in places]
    facts += [row(ConsumerGroupRow, group_id="billing", state="Stable", members=1)]
    made = make_lake(tmp_path, [snapshot(1, *facts, status="complete", groups=1)])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        assert groups_of(scope)[0].worst_partition == "topic orders, partition 2"


def test_a_share_group(tmp_path: Path) -> None:
    """It has no age, and none is missing; what it has not begun to read is counted as what has no commit."""
    share = {"group_type": "share"}
    facts = (
        row(ConsumerGroupRow, group_id="queue", state="Stable", members=1, **share),
        lag_row("queue", "orders", 0, lag=7, lag_basis="share", records_lost=0, **share),
        lag_row("queue", "orders", 1, lag_basis="log_start", problem="SHARE_NOT_STARTED", **share),
    )
    made = make_lake(tmp_path, [snapshot(hour, *facts, status="complete", groups=1) for hour in (1, 2)])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        (group,) = groups_of(scope)
        assert (group.lag, group.time_lag_ms, group.remark()) == (7, None, "no start offset for 1 of 2 partitions")
        history = histories(scope, [group])["queue"]
        assert [one and one.value for one in history.lag if one] == [7, 7]
        assert set(history.time_lag) == {None}
        (table,) = group_section(scope).section.tables
    names = [column.label for column in table.columns]
    assert dict(zip(names, table.rows[0], strict=True))["Time lag"] == ""
