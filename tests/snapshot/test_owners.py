"""Owners and expectations become rows of the names that a snapshot lists, and are stored when they change."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.owners import NOBODY, PAUSED, Expectation, Owners
from kafka_lagoon.snapshot.chosen_names import EVERYTHING, ChosenNames, Names
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.owners import expected_group_rows, owner_rows
from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.tables.table_states import StoredTable
from tests.clock import CLOCK
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.short_timeouts import short_timeouts

NOON = round(datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp() * 1000)
OWNERS = Owners(
    topics={"orders": "shop", "orders.*": "platform"},
    groups={"orders.*": "data"},
    expected={"orders-n.*": Expectation(hours="22:00-06:00"), "orders-.*": Expectation(hours=PAUSED)},
)


def test_the_first_pattern_counts() -> None:
    """Topics and groups have patterns of their own; what nobody owns has no row."""
    rows = owner_rows(OWNERS, ["orders-eu", "orders", "pre-orders"], ["orders", "web"])
    assert list(rows) == [
        OwnerRow(entity_type="topic", name="orders", owner="shop", pattern="orders"),
        OwnerRow(entity_type="topic", name="orders-eu", owner="platform", pattern="orders.*"),
        OwnerRow(entity_type="group", name="orders", owner="data", pattern="orders.*"),
    ]


def test_an_expectation_is_about_the_time() -> None:
    """Rows say what was expected at that time; an entry that has ended leaves the group to the next one."""
    owners = Owners(
        expected={
            "moved": Expectation(hours=PAUSED, until=date(2026, 11, 24)),
            "mov.*": Expectation(hours="08:00-13:00", until=date(2026, 12, 1), reason="tests"),
            "nightly": Expectation(hours="22:00-06:00"),
        }
    )
    end_ms = round(datetime(2026, 12, 1, tzinfo=UTC).timestamp() * 1000)
    by_day = ExpectedGroupRow(
        group_id="moved", should_run=True, hours="08:00-13:00", until_ms=end_ms, reason="tests", pattern="mov.*"
    )
    by_night = ExpectedGroupRow(
        group_id="nightly", should_run=False, hours="22:00-06:00", until_ms=None, reason=None, pattern="nightly"
    )
    assert list(expected_group_rows(owners, ["nightly", "moved", "web"], NOON)) == [by_day, by_night]
    assert list(expected_group_rows(owners, ["moved"], end_ms)) == []


def taken(
    state: FakeCluster,
    owners: Owners = OWNERS,
    stored: dict[str, StoredTable] | None = None,
    chosen: ChosenNames = EVERYTHING,
) -> Snapshot:
    with fake_cluster(state):
        deadline = Deadline.after(CLOCK, 8_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            return collect(
                cluster,
                "test",
                1_000,
                deadline,
                lambda _step, _items: None,
                stored=stored,
                chosen=chosen,
                owners=owners,
            )


@pytest.fixture
def state() -> FakeCluster:
    """Make a cluster with topics and groups that patterns match, and some that none matches."""
    state = FakeCluster()
    for topic in ("orders", "orders-eu", "other"):
        state.add_topic(topic, 1)
    state.groups |= {"orders-paused": FakeGroup(1), "web": FakeGroup(2)}
    return state


def test_a_snapshot_has_rows_of_its_names(state: FakeCluster) -> None:
    """Rows are about the topics and groups of the snapshot, and both tables are complete."""
    snapshot = taken(state)
    assert [(row.entity_type, row.name, row.owner) for row in snapshot.of(OwnerRow)] == [
        ("topic", "orders", "shop"),
        ("topic", "orders-eu", "platform"),
        ("group", "orders-paused", "data"),
    ]
    (row,) = snapshot.of(ExpectedGroupRow)
    assert (row.group_id, row.should_run, row.hours) == ("orders-paused", False, "paused")
    states = {one.table_name: one.outcome for one in snapshot.published.tables or ()}
    assert (states["owners"], states["expected_groups"]) == ("complete", "complete")


def test_without_settings_there_are_no_rows(state: FakeCluster) -> None:
    """The tables stay empty."""
    snapshot = taken(state, NOBODY)
    assert (snapshot.of(OwnerRow), snapshot.of(ExpectedGroupRow)) == ([], [])


def test_names_that_settings_leave_out_have_no_rows(state: FakeCluster) -> None:
    """An owner of a topic that the snapshot does not have would be counted for nothing."""
    snapshot = taken(state, chosen=ChosenNames(topics=Names.of("orders", None), groups=Names.of("web", None)))
    assert [row.name for row in snapshot.of(OwnerRow)] == ["orders"]
    assert snapshot.of(ExpectedGroupRow) == []


def test_what_did_not_change_is_not_stored_again(state: FakeCluster) -> None:
    """A second snapshot refers to the first one, until another team owns something."""
    first = taken(state)
    stored = {
        one.table_name: StoredTable(
            snapshot_id=one.stored_in, captured_at_ms=first.header.captured_at_ms, digest=one.digest
        )
        for one in first.published.tables or ()
        if one.digest is not None
    }
    assert {"owners", "expected_groups"} <= taken(state, stored=stored).stored_elsewhere
    moved = taken(state, replace(OWNERS, topics={"orders.*": "shop"}), stored=stored)
    assert "owners" not in moved.stored_elsewhere
    assert "expected_groups" in moved.stored_elsewhere
