"""A warehouse for the report: one cluster with a gap in its snapshots, hostile names and every kind of lag, and another."""

from collections.abc import Iterator

from kafka_lagoon.tables import cluster_rows, group_rows, snapshot_rows
from kafka_lagoon.tables.cluster_rows import StoredReplicaRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from kafka_lagoon.tables.table_states import table_state
from tests.delta.samples import HOUR_MS, NOON_MS, lag_row, row, snapshot

SCRIPT = "<script>alert(1)</script>"
CLOSING = "</script><img src=x onerror=alert(2)>"
RIGHT_TO_LEFT = "\u202egnp.exe \u05d0\u05d1\u05d2 \x1b[31m"
HUGE = 2**63 - 1
HOURS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17)  # numbers of the snapshots; five are missing
LAST = HOURS[-1]
NOW_MS = NOON_MS + LAST * HOUR_MS + 600_000


def _group(group_id: str, **values: object) -> group_rows.ConsumerGroupRow:
    return row(group_rows.ConsumerGroupRow, group_id=group_id, **{"state": "Stable", "members": 1, **values})


def _facts(hour: int) -> Iterator[object]:
    yield row(cluster_rows.BrokerRow, broker_id=1, host="one", port=9092, is_controller=True, is_fenced=False)
    yield row(cluster_rows.BrokerRow, broker_id=2, host="two", port=9092, is_controller=False, is_fenced=hour == LAST)
    for topic in ("orders", SCRIPT):
        topic_id = topic[:1].upper()
        yield row(cluster_rows.TopicRow, topic=topic, topic_id=topic_id, partitions=2, replication_factor=2)
        for number in (0, 1):
            yield _partition(topic, topic_id, number, is_short=hour >= 9)
            yield _ends(topic, topic_id, number, hour)
            for broker in (1, 2):
                yield _replica(topic, topic_id, number, broker, hour)
    yield row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    yield row(CoverageRow, api="ListGroups", requests=1, answered=1, expected=1, visibility="filtered")
    yield from _groups(hour)


def _partition(topic: str, topic_id: str, number: int, *, is_short: bool) -> cluster_rows.PartitionRow:
    return row(
        cluster_rows.PartitionRow,
        topic=topic,
        topic_id=topic_id,
        partition=number,
        leader_id=1,
        replicas=(1, 2),
        isr=(1,) if is_short else (1, 2),
        is_leaderless=False,
        is_under_replicated=is_short,
        is_under_min_isr=False,
        is_at_min_isr=False,
        is_preferred_leader=True,
    )


def _ends(topic: str, topic_id: str, number: int, hour: int) -> cluster_rows.PartitionOffsetsRow:
    return row(
        cluster_rows.PartitionOffsetsRow,
        topic=topic,
        topic_id=topic_id,
        partition=number,
        log_start_offset=0,
        high_watermark=3_600 * hour,
        last_stable_offset=3_600 * hour,
        read_at_ms=NOON_MS + hour * HOUR_MS,
    )


def _replica(topic: str, topic_id: str, number: int, broker: int, hour: int) -> StoredReplicaRow:
    return row(
        StoredReplicaRow,
        broker_id=broker,
        log_dir="/data",
        topic=topic,
        topic_id=topic_id,
        partition=number,
        size_bytes=1_000_000 * hour,
        offset_lag=0,
        is_future=False,
        total_bytes=1_000_000_000,
        usable_bytes=50_000_000,
    )


def _groups(hour: int) -> Iterator[object]:
    for name in ("billing", SCRIPT, CLOSING, RIGHT_TO_LEFT, "huge", "unknown", "fresh", "caught-up"):
        yield _group(name)
    yield lag_row("billing", "orders", 0, lag=100 * hour, committed_offset=7, time_lag_ms=60_000 * hour, records_lost=0)
    yield lag_row("billing", "orders", 1, lag=hour, committed_offset=7, time_lag_ms=1_000, records_lost=0)
    yield lag_row(SCRIPT, SCRIPT, 0, lag=20, committed_offset=7, time_lag_ms=5_000, records_lost=3)
    yield lag_row(CLOSING, "orders", 0, lag=-2, committed_offset=7, records_lost=0, time_lag_problem="COMMIT_PAST_END")
    yield lag_row(RIGHT_TO_LEFT, "orders", 0, lag=1, committed_offset=7, time_lag_ms=1, records_lost=0)
    yield lag_row("huge", "orders", 0, lag=HUGE, committed_offset=7, time_lag_ms=2, records_lost=0)
    if hour == 5:
        yield lag_row("unknown", "orders", 0, lag=6, committed_offset=7, time_lag_ms=2, records_lost=0)
    else:
        yield lag_row("unknown", "orders", 0, problem="LEADER_NOT_AVAILABLE")
    yield lag_row("unknown", "orders", 1, lag=4, committed_offset=7, time_lag_ms=3, records_lost=0)
    yield lag_row("fresh", "orders", 0, lag_basis="log_start")
    yield lag_row("caught-up", "orders", 0, lag=0, committed_offset=7, records_lost=0)


def _taken(hour: int) -> snapshot_rows.Snapshot:
    failed = row(CollectionFailureRow, api="OffsetFetch", scope=CLOSING, error_name="NOT_COORDINATOR", items=2)
    facts = [*_facts(hour), *([failed] if hour == 3 else [])]
    status = "partial" if hour == 3 else "complete"
    # The brokers that failed have no rows.
    outcomes = [
        table_state(name, "partial" if hour == 5 else "complete", 9, "any") for name in ("log_dirs", "consumer_lag")
    ]
    counts = {"brokers": 2, "topics": 2, "partitions": 4, "groups": 8, "failures": int(hour == 3)}
    return snapshot(
        hour, *facts, status=status, kafka_version_range="4.3", completeness=0.99, tables=tuple(outcomes), **counts
    )


SNAPSHOTS = (
    *map(_taken, HOURS),
    snapshot(LAST, _group("elsewhere"), cluster="second", status="complete", groups=1),
)
