"""Groups of the page against SQL of this test, and the texts for unknown values."""

from pathlib import Path

import duckdb
import pytest

from kafka_lagoon.notebooks import register_duckdb
from kafka_lagoon.report.charts import Reading
from kafka_lagoon.report.groups import groups_of, histories, statuses, total_history
from kafka_lagoon.report.scope import Scope
from tests.report.history import CLOSING, HOURS, HUGE, RIGHT_TO_LEFT, SCRIPT

pytestmark = pytest.mark.long


def test_sums_are_those_of_the_tables(scope: Scope, lake: Path) -> None:
    """Lag, time lag, losses and partitions of each group."""
    with duckdb.connect() as connection:
        register_duckdb(connection, str(lake))
        wanted = connection.sql(
            """
            SELECT group_id, count(*), sum(lag)::HUGEINT::BIGINT, sum(records_lost)::BIGINT FROM lag_now
            WHERE cluster = 'default' GROUP BY group_id ORDER BY group_id
            """
        ).fetchall()
    given = [(one.group_id, one.partitions, one.lag, one.records_lost) for one in groups_of(scope)]
    assert sorted(given) == wanted


def test_the_worst_first(scope: Scope) -> None:
    """Losses, then an age that is not known, then the oldest; who has no commit is last."""
    names = [one.group_id for one in groups_of(scope)]
    assert names == [SCRIPT, "unknown", CLOSING, "billing", "huge", RIGHT_TO_LEFT, "caught-up", "fresh"]


def test_what_is_not_known_has_its_reason(scope: Scope) -> None:
    """A sum over a part says of how many the lag is missing and why; a group without a commit has no lag that is missing."""
    groups = {one.group_id: one for one in groups_of(scope)}
    unknown = groups["unknown"]
    assert (unknown.lag, unknown.remark()) == (4, "lag unknown of 1 of 2 partitions: LEADER_NOT_AVAILABLE")
    assert unknown.change is None
    assert groups["fresh"].remark() == "no commit for 1 of 1 partitions"
    assert groups[CLOSING].remark() == "age unknown of 1 partitions: COMMIT_PAST_END"
    assert (groups["huge"].lag, groups["billing"].change) == (HUGE, 1717 - 101)
    assert groups["billing"].worst_partition == "orders-0"


def test_histories(scope: Scope) -> None:
    """A reading for each snapshot; where one partition was unknown the rest is a partial one."""
    groups = groups_of(scope)
    history = histories(scope, groups)
    assert [one and one.value for one in history["billing"].lag] == [101 * hour for hour in HOURS]
    assert [one and one.value for one in history["billing"].time_lag] == [60_000 * hour for hour in HOURS]
    assert history["unknown"].lag == [Reading(10) if hour == 5 else Reading(4, is_partial=True) for hour in HOURS]
    assert history["fresh"].lag == [None] * len(HOURS)
    assert [one and one.is_partial for one in total_history(scope)] == [hour != 5 for hour in HOURS]


def test_status_by_the_rules_of_burrow(scope: Scope) -> None:
    """A commit that does not move while records come is a stall."""
    status = statuses(scope, groups_of(scope))
    assert status["caught-up"] == "OK"
    assert status["fresh"] is None
    assert status["billing"] in {"STOP", "STALL"}
