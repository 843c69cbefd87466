"""The time lag in rows of consumer lag: which positions are requested, and the method for each answer."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.unread_positions import (
    BUDGET_USED_UP,
    FirstUnread,
    FirstUnreadOutcome,
    Position,
    UnreadRecords,
    not_read,
)
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.time_lag import Limited, local_starts, with_time_lag
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.row_columns import Joined
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.delta.samples import lag_row, row
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Altered, Fault
from tests.fetch.test_first_unread import timed
from tests.nulls import unexplained_of
from tests.short_timeouts import short_timeouts

NOW = 50_000
RECORD = FirstUnread(outcome=FirstUnreadOutcome.RECORD, offset=5, timestamp_ms=49_000, timestamp_type=0, read_at_ms=NOW)


def behind(**values: Any) -> ConsumerLagRow:
    """Make a row at offset 5 of a log from 0 to 9."""
    given = {
        "committed_offset": 5,
        "log_start_offset": 0,
        "high_watermark": 9,
        "last_stable_offset": 9,
        "lag": 4,
        **values,
    }
    return lag_row(given.pop("group_id", "g"), "t", given.pop("partition", 0), **given)


def timed_rows(
    rows: Sequence[ConsumerLagRow],
    answer: FirstUnread | None,
    *,
    epochs: Sequence[int | None] = (),
    tiered: dict[TopicPartition, int] | None = None,
) -> tuple[list[ConsumerLagRow], list[Position]]:
    """Return the rows with the same answer for each position, and the requested positions."""
    positions: list[Position] = []

    def measure(several: Sequence[Position]) -> UnreadRecords:
        positions.extend(several)
        return UnreadRecords(first=dict.fromkeys(several, answer), failures=(), bytes_fetched=0)

    given = Joined(ConsumerLagRow, list(rows))
    result = with_time_lag(given, epochs or [None] * len(rows), tiered or {}, measure if answer else None)
    return list(result.rows), positions


def columns(lag: ConsumerLagRow) -> tuple[Any, ...]:
    return (
        lag.time_lag_ms,
        lag.time_lag_method,
        lag.first_unread_timestamp_ms,
        lag.time_lag_problem,
        lag.first_unread_offset,
        lag.first_unread_timestamp_type,
    )


@pytest.mark.parametrize(
    ("changes", "answer", "expected"),
    [
        ({}, {}, (1_000, "exact", 49_000, None, 5, "create_time")),
        ({}, {"offset": 7}, (1_000, "next_after_gap", 49_000, None, 7, "create_time")),
        ({}, {"timestamp_type": 1}, (1_000, "exact", 49_000, None, 5, "log_append_time")),
        ({}, {"timestamp_ms": 60_000}, (-10_000, "exact", 60_000, None, 5, "create_time")),
        ({}, {"timestamp_ms": -1, "timestamp_type": -1}, (None, "exact", None, "NO_TIMESTAMP", 5, None)),
        ({}, {"timestamp_ms": NOW - 2**63 + 1}, (2**63 - 1, "exact", NOW - 2**63 + 1, None, 5, "create_time")),
        ({}, {"timestamp_ms": -(2**63)}, (None, "exact", -(2**63), "TIMESTAMP_OUT_OF_RANGE", 5, "create_time")),
        ({"log_start_offset": 7}, {"offset": 7}, (1_000, "below_log_start", 49_000, None, 7, "create_time")),
        (
            {"last_stable_offset": 5},
            {"is_blocked": True},
            (1_000, "blocked_by_open_transaction", 49_000, None, 5, "create_time"),
        ),
        ({}, {"outcome": FirstUnreadOutcome.NOTHING}, (0, "caught_up", None, None, None, None)),
        (
            {"log_start_offset": 9},
            {"outcome": FirstUnreadOutcome.NOTHING},
            (0, "below_log_start", None, None, None, None),
        ),
        (
            {},
            {"outcome": FirstUnreadOutcome.BOUND, "offset": None, "timestamp_type": None},
            (1_000, "batch_bound", 49_000, None, None, None),
        ),
        (
            {},
            {"outcome": FirstUnreadOutcome.INTERPOLATED, "offset": None, "timestamp_type": None},
            (1_000, "interpolated", 49_000, None, None, None),
        ),
        (
            {},
            {"outcome": FirstUnreadOutcome.UNREADABLE, "problem": "LOG_TRUNCATED"},
            (None, "unreadable", None, "LOG_TRUNCATED", None, None),
        ),
        (
            {},
            {"outcome": FirstUnreadOutcome.NOT_READ, "problem": "TIME_LAG_BUDGET_USED_UP"},
            (None, "not_measured", None, "TIME_LAG_BUDGET_USED_UP", None, None),
        ),
    ],
)
def test_each_method(changes: dict[str, Any], answer: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """The method follows from the row and the answer for its position."""
    fields = {name: getattr(RECORD, name) for name in FirstUnread.__dataclass_fields__}
    (lag,), _ = timed_rows([behind(**changes)], FirstUnread(**{**fields, **answer}))
    assert columns(lag) == expected


def test_what_needs_no_request() -> None:
    """No lag, a commit past the end, an unknown lag, and tiered storage need no request; switched off, no row does."""
    rows = [
        behind(lag=0, committed_offset=9),
        behind(lag=-3, committed_offset=12),
        behind(lag=None, committed_offset=None),
        behind(),
    ]
    given, positions = timed_rows(rows, RECORD, tiered={TopicPartition("t", 0): 6})
    assert not positions
    assert [columns(one)[:4] for one in given] == [
        (0, "caught_up", None, None),
        (None, "unreadable", None, "COMMIT_PAST_END"),
        (None, None, None, None),
        (None, "not_measured", None, "IN_TIERED_STORAGE"),
    ]
    off, _ = timed_rows(rows, None)
    assert [(one.time_lag_method, one.time_lag_problem) for one in off] == [
        ("caught_up", None),
        ("unreadable", "COMMIT_PAST_END"),
        (None, None),
        ("not_measured", "TIME_LAG_OFF"),
    ]


def test_positions_are_asked_about_once_the_largest_lag_first() -> None:
    """Groups at the same offset share a position; if the record at the commit is deleted, the position has no leader epoch."""
    rows = [
        behind(group_id="a"),
        behind(group_id="b"),
        behind(group_id="c", committed_offset=1, lag=8, log_start_offset=3),
        behind(group_id="d", partition=1, committed_offset=8, lag=1, last_stable_offset=8),
    ]
    _, positions = timed_rows(rows, RECORD, epochs=[4, 4, 2, None])
    assert positions == [
        Position("t", 0, 3, -1, False, 9),
        Position("t", 0, 5, 4, False, 9),
        Position("t", 1, 8, -1, True, 9),
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=30), st.integers(1, 12))
def test_a_limit_measures_what_sorting_all_positions_would(commits: list[tuple[int, int]], most: int) -> None:
    """If there are too many positions, those with the largest lag are measured, and all rows are as without the limit."""
    rows = [
        behind(group_id=f"g{number}", partition=partition, committed_offset=offset, lag=9 - offset, log_start_offset=2)
        for number, (partition, offset) in enumerate(commits)
    ]
    requested: list[list[Position]] = []

    def measure(positions: Sequence[Position]) -> UnreadRecords:
        requested.append(list(positions)[:most])
        first = not_read(positions, BUDGET_USED_UP) | dict.fromkeys(requested[-1], RECORD)
        return UnreadRecords(first=first, failures=(), bytes_fetched=0)

    several = Joined(ConsumerLagRow, rows)
    every, limited = (
        list(with_time_lag(several, [None] * len(rows), {}, one).rows) if rows else []
        for one in (measure, Limited(measure, most))
    )
    assert limited == every
    assert requested[:1] == requested[1:]


def test_tiered_storage_is_known_from_the_offsets() -> None:
    """These are partitions of which the leader has only the newer part on its own disk."""
    offsets = [
        row(PartitionOffsetsRow, topic="t", partition=number, log_start_offset=3, local_log_start_offset=local)
        for number, local in enumerate((3, 8, None))
    ]
    assert local_starts(offsets) == {TopicPartition("t", 1): 8}


@pytest.mark.parametrize("most", [None, 2])
def test_beside_tiered_storage_records_are_read(most: int | None) -> None:
    """Offsets from the local start on, and those of other partitions, are measured, also where the number is limited."""
    requested: list[Position] = []

    def measure(positions: Sequence[Position]) -> UnreadRecords:
        requested.extend(positions)
        return UnreadRecords(first=dict.fromkeys(positions, RECORD), failures=(), bytes_fetched=0)

    rows = [
        behind(group_id="a", committed_offset=offset, lag=9 - offset, partition=partition)
        for partition, offset in ((0, 4), (0, 5), (0, 6), (1, 7))
    ]
    tiered = {TopicPartition("t", 0): 6}
    given = Joined(ConsumerLagRow, rows)
    timed_lag = with_time_lag(given, [None] * 4, tiered, measure if most is None else Limited(measure, most))
    problems = [one.time_lag_problem for one in timed_lag.rows]
    assert problems == ["IN_TIERED_STORAGE", "IN_TIERED_STORAGE", None, None]
    assert [(one.partition, one.offset) for one in requested] == [(0, 6), (1, 7)]


def captured(state: FakeCluster) -> Snapshot:
    """Take a snapshot with time lag, fetched by the driver."""
    with fake_cluster(state):
        deadline = Deadline.after(CLOCK, 8_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:

            def measure(positions: Sequence[Position]) -> UnreadRecords:
                return first_unread(cluster, positions, 1 << 20, deadline)

            return collect(cluster, "test", 1_000, deadline, lambda _, __: None, measure=measure)


def test_a_snapshot_with_time_lag() -> None:
    """Rows have the time lag, its requests are in coverage, nulls have reasons; failures leave the snapshot complete."""
    state = FakeCluster()
    topic = state.add_topic("t", 3, end=0)
    for partition in topic.partitions:
        partition.append(timed(0, 1_000, 4), timed(4, 1_040, 6))
    topic.partitions[2].log[0].data = b"\0" * 100
    commits = {("t", number): FakeCommit(offset) for number, offset in enumerate((3, 10, 0))}
    state.groups["g"] = FakeGroup(coordinator_id=1, commits=commits)
    snapshot = captured(state)
    rows = {one.partition: one for one in snapshot.of(ConsumerLagRow)}
    assert (rows[0].time_lag_method, rows[0].first_unread_timestamp_ms) == ("exact", 1_030)
    assert (rows[1].time_lag_method, rows[1].time_lag_ms) == ("caught_up", 0)
    assert (rows[2].time_lag_method, rows[2].time_lag_problem) == ("unreadable", "CORRUPT_BATCH")
    assert sum(one.requests for one in snapshot.of(CoverageRow) if one.api == "Fetch") == 2
    assert snapshot.published.status == "complete"
    assert unexplained_of(snapshot) == []


def test_without_the_permission_to_read() -> None:
    """The snapshot is complete; each row has the refusal, and so has one row of collection_failures."""

    def refused(response: Any) -> Any:
        for topic in response.responses:
            for partition in topic.partitions:
                partition.error_code, partition.records = 29, None
        return response

    state = FakeCluster()
    for partition in state.add_topic("t", 3, end=0).partitions:
        partition.append(timed(0, 1_000, 4))
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("t", number): FakeCommit(1) for number in range(3)})
    state.faults += [Fault(FETCH.key, Altered(refused)) for _ in range(3)]
    snapshot = captured(state)
    rows = {(one.time_lag_method, one.time_lag_problem) for one in snapshot.of(ConsumerLagRow)}
    assert rows == {("unreadable", "TOPIC_AUTHORIZATION_FAILED")}
    failures = [(one.api, one.error_name, one.topic, one.items) for one in snapshot.of(CollectionFailureRow)]
    assert failures == [("Fetch", "TOPIC_AUTHORIZATION_FAILED", "t", 1)] * 3
    assert snapshot.published.status == "complete"
    assert unexplained_of(snapshot) == []
