"""The page names owners, and groups that are stopped on purpose are in no tile and no line about trouble."""

from collections.abc import Iterator

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.page import RELATIONS, ClusterPage, cluster_page
from kafka_lagoon.report.page_tables import PageTable, Tile
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.tables.cluster_rows import ConfigRow, PartitionRow, TopicRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.delta.lake import make_lake
from tests.delta.samples import NOON_MS, lag_row, row, snapshot

pytestmark = pytest.mark.long

GROUPS = ("nightly", "paused", "stuck", "late")


def _facts() -> Iterator[object]:
    """Make groups that do not read: two are stopped on purpose, one of which has lost records."""
    for api in ("Metadata", "ListGroups"):
        yield row(CoverageRow, api=api, requests=1, answered=1, expected=1, visibility="complete")
    yield row(TopicRow, topic="orders", topic_id="O", partitions=1)
    partition = row(PartitionRow, topic="orders", topic_id="O", partition=0, replicas=(1, 2), isr=(1,))
    partition.is_leaderless, partition.is_under_replicated = False, True
    partition.is_under_min_isr, partition.is_at_min_isr, partition.is_preferred_leader = False, False, True
    yield partition
    for name, value in (("cleanup.policy", "delete"), ("retention.ms", "60000")):
        yield row(ConfigRow, resource_type="topic", resource_name="orders", name=name, value=value)
    for group_id in GROUPS:
        yield row(ConsumerGroupRow, group_id=group_id, state="Empty", members=0)
        lost = 4 if group_id == "paused" else 0
        yield lag_row(
            group_id,
            "orders",
            0,
            lag=100 + len(group_id),
            committed_offset=7,
            time_lag_ms=60_000,
            records_lost=lost,
            first_unread_timestamp_ms=NOON_MS,
        )
        yield row(OwnerRow, entity_type="group", name=group_id, owner=f"team of {group_id}")
    yield row(OwnerRow, entity_type="topic", name="orders", owner="shop")
    yield row(ExpectedGroupRow, group_id="nightly", should_run=False, hours="22:00-06:00")
    yield row(ExpectedGroupRow, group_id="paused", should_run=False, hours="paused", reason="moved")
    yield row(ExpectedGroupRow, group_id="late", should_run=True, hours="08:00-20:00")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> ClusterPage:
    taken = [snapshot(hour, *_facts(), status="complete", topics=1, partitions=1, groups=4) for hour in range(1, 6)]
    with opened(make_lake(tmp_path_factory.mktemp("owners"), taken), RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        return cluster_page(scope)


def tile(page: ClusterPage, label: str) -> Tile:
    (labelled,) = (tile for tile in page.tiles if tile.label == label)
    return labelled


def shown(page: ClusterPage, name: str, *labels: str) -> list[list[object]]:
    """Return the rows of a table, with these columns."""
    (table,) = (table for section in page.sections for table in section.tables if table.name == name)
    return [[row[column_of(table, label)] for label in labels] for row in table.rows]


def column_of(table: PageTable, label: str) -> int:
    return [column.label for column in table.columns].index(label)


def test_groups_have_owners_and_expectations(page: ClusterPage) -> None:
    """The table says what is expected of a group, and why."""
    assert page.problems == []
    assert sorted(shown(page, "groups", "Group", "Status", "Owner", "Expected")) == [
        ["late", "STOP", "team of late", "runs, 08:00-20:00"],
        ["nightly", "STOP", "team of nightly", "stopped, 22:00-06:00"],
        ["paused", "STOP", "team of paused", "stopped, paused, moved"],
        ["stuck", "STOP", "team of stuck", ""],
    ]


def test_tiles_name_who_must_act(page: ClusterPage) -> None:
    """Groups that are stopped on purpose are not stalled, but they lose data like others."""
    stalled = tile(page, "Stalled groups")
    assert (stalled.value, stalled.level) == ("2", "critical")
    assert stalled.note == "stuck (team of stuck) and 1 more"
    assert tile(page, "Groups about to lose data").value == "4"
    assert tile(page, "Under-replicated partitions").note == "orders (shop)"


def test_lines_about_trouble_name_who_must_act(page: ClusterPage) -> None:
    """None is about a stop on purpose; a loss is never expected."""
    lines = {one.text for one in page.concerns}
    assert "stopped groups, whose commits have ended: stuck (team of stuck), late (team of late)" in lines
    assert "4 records were deleted before paused (team of paused) read them" in lines
    assert "groups that should run, have unread records and no member: late (team of late)" in lines
    assert "under-replicated partitions: topic orders, partition 0 (shop)" in lines
    assert not [line for line in lines if "nightly" in line and "retention" not in line]


def test_expected_findings_are_the_last(page: ClusterPage) -> None:
    """They are counted by themselves."""
    findings = shown(page, "health", "Finding", "What has it", "Owner", "Expected")
    assert findings[-2:] == [
        ["stopped_group", "nightly", "team of nightly", "expected"],
        ["stopped_group", "paused", "team of paused", "expected"],
    ]
    assert ["stopped_group", "late", "team of late", None] in findings
    (health,) = (section for section in page.sections if section.name == "health")
    assert health.lead.endswith("2 expected.")
    (groups,) = (section for section in page.sections if section.name == "groups")
    assert groups.lead.endswith("2 are expected to be stopped.")


def test_without_settings_there_are_no_columns(scope: Scope) -> None:
    """A page about snapshots without owners and expectations has no empty columns."""
    labels = {
        column.label for section in cluster_page(scope).sections for table in section.tables for column in table.columns
    }
    assert labels.isdisjoint({"Owner", "Expected"})
