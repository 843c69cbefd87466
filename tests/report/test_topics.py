"""Throughput, sizes and disks on the page."""

from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.charts import Reading
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.report.topics import Disk, disks_of, flow_of, size_history, topics_of
from kafka_lagoon.tables.cluster_rows import PartitionRow, StoredReplicaRow, TopicRow
from kafka_lagoon.tables.table_states import table_state
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, row, snapshot
from tests.report.history import HOURS, LAST, SCRIPT


@pytest.mark.long
def test_topics(scope: Scope) -> None:
    """Two partitions get one record per second each; four replicas grow by a megabyte per hour."""
    topics = {one.topic: one for one in topics_of(scope)}
    assert set(topics) == {"orders", SCRIPT}
    orders = topics["orders"]
    assert (orders.records_per_second, orders.partitions, orders.replication_factor) == (2.0, 2, 2)
    assert (orders.size_bytes, orders.size_change) == (4_000_000 * LAST, 4_000_000 * (LAST - 1))
    assert orders.remark() == ""


@pytest.mark.long
def test_flow_over_time(scope: Scope) -> None:
    """The first snapshot has no rate, because there is none before it: it is not drawn, rather than zero."""
    flow = flow_of(scope, topics_of(scope))
    assert flow.by_topic["orders"] == [None, *[Reading(2.0)] * (len(HOURS) - 1)]
    assert flow.records[1:] == [Reading(4.0)] * (len(HOURS) - 1)


@pytest.mark.long
def test_disks(scope: Scope) -> None:
    """A directory has four replicas; its volume is 95 % full, including other files."""
    first, second = disks_of(scope)
    assert (first.broker_id, second.broker_id) == (1, 2)
    assert (first.size_bytes, first.growth) == (4_000_000 * LAST, 4_000_000 * (LAST - 1))
    assert first.used_share == 0.95
    span_ms = scope.axis.until_ms - scope.axis.from_ms
    assert first.full_in_ms(span_ms) == 12.5 * 3_600_000  # 50 MB at 4 MB per hour
    sizes = size_history(scope)
    assert sizes[0] == Reading(8_000_000)
    assert [one and one.is_partial for one in sizes] == [hour == 5 for hour in HOURS]


@pytest.mark.long
def test_files_of_a_former_replica_are_none_of_the_topic(tmp_path: Path) -> None:
    """They stand for no replica whose size is not known, as here that of broker 2, and are not in the sum."""
    facts = [
        row(TopicRow, topic="orders", partitions=1, replication_factor=2),
        row(PartitionRow, topic="orders", partition=0, replicas=(1, 2), isr=(1, 2)),
        *(
            row(
                StoredReplicaRow,
                broker_id=broker,
                log_dir="/d",
                topic="orders",
                partition=0,
                size_bytes=9,
                is_future=False,
            )
            for broker in (1, 3)
        ),
    ]
    of_second = row(
        StoredReplicaRow, broker_id=2, log_dir="/d", topic="orders", partition=0, size_bytes=9, is_future=False
    )
    lake = make_lake(tmp_path, [snapshot(1, *facts), snapshot(2, *facts, of_second)])
    relations = {"snapshots", "topics_published", "topic_throughput", "partitions_published", "log_dirs_published"}
    with opened(lake, relations) as ask:
        for slot, wanted in ((1, None), (2, 18)):
            (scope,) = scopes(ask, None, NOON_MS + slot * HOUR_MS, 24)
            assert [(one.size_bytes, one.size_change) for one in topics_of(scope)] == [(wanted, None)]


@pytest.mark.long
def test_a_snapshot_without_log_dirs_has_an_unknown_size(tmp_path: Path) -> None:
    """Where no broker returned its log directories the bytes are unknown; where settings left them out there are none."""
    outcomes = {1: "failed", 2: "skipped"}
    made = [snapshot(hour, tables=(table_state("log_dirs", outcomes[hour], 0, "any"),)) for hour in outcomes]
    with opened(make_lake(tmp_path, made), {"snapshots", "log_dirs_published", "table_states"}) as ask:
        assert size_history(scopes(ask, None, None, 24)[0]) == [Reading(None), None]


def test_no_estimate_of_a_directory_that_has_failed_or_of_minutes() -> None:
    """The time until the directory is full is unknown, not 0, as is the used share where one of the volume's sizes is."""
    values = {"broker_id": 1, "log_dir": "/d", "total_bytes": None, "problem": "KAFKA_STORAGE_ERROR"}
    failed = Disk(size_bytes=None, earlier_bytes=5, usable_bytes=None, **values)
    assert (failed.growth, failed.used_share, failed.full_in_ms(86_400_000)) == (None, None, None)
    assert Disk(size_bytes=9, earlier_bytes=5, usable_bytes=10, **values).full_in_ms(60_000) is None
    assert Disk(size_bytes=9, earlier_bytes=5, usable_bytes=None, **{**values, "total_bytes": 10}).used_share is None
