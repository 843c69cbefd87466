"""The time lag of a snapshot is measured on the driver, on executors, from earlier snapshots, or not at all."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException

from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.runs import earlier_offsets
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.snapshot import take_snapshot
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow, Snapshot
from tests.clock import CLOCK
from tests.delta.samples import NOON_MS
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Altered, Fault
from tests.fetch.test_first_unread import timed
from tests.runs.heard import Heard
from tests.warehouses import settings

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def cluster() -> FakeCluster:
    """A topic of three partitions with ten records each, and two groups with equal commits."""
    state = FakeCluster()
    for partition in state.add_topic("t", 3, end=0).partitions:
        partition.append(timed(0, 1_000, 4), timed(4, 1_040, 6))
    for group_id in ("a", "b"):
        commits = {("t", number): FakeCommit(number + 2) for number in range(3)}
        state.groups[group_id] = FakeGroup(coordinator_id=1, commits=commits)
    return state


@pytest.fixture
def lake(new_lake: Path, tmp_path: Path) -> Path:
    """The folder of an empty warehouse."""
    return shutil.copytree(new_lake, tmp_path / "lake")


def taken(state: FakeCluster, lake: Path, *slots: int, clock: Clock = CLOCK, **more: str | int) -> list[Snapshot]:
    """Take a snapshot for each slot."""
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        given = [f"snapshot.{name}={value}" for name, value in more.items()]
        context = RunContext(
            "snapshot", settings(f"warehouse={lake}", f"kafka.bootstrap_servers={servers}", *given), clock
        )
        several = list[Snapshot]()
        for slot in slots:
            for partition in state.topics["t"].partitions if slot > NOON_MS else ():
                partition.append(timed(10, 2_000, 10))
            snapshot = take_snapshot(context, "default", slot, RequestStats(), Heard())
            assert isinstance(snapshot, Snapshot)
            several.append(snapshot)
        return several


def answered(snapshot: Snapshot) -> int:
    """Return the number of positions that Fetch was answered for, from table coverage."""
    return sum(one.answered for one in snapshot.of(CoverageRow) if one.api == "Fetch")


@pytest.mark.proof
def test_executors_find_what_the_driver_finds(tmp_path: Path) -> None:
    """Their requests are counted in table coverage, too."""
    (driver,) = taken(cluster(), tmp_path / "driver", NOON_MS)
    (executors,) = taken(cluster(), tmp_path / "executors", NOON_MS, time_lag_executor_positions=1)
    for snapshot in (driver, executors):
        assert answered(snapshot) == 3
        rows = snapshot.of(ConsumerLagRow)
        assert [(one.group_id, one.time_lag_method, one.first_unread_timestamp_ms) for one in rows] == [
            (group_id, "exact", 1_020 + 10 * number) for group_id in ("a", "b") for number in range(3)
        ]


def test_history_tells_when_offsets_were_written(lake: Path) -> None:
    """The time of a commit is interpolated between two snapshots; before the first one it is unknown.

    Days are those of the run's clock, which is that of last month here, and not those of Spark's session.
    """
    state = cluster()
    state.groups["b"].commits = {("t", 0): FakeCommit(10), ("t", 1): FakeCommit(15)}
    last_month = replace(CLOCK, now_ms=lambda: CLOCK.now_ms() - 30 * 86_400_000)
    earlier, later = taken(state, lake, NOON_MS, NOON_MS + 1, clock=last_month, time_lag="interpolate")
    first, second = earlier.of(ConsumerLagRow), later.of(ConsumerLagRow)
    assert answered(earlier) == answered(later) == 0
    assert {one.time_lag_problem for one in first if one.lag and one.lag > 0} == {"NO_EARLIER_SNAPSHOT"}
    lags = {(one.group_id, one.partition): one for one in second}
    assert {one.time_lag_problem for one in second if one.group_id == "a"} == {"NO_EARLIER_SNAPSHOT"}
    at_the_end, between = lags["b", 0], lags["b", 1]
    assert at_the_end.time_lag_method == between.time_lag_method == "interpolated"
    assert at_the_end.time_lag_ms is not None
    assert between.time_lag_ms is not None
    # Both are ages at the same time, and partitions are read some milliseconds apart, or many on a busy machine.
    read_at_ms = {one.partition: one.read_at_ms for one in earlier.of(PartitionOffsetsRow)}
    assert read_at_ms[0] is not None
    assert read_at_ms[1] is not None
    assert abs(at_the_end.time_lag_ms + read_at_ms[0] - 2 * between.time_lag_ms - read_at_ms[1]) <= 1


@pytest.mark.proof
def test_the_history_of_another_cluster_tells_nothing(lake: Path) -> None:
    """A cluster that was built again under its name has other logs, also where topics have no ids."""
    state = cluster()
    state.groups["b"].commits = {("t", 0): FakeCommit(10), ("t", 1): FakeCommit(15)}
    taken(state, lake, NOON_MS, time_lag="interpolate")
    other = Altered(lambda answer: replace(answer, cluster_id="built-again"))
    state.faults += [Fault(api.key, other, times=1_000) for api in (METADATA, DESCRIBE_CLUSTER)]
    (later,) = taken(state, lake, NOON_MS + 1, time_lag="interpolate")
    rows = [one for one in later.of(ConsumerLagRow) if one.lag and one.lag > 0]
    assert {one.time_lag_problem for one in rows} == {"NO_EARLIER_SNAPSHOT"}


def _unmeasured(lake: Path, **more: str | int) -> Sequence[ConsumerLagRow]:
    (snapshot,) = taken(cluster(), lake, NOON_MS, **more)
    assert answered(snapshot) == 0
    assert snapshot.published.status == "complete"
    return snapshot.of(ConsumerLagRow)


def test_it_can_be_switched_off(lake: Path) -> None:
    """No records are fetched then."""
    rows = _unmeasured(lake, time_lag="off")
    assert {(one.time_lag_method, one.time_lag_problem) for one in rows} == {("not_measured", "TIME_LAG_OFF")}


@pytest.mark.proof
def test_executors_and_history_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot is complete without the time lag, and its rows have the reason."""

    def fails(*_: object) -> None:
        raise PySparkException("no executor")

    monkeypatch.setattr(SparkContext, "parallelize", fails)
    rows = _unmeasured(tmp_path / "executors", time_lag_executor_positions=1)
    assert {one.time_lag_problem for one in rows} == {"EXECUTORS_FAILED"}
    monkeypatch.setattr(earlier_offsets, "make_available", fails)
    rows = _unmeasured(tmp_path / "history", time_lag="interpolate")
    assert {one.time_lag_problem for one in rows} == {"HISTORY_UNREADABLE"}
