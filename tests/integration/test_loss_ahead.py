"""Times at which a real broker deletes unread records, against the prediction of view loss_ahead."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.unread_positions import Position, UnreadRecords
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_tables import TableQuery
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.integration.producers import Sent, by_librdkafka, create, log_starts
from tests.integration.state import commit

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOPIC, GROUP = "loss-ahead", "stalled"
RETENTION_MS, SEGMENT_MS, CHECK_MS = 10_000, 2_000, 1_000
SLACK_MS = 4_000  # the broker deletes after its check, later on a busy machine


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """A broker that checks for old segments every second."""
    often = {"log.retention.check.interval.ms": str(CHECK_MS), "log.initial.task.delay.ms": "500"}
    with LocalKafka(tmp_path_factory.mktemp("retention"), properties=often) as kafka:
        yield kafka


def captured(broker: LocalKafka) -> Snapshot:
    """Take a snapshot with its time lag."""
    settings, deadline = (
        KafkaSettings(bootstrap_servers=broker.bootstrap_servers),
        Deadline.after(SYSTEM_CLOCK, 60_000),
    )
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:

        def measure(positions: Sequence[Position]) -> UnreadRecords:
            return first_unread(cluster, positions, 1 << 20, deadline)

        return collect(cluster, "real", 1_000, deadline, lambda _, __: None, measure=measure)


def predicted(snapshot: Snapshot) -> dict[str, Any]:
    """Return the view's row of the group."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in STATE_TABLES:
            connection.register(f"given_{table.name}", arrow_table(table, snapshot.header, snapshot.of(table.row)))
        duckdb_engine.create(
            connection,
            {"loss_ahead"},
            lambda table: TableQuery(f"SELECT *, current_date AS snapshot_date FROM given_{table.name}"),
        )
        rows = connection.sql(f"FROM loss_ahead WHERE group_id = '{GROUP}'").to_arrow_table().to_pylist()
    (row,) = rows
    return dict(row)


@pytest.mark.proof
def test_records_are_lost_when_it_was_predicted(broker: LocalKafka) -> None:
    """Not before the first unread record has expired, and at most a segment and a check interval later."""
    create(broker, TOPIC, retention_ms=str(RETENTION_MS), segment_ms=str(SEGMENT_MS))
    for _ in range(8):
        now_ms = time.time_ns() // 1_000_000
        by_librdkafka(broker, TOPIC, [Sent(None, b"v", now_ms)])
        time.sleep(0.5)
    commit(broker.bootstrap_servers, GROUP, {(TOPIC, 0): 0})
    row = predicted(captured(broker))
    assert (row["cleanup_policy"], row["retention_ms"], row["segment_ms"]) == ("delete", RETENTION_MS, SEGMENT_MS)
    assert (row["time_lag_method"], row["evidence"], row["records_lost"]) == ("exact", "retention_ms", 0)
    assert row["seconds_left"] > 0
    while log_starts(broker, [TOPIC])[TOPIC] == 0:
        time.sleep(0.1)
    lost_ms = time.time_ns() / 1e6
    earliest, latest = row["loss_at"].timestamp() * 1000, row["expires_at_latest"].timestamp() * 1000
    assert earliest <= lost_ms <= latest + CHECK_MS + SLACK_MS
    (after,) = [one for one in captured(broker).of(ConsumerLagRow) if one.group_id == GROUP]
    assert after.records_lost == after.log_start_offset
    assert after.records_lost is not None
    assert after.records_lost > 0
    assert after.time_lag_method == "below_log_start"
