"""Losses, findings and changes on the page."""

from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.coverage import failures_of, health_of, missing_tables_of, short_lists_of
from kafka_lagoon.report.finding_sections import (
    _by_group,
    _change_entity,
    _finding_entity,
    _loss_concerns,
    _loss_tile,
    change_section,
    health_section,
)
from kafka_lagoon.report.findings import Finding, Loss, changes_of, findings_of, losses_of, no_estimates_of
from kafka_lagoon.report.page import RELATIONS
from kafka_lagoon.report.run_sections import run_section
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, row, snapshot
from tests.report.history import CLOSING, LAST, SCRIPT

pytestmark = pytest.mark.long


def test_losses(scope: Scope) -> None:
    """Lost records are listed; without configs future losses are unknown, and the number of their partitions is reported."""
    (loss,) = losses_of(scope)
    assert (loss.group_id, loss.topic, loss.records_lost, loss.left_ms) == (SCRIPT, SCRIPT, 3, None)
    assert no_estimates_of(scope) == [("configs_unknown", 6)]


def test_findings_and_since_when(scope: Scope) -> None:
    """A finding has the time since which it holds: under-replicated since 9:00, fenced only in the last snapshot."""
    findings = {(one.finding, one.entity): one for one in findings_of(scope)}
    short = findings["under_replicated", "orders-0"]
    assert (short.since_ms, short.snapshots) == (NOON_MS + 9 * HOUR_MS, 4)
    assert findings["broker_fenced", "2"].since_ms == NOON_MS + LAST * HOUR_MS
    health = health_of(scope)
    assert (health.fenced, health.under_replicated, health.leaderless) == (1, 4, 0)


def test_fewer_replicas_than_min_insync_replicas(tmp_path: Path) -> None:
    """If all of them are in sync, the partition is a warning; only what refuses writes is critical, and counts in the tile."""
    partitions = [
        row(
            PartitionRow,
            topic="orders",
            partition=number,
            leader_id=1,
            replicas=replicas,
            isr=(1,),
            is_leaderless=False,
            is_under_replicated=len(replicas) > 1,
            is_under_min_isr=True,
            is_at_min_isr=False,
            is_preferred_leader=True,
        )
        for number, replicas in enumerate([(1,), (1, 2), (1, 3)])
    ]
    coverage = row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    made = make_lake(tmp_path, [snapshot(1, *partitions, coverage, status="complete", topics=1, partitions=3)])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        assert health_of(scope).under_min_isr == 2
        health = health_section(scope)
    assert [tile.value for tile in health.tiles] == ["0", "2", "2"]
    assert [(one.level, one.text.partition(":")[0]) for one in health.concerns] == [
        ("critical", "partitions under min.insync.replicas, which refuse acks=all"),
        ("warning", "partitions with fewer replicas than min.insync.replicas, which refuse acks=all before Kafka 3.7"),
        ("warning", "under-replicated partitions"),
    ]


def test_an_unknown_min_insync_replicas_is_no_good_news(tmp_path: Path) -> None:
    """The tile says of how many partitions it is not known, and does not show 0."""
    partitions = [
        row(
            PartitionRow,
            topic="orders",
            partition=number,
            leader_id=1,
            replicas=(1, 2),
            isr=(1, 2),
            is_leaderless=False,
            is_under_replicated=False,
            is_under_min_isr=None if number else False,
            is_preferred_leader=True,
        )
        for number in range(3)
    ]
    coverage = row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    made = make_lake(tmp_path, [snapshot(1, *partitions, coverage, status="complete", topics=1, partitions=3)])
    with opened(made, RELATIONS) as ask:
        (scope,) = scopes(ask, None, None, 24)
        offline, under_min, under = health_section(scope).tiles
    assert (under_min.value, under_min.note, under_min.level) == ("unknown", "not known of 2 partitions", "unknown")
    assert (offline.note, offline.level, under.note, under.level) == ("", "", "", "")


def test_changes_of_the_history(scope: Scope) -> None:
    """The newest changes come first, with their earlier values; the counts include all changes."""
    changes, counts = changes_of(scope)
    assert (changes[0].entity_type, changes[0].attribute, changes[0].old_value, changes[0].new_value) == (
        *("broker", "is_fenced", "false", "true"),
    )
    assert sum(number for *_, number in counts) == len(changes)
    assert {one.captured_ms for one in changes if one.attribute == "isr"} == {NOON_MS + 9 * HOUR_MS}
    assert change_section(scope).section.title == "What changed in 16h"


def test_what_was_not_seen(scope: Scope) -> None:
    """Failures of the snapshot and lists that may be incomplete are shown."""
    assert failures_of(scope) == []
    (failure,) = failures_of(scopes(scope.ask, ["default"], NOON_MS + 3 * HOUR_MS, 24)[0])
    assert (failure.scope, failure.error_name, failure.items) == (CLOSING, "NOT_COORDINATOR", 2)
    assert [(one.api, one.visibility) for one in short_lists_of(scope)] == [("ListGroups", "filtered")]
    assert missing_tables_of(scope) == []


def test_a_snapshot_of_the_first_version(tmp_path: Path) -> None:
    """Version 0.1.0 did not write which tables are complete: it collected none of those that were added since."""
    made = make_lake(tmp_path, [snapshot(1, status="complete", tables=None), snapshot(2, status="complete")])
    with opened(made, RELATIONS) as ask:
        old, new = (scopes(ask, None, NOON_MS + hour * HOUR_MS, 24)[0] for hour in (1, 2))
        assert ("log_dirs", "not_collected") in missing_tables_of(old)
        assert "topics" not in dict(missing_tables_of(old))
        assert missing_tables_of(new) == []
        shown, of_new = run_section(old), run_section(new)
    (note,) = [note for note in shown.section.notes if "0.1.0" in note]
    assert note.startswith("Tables not collected (by version 0.1.0, which took this snapshot): ")
    text = "version 0.1.0 took the snapshot, and did not look at disks, configs and ACLs"
    assert [one.text == text for one in shown.concerns if "version" in one.text] == [True]
    assert not [one for one in of_new.concerns if "version" in one.text]


def _loss(group: str, partition: int, left_ms: int | None, lost: int | None = 0) -> Loss:
    at_ms = None if left_ms is None else NOON_MS + left_ms
    return Loss(group, "clicks", partition, lost, 10, left_ms, at_ms, None)


def test_losses_by_group() -> None:
    """A group has one row, of its partition with the least time left; a sum with an unknown part is unknown."""
    losses = [
        _loss("a", 0, None, 7),
        _loss("b", 0, 90 * 60_000),
        _loss("b", 3, -3_510_000, None),
        _loss("c", 1, 60_000),
    ]
    assert _by_group(losses) == [
        ("b", -3_510_000, 20, None, 2, "topic clicks, partition 3", NOON_MS - 3_510_000, None),
        ("c", 60_000, 10, 0, 1, "topic clicks, partition 1", NOON_MS + 60_000, None),
        ("a", None, 10, 7, 1, "", None, None),
    ]
    tile = _loss_tile(losses, 0)
    assert (tile.level, tile.value, tile.note, tile.when) == ("critical", "2", "b, c", "the first overdue by 58m")
    assert [(one.level, one.text) for one in _loss_concerns(losses)] == [
        ("critical", "7 records were deleted before a read them"),
        (
            "critical",
            "retention will delete unread records of b, c, the first at any moment: overdue by 58m",
        ),
    ]
    soon = _loss_tile(losses[-1:], 5)
    assert (soon.level, soon.value, soon.note, soon.when) == ("warning", "1", "c", "the first in 1m")


def test_a_record_that_two_groups_lost_was_deleted_once() -> None:
    """Groups lose the records between their commits and the start of the log, so the most of a partition has all of them."""
    losses = [_loss("a", 0, None, 18), _loss("b", 0, None, 10), _loss("b", 1, None, 3), _loss("c", 1, None)]
    assert [one.text for one in _loss_concerns(losses)] == ["21 records were deleted before a, b read them"]


def test_names_of_what_has_a_finding_or_changed(scope: Scope) -> None:
    """A topic is not glued to its partition, and a number has its type."""
    names = {(one.finding, one.entity): _finding_entity(one) for one in findings_of(scope)}
    assert names["under_replicated", "orders-0"] == "topic orders, partition 0"
    assert names["broker_fenced", "2"] == "broker 2"
    hanging = Finding("critical", "hanging_transaction", "producer", "t-1-0 producer 7", "t-1", 0, 0, 1, None)
    assert _finding_entity(hanging) == "topic t-1, partition 0, producer 7"
    changes, _ = changes_of(scope)
    assert {_change_entity(one) for one in changes if one.attribute == "isr"} == {
        f"topic {topic}, partition {number}" for topic in ("orders", SCRIPT) for number in (0, 1)
    }
    assert "broker 2" in {_change_entity(one) for one in changes}
    assert all("group " in _change_entity(one) for one in changes if one.entity_type == "group_partition")
