"""`lagoon lag` and `lagoon health` show owners, and limits leave out groups that are expected to be stopped."""

from pathlib import Path

import pytest

from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.cli.tables.conftest import Ask, group, topics
from tests.delta.lake import make_lake
from tests.delta.samples import lag_row, row, snapshot

pytestmark = pytest.mark.long


def expected(group_id: str, *, should_run: bool = False) -> ExpectedGroupRow:
    return row(ExpectedGroupRow, group_id=group_id, should_run=should_run, hours="22:00-06:00")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a snapshot with owners and expectations, an older one without, and one of another cluster."""
    listed = row(CoverageRow, api="ListGroups", requests=1, answered=1, expected=1, visibility="complete")
    made = (
        snapshot(
            1, *topics(1, (1, 2)), group("nightly"), lag_row("nightly", "orders", 0, lag=1), topics=1, status="complete"
        ),
        snapshot(
            2,
            *topics(None, (2,)),
            listed,
            *(group(name, state="Empty", members=0) for name in ("nightly", "late", "paused", "web")),
            lag_row("nightly", "orders", 0, lag=900, time_lag_ms=60_000, records_lost=4),
            lag_row("late", "orders", 0, lag=70, time_lag_ms=5_000, records_lost=0),
            lag_row("paused", "orders", 0, records_lost=0),
            lag_row("web", "orders", 0, lag=7, time_lag_ms=0, records_lost=0),
            row(OwnerRow, entity_type="group", name="nightly", owner="data"),
            row(OwnerRow, entity_type="topic", name="orders", owner="shop"),
            row(OwnerRow, entity_type="topic", name="web", owner="shop"),
            expected("nightly"),
            expected("paused"),
            expected("late", should_run=True),
            topics=1,
            groups=4,
            status="complete",
        ),
        snapshot(2, group("late"), lag_row("late", "orders", 0, lag=3), cluster="other", status="complete"),
    )
    return make_lake(tmp_path_factory.mktemp("owners"), made)


def test_groups_have_their_owners(ask: Ask) -> None:
    """Rows name the team of the group, not that of a topic, and say if the group should run."""
    rows = ask("lag", "--cluster", "default", "--json").rows("group")
    assert {one["group_id"]: (one["owner"], one["should_run"]) for one in rows} == {
        "nightly": ("data", False),
        "late": (None, True),
        "paused": (None, False),
        "web": (None, None),
    }
    lines = ask("lag", "nightly", "--cluster", "default").out.splitlines()
    place = lines.index("group:")
    assert lines[place + 1].split()[-2:] == ["owner", "should_run"]
    assert lines[place + 2].split()[-2:] == ["data", "no"]


def test_people_see_no_column_that_nothing_fills(ask: Ask) -> None:
    """A snapshot without owners and expectations has its usual columns."""
    for command in ("lag", "health"):
        shown = ask(command, "--at", "2025-11-21T13:30", "--cluster", "default").out
        assert "owner" not in shown
        assert "expected" not in shown


@pytest.mark.parametrize(
    ("limits", "complaints"),
    [
        ("lag=70,total=70,time=5s", []),
        ("lag=69", ["lag above 69: 1 partition, highest 70 (late orders-0)"]),
        ("total=69", ["total above 69: 1 group, highest 70 (late)"]),
        ("time=1s", ["time above 1s: 1 partition, highest 5s (late orders-0)"]),
    ],
)
def test_limits_of_lag_leave_stopped_groups_out(ask: Ask, limits: str, complaints: list[str]) -> None:
    """They neither pass a limit nor count as unknown, and a line says which groups these are."""
    names = ", ".join(limit.partition("=")[0] for limit in limits.split(","))
    note = f"2 groups are expected to be stopped and left out of {names}: nightly, paused"
    shown = ask("lag", "--cluster", "default", "--fail-above", limits)
    assert shown.err.splitlines() == [f"lagoon: {line}" for line in (*complaints, note)]
    assert shown.code == (3 if complaints else 0)


def test_a_loss_is_never_expected(ask: Ask) -> None:
    """A group that is stopped on purpose must not lose records; its limit has no note."""
    shown = ask("lag", "--cluster", "default", "--fail-above", "lost")
    assert (shown.code, shown.err) == (3, "lagoon: lost above 0: 1 partition, highest 4 (nightly orders-0)\n")


def test_the_line_is_about_the_chosen_groups_and_clusters(ask: Ask) -> None:
    """A group of the same name in another cluster is not left out."""
    assert ask("lag", "web", "--cluster", "default", "--fail-above", "lag=7").err == ""
    shown = ask("lag", "late", "nightly", "--fail-above", "lag=2")
    assert shown.err.splitlines() == [
        "lagoon: lag above 2: 2 partitions, highest 70 (default late orders-0)",
        "lagoon: 1 group is expected to be stopped and left out of lag: default nightly",
    ]


def test_expected_findings_stand_last(ask: Ask) -> None:
    """They are shown and counted by themselves, with the owner of the group or topic."""
    shown = ask("health", "--cluster", "default", "--json")
    rows = [
        (one["finding"], one["entity"], one["severity"], one["owner"], one["is_expected"])
        for one in shown.rows("finding")
    ]
    assert rows == [
        ("leaderless", "orders-0", "critical", "shop", False),
        ("under_min_isr", "orders-0", "critical", "shop", False),
        ("stopped_group", "late", "warning", None, False),
        ("under_replicated", "orders-0", "warning", "shop", False),
        ("stopped_group", "nightly", "info", "data", True),
    ]
    counts = [(one["finding"], one["count"], one["is_expected"]) for one in shown.rows("count")]
    assert counts[-1] == ("stopped_group", 1, True)
    assert ("stopped_group", 1, False) in counts
    lines = ask("health", "--cluster", "default").out.splitlines()
    assert lines[lines.index("finding:") + 1].split()[-3:] == ["owner", "is_expected", "detail"]


def test_expected_findings_pass_no_limit(ask: Ask) -> None:
    """A limit counts only the others."""
    assert ask("health", "--cluster", "default", "--fail-above", "stopped_group=1,info,findings=4").code == 0
    shown = ask("health", "--cluster", "default", "--fail-above", "stopped_group")
    assert (shown.code, shown.err) == (3, "lagoon: stopped_group above 0: 1 finding (stopped_group late)\n")
