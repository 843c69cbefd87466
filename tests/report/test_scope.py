"""The snapshot of a page, and the snapshots of its history."""

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.scope import Scope, scopes, without_snapshot
from tests.delta.samples import HOUR_MS, NOON_MS
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
