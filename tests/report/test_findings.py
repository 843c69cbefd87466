"""Losses, findings and changes on the page."""

import pytest

from kafka_lagoon.report.coverage import failures_of, health_of, missing_tables_of, short_lists_of
from kafka_lagoon.report.findings import changes_of, findings_of, losses_of, no_estimates_of
from kafka_lagoon.report.scope import Scope, scopes
from tests.delta.samples import HOUR_MS, NOON_MS
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


def test_changes_of_the_history(scope: Scope) -> None:
    """The newest changes come first, with their earlier values; the counts include all changes."""
    changes, counts = changes_of(scope)
    assert (changes[0].entity_type, changes[0].attribute, changes[0].old_value, changes[0].new_value) == (
        *("broker", "is_fenced", "false", "true"),
    )
    assert sum(number for *_, number in counts) == len(changes)
    assert {one.captured_ms for one in changes if one.attribute == "isr"} == {NOON_MS + 9 * HOUR_MS}


def test_what_was_not_seen(scope: Scope) -> None:
    """Failures of the snapshot and lists that may be incomplete are shown."""
    assert failures_of(scope) == []
    (failure,) = failures_of(scopes(scope.ask, ["default"], NOON_MS + 3 * HOUR_MS, 24)[0])
    assert (failure.scope, failure.error_name, failure.items) == (CLOSING, "NOT_COORDINATOR", 2)
    assert [(one.api, one.visibility) for one in short_lists_of(scope)] == [("ListGroups", "filtered")]
    assert missing_tables_of(scope) == []
