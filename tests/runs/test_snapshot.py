"""A snapshot run does its steps in order, publishes a slot once, and returns the published snapshot."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.delta.publish import PublishedSlot
from kafka_lagoon.errors import ConnectionFailed, LockHeld, SnapshotExists
from kafka_lagoon.runs import snapshot
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.snapshot import take_snapshot
from kafka_lagoon.snapshot.collect import STEPS
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK
from tests.delta.samples import NOON_MS
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.query.duckdb_rows import rows_of
from tests.runs.heard import Heard
from tests.warehouses import settings

DAY_MS = 86_400_000


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_slot_is_published_once(tmp_path: Path) -> None:
    """A second run for the slot returns the published snapshot and collects nothing; a later slot stores changed rows."""
    state = FakeCluster()
    state.add_topic("t", 2)
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        context = RunContext(
            "snapshot", settings(f"warehouse={tmp_path / 'lake'}", f"kafka.bootstrap_servers={servers}"), CLOCK
        )
        first, second = Heard(), Heard()
        taken = take_snapshot(context, "default", NOON_MS, RequestStats(), first)
        assert isinstance(taken, Snapshot)
        assert (first.cluster_id, tuple(first.steps)) == ("fake", STEPS)
        repeated = take_snapshot(context, "default", NOON_MS, RequestStats(), second)
        assert isinstance(repeated, PublishedSlot)
        assert (repeated.snapshot_id, repeated.cluster_id) == (taken.header.snapshot_id, "fake")
        assert (second.cluster_id, second.steps) == ("fake", [])
        later = take_snapshot(context, "default", NOON_MS + 2, RequestStats(), Heard())
        assert isinstance(later, Snapshot)
        is_same_day = later.header.captured_at_ms // DAY_MS == taken.header.captured_at_ms // DAY_MS
        unchanged = {"configs", "features", "api_versions", "owners", "expected_groups"}
        assert later.stored_elsewhere == (unchanged if is_same_day else set())
        with (
            context.warehouse.exclusively("cluster-default", CLOCK, 0),
            pytest.raises(LockHeld),
        ):
            take_snapshot(context, "default", NOON_MS + 1, RequestStats(), Heard())


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_owners_of_the_settings_are_stored(tmp_path: Path) -> None:
    """A run stores what the settings say of its topics and groups, and views read it for the next run, too."""
    (tmp_path / "owners.toml").write_text(
        "[owners.topics]\n'ord.*' = \"shop\"\n[owners.groups]\n'.*' = \"data\"\n[expected.groups]\n'batch' = \"paused\"\n"
    )
    state, lake = FakeCluster(), tmp_path / "lake"
    state.add_topic("orders", 2)
    state.add_topic("other", 1)
    state.groups |= {"batch": FakeGroup(1, {("orders", 0): FakeCommit(90)}), "web": FakeGroup(1)}
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        given = (f"warehouse={lake}", f"kafka.bootstrap_servers={servers}", f"owners={tmp_path / 'owners.toml'}")
        context = RunContext("snapshot", settings(*given), CLOCK)
        for slot_ms in (NOON_MS, NOON_MS + 1):
            take_snapshot(context, "default", slot_ms, RequestStats(), Heard())
    totals = selected(
        lake, "SELECT owner, topics, partitions, groups, stopped_groups, lag FROM owner_totals ORDER BY owner"
    )
    assert totals == [("data", 0, 0, 2, 1, 10), ("shop", 1, 2, 0, 0, 0), (None, 1, 1, 0, 0, 0)]
    stopped = "SELECT finding, entity, severity, owner, is_expected, snapshots FROM health_findings WHERE entity_type = 'group'"
    assert ("stopped_group", "batch", "info", "data", True, 2) in selected(lake, stopped)


@pytest.mark.parametrize("published_for", ["fake", None, "other"])
def test_a_slot_of_another_cluster_with_this_name(monkeypatch: pytest.MonkeyPatch, published_for: str | None) -> None:
    """Two settings files call their clusters `default`: the second run does not say that there is nothing to do."""
    earlier = PublishedSlot(
        snapshot_id="first",
        cluster_id=published_for,
        slot_ms=NOON_MS,
        captured_at_ms=NOON_MS,
        status="complete",
        failures=0,
    )
    state = FakeCluster()
    state.add_topic("t", 1)
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        given = settings("warehouse=/nowhere", f"kafka.bootstrap_servers={servers}")
        context: Any = SimpleNamespace(settings=given, clock=CLOCK, warehouse=None)
        lock = SimpleNamespace(cluster="default")
        monkeypatch.setattr(snapshot, "snapshot_lock", lambda *_: nullcontext(lock))
        monkeypatch.setattr(snapshot, "published", lambda *_: earlier)
        if published_for != "other":
            assert take_snapshot(context, "default", NOON_MS, RequestStats(), Heard()) == earlier
            return
        expected = (
            "cluster default is published as first for the Kafka cluster other, and this is fake: give each a name"
        )
        with pytest.raises(SnapshotExists, match=expected):
            take_snapshot(context, "default", NOON_MS, RequestStats(), Heard())


def selected(lake: Path, statement: str) -> list[tuple[object, ...]]:
    with rows_of(lake, statement) as rows:
        return [tuple(row.values()) for batch in rows.batches for row in batch.to_pylist()]


def test_a_cluster_that_does_not_answer_costs_no_spark(tmp_path: Path) -> None:
    """No warehouse is opened, so no session of Spark is started."""
    lake = tmp_path / "lake"
    context = RunContext("snapshot", settings(f"warehouse={lake}", "kafka.bootstrap_servers=127.0.0.1:1"), CLOCK)
    heard = Heard()
    with pytest.raises(ConnectionFailed):
        take_snapshot(context, "default", NOON_MS, RequestStats(), heard)
    assert (heard.cluster_id, heard.steps, lake.exists()) == (None, [], False)
