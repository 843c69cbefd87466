"""Maintenance makes the pending commits of runs that died, except in a dry run, and removes old snapshots of real runs."""

import shutil
from pathlib import Path

import pytest

from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.job_settings import RetentionSettings
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.maintain import maintain_table
from kafka_lagoon.runs.snapshot import take_snapshot
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK, clock_at
from tests.delta.dated import ids_in, moment, shown
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.ingest.writers import Died, contents, dies, folder, ingest, kernel_writer
from tests.runs.heard import Heard
from tests.warehouses import settings


@pytest.mark.spark
def test_pending_commits_come_first(warehouse: Warehouse) -> None:
    """A run died between its commits: a dry run leaves its ranges pending, maintenance of the archive commits them."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(kernel_writer(warehouse), 1, 5)
    maintain_table(warehouse, "record_problems", MaintainOptions(dry_run=True), CLOCK)
    assert contents(warehouse) == (list(range(5)), [], [])
    assert maintain_table(warehouse, "record_problems", MaintainOptions(), CLOCK).table == "record_problems"
    assert contents(warehouse) == (list(range(5)), [(0, 5)], [0])


@pytest.mark.spark
def test_other_tables_do_not_depend_on_records(warehouse: Warehouse) -> None:
    """A table records that is gone is trouble of the archive alone."""
    shutil.rmtree(folder(warehouse) / "records")
    assert maintain_table(warehouse, "topics", MaintainOptions(), CLOCK).table == "topics"
    with pytest.raises(TableError, match="records"):
        maintain_table(warehouse, "record_ranges", MaintainOptions(), CLOCK)


def taken(lake: Path, state: FakeCluster, days_ago: int, time: str) -> str:
    """Take a snapshot of these brokers as if some days ago, and return its id."""
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    chosen = settings(f"warehouse={lake}", f"kafka.bootstrap_servers={servers}")
    then = moment(days_ago, time)
    context = RunContext("snapshot", chosen, clock_at(then))
    made = take_snapshot(context, "default", round(then.timestamp() * 1000), RequestStats(), Heard())
    assert isinstance(made, Snapshot)
    return made.header.snapshot_id


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_snapshots_as_runs_take_them(tmp_path: Path, warehouse: Warehouse) -> None:
    """Kept snapshots have all their rows in all tables, including rows that they share with removed ones."""
    state, names = FakeCluster(), [table.name for table in STATE_TABLES]
    state.add_topic("t", 2)
    with fake_cluster(state):
        goes = [taken(tmp_path / "warehouse", state, 10, "10:00")]
        stays = [taken(tmp_path / "warehouse", state, 9, "10:00")]
        state.add_topic("u", 3)
        goes.append(taken(tmp_path / "warehouse", state, 9, "10:20"))
        stays += [taken(tmp_path / "warehouse", state, 9, "11:00"), taken(tmp_path / "warehouse", state, 0, "00:00")]
    before = shown(warehouse, names)
    assert set(before) == {*goes, *stays}
    retention = RetentionSettings(snapshots_all_days=1, snapshots_hourly_days=9, snapshots_daily_days=9)
    options = MaintainOptions(retention=retention, keep_hours=0, force=True)
    done = {one.table: one.old.rows for one in maintain(warehouse, options, CLOCK)}
    assert shown(warehouse, names) == {name: before[name] for name in stays}
    assert [ids_in(warehouse, name) & set(goes) for name in names if name != "configs"] == [set()] * (len(names) - 1)
    assert ids_in(warehouse, "configs") & set(goes) == {goes[1]}  # the snapshot at 11:00 refers to its rows
    assert done["snapshots"] == 2
    assert done["partitions"] == 2 + 5
    assert not any(one.old.rows for one in maintain(warehouse, options, CLOCK))
