"""The summary line of a snapshot."""

from collections.abc import Sequence

import pytest

from kafka_lagoon.cli.summary import snapshot_line, worst_lag
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, Snapshot, SnapshotHeader, SnapshotRow
from tests.delta.samples import lag_row
from tests.delta.samples import snapshot as stored_snapshot

REPLICAS = (1, 2, 3)
SIZES = "12 topics, 1,048 partitions, 9 groups, no lag known; tables in /lake (6.1 s)"


def lag(group_id: str, value: int | None) -> ConsumerLagRow:
    unknown = dict.fromkeys(ConsumerLagRow.__slots__)
    return ConsumerLagRow(**{**unknown, "group_id": group_id, "topic": "orders", "partition": 3, "lag": value})


def broker(broker_id: int, is_fenced: bool | None = False) -> BrokerRow:
    return BrokerRow(**{**dict.fromkeys(BrokerRow.__slots__), "broker_id": broker_id, "is_fenced": is_fenced})


def partition(**changed: bool) -> PartitionRow:
    healthy = {"is_under_replicated": False, "is_leaderless": False, "is_under_min_isr": False, "replicas": REPLICAS}
    return PartitionRow(**{**dict.fromkeys(PartitionRow.__slots__), **healthy, **changed})


BROKERS = [broker(number) for number in REPLICAS]
UNDER, LEADERLESS = partition(is_under_replicated=True), partition(is_leaderless=True, is_under_replicated=True)
UNKNOWN = PartitionRow(**dict.fromkeys(PartitionRow.__slots__))


def failure(error_name: str, api: str) -> CollectionFailureRow:
    return CollectionFailureRow(
        **{**dict.fromkeys(CollectionFailureRow.__slots__), "error_name": error_name, "api": api}
    )


def line(
    rows: list[ConsumerLagRow],
    failures: int = 0,
    status: str = "complete",
    brokers: list[BrokerRow] | None = None,
    partitions: list[PartitionRow] | None = None,
    failed: Sequence[CollectionFailureRow] = (),
) -> str:
    counts = dict.fromkeys(SnapshotRow.__slots__, 0)
    published = SnapshotRow(
        **{
            **counts,
            "brokers": 3,
            "topics": 12,
            "partitions": 1_048,
            "groups": 9,
            "failures": failures,
            "status": status,
        }
    )
    header = SnapshotHeader(snapshot_id="s", cluster="prod", cluster_id="abc", captured_at_ms=0)
    facts = {BrokerRow: brokers or BROKERS, PartitionRow: partitions or [partition()], CollectionFailureRow: failed}
    snapshot = Snapshot(header=header, rows={SnapshotRow: [published], ConsumerLagRow: rows, **facts})
    return snapshot_line(snapshot, "/lake", 6.14)


@pytest.mark.parametrize(
    ("brokers", "partitions", "expected"),
    [
        (BROKERS, [UNKNOWN, partition()], "3 brokers"),
        ([broker(1, None), *BROKERS[1:]], [partition()], "3 brokers"),
        (
            [broker(1, True), *BROKERS[1:]],
            [UNDER] * 44,
            "1 of 3 brokers fenced, 44 partitions under-replicated, 0 leaderless",
        ),
        ([broker(1, True), *BROKERS[1:]], [], "1 of 3 brokers fenced, 0 partitions under-replicated, 0 leaderless"),
        (
            [broker(1, None)],
            [UNDER, LEADERLESS],
            "2 of 3 brokers missing, 2 partitions under-replicated, 1 leaderless",
        ),
        (
            [broker(1, True), broker(2)],
            [UNDER, partition()],
            "1 of 3 brokers fenced, 1 missing, 1 partition under-replicated, 0 leaderless",
        ),
        (
            BROKERS,
            [partition(is_under_min_isr=True, is_under_replicated=True), UNKNOWN],
            "3 brokers, 1 partition under-replicated, 0 leaderless, 1 partition with fewer in sync than min.insync.replicas",
        ),
    ],
)
def test_an_outage_is_printed(brokers: list[BrokerRow], partitions: list[PartitionRow], expected: str) -> None:
    """Brokers that are down and affected partitions come first; they are missing for a healthy cluster."""
    assert line([], brokers=brokers, partitions=partitions) == f"prod (abc): {expected}, {SIZES}"


def test_sizes_and_worst_lag() -> None:
    """The line has the largest known lag, with its group and partition."""
    assert line([lag("a", 5), lag("b", 1_500), lag("c", -9)]) == (
        "prod (abc): 3 brokers, 12 topics, 1,048 partitions, 9 groups, worst lag 1,500 (group b, orders-3); "
        "tables in /lake (6.1 s)"
    )


def test_what_is_unknown_is_said() -> None:
    """The line reports unknown lag and failures."""
    printed = line([lag("a", 5), lag("b", None)], failures=2, status="partial")
    assert "lag unknown for 1 of 2" in printed
    assert "INCOMPLETE: 2 failures" in printed
    complete = line([lag("a", 5)], failures=1)
    assert ", 1 failure, see table collection_failures; tables in" in complete
    assert "doctor" not in complete
    assert "INCOMPLETE" not in complete
    assert "no lag known" in line([lag("a", None)])


def test_a_partition_without_a_commit_is_not_unknown() -> None:
    """Its lag is null, and counts as unknown nowhere: not in `lagoon lag`, metrics and limits, and not here."""
    uncommitted = lag_row("b", "orders", 0, lag=None, lag_basis="log_start", problem="NO_COMMIT")
    assert "unknown" not in line([lag("a", 5), uncommitted])
    unread = lag_row("c", "orders", 0, lag=None, lag_basis="unknown", problem="LEADER_NOT_AVAILABLE")
    assert "lag unknown for 1 of 3" in line([lag("a", 5), uncommitted, unread])


def test_the_commonest_causes_are_named() -> None:
    """Two errors have their counts and APIs, the other errors are counted, and lagoon doctor says what to do."""
    rows = [
        *(
            failure("CLUSTER_AUTHORIZATION_FAILED", api)
            for api in ("DescribeAcls", "DescribeQuorum", "DescribeAcls", "Zed")
        ),
        failure("TOPIC_AUTHORIZATION_FAILED", "Metadata"),
        failure("CONNECTION_FAILED", "Fetch"),
        failure("CONNECTION_FAILED", "DescribeLogDirs"),
    ]
    assert "INCOMPLETE: 7 failures (4 CLUSTER_AUTHORIZATION_FAILED of DescribeAcls, DescribeQuorum and 1 more; " in (
        printed := line([], failures=7, status="partial", failed=rows)
    )
    assert (
        "; 2 CONNECTION_FAILED of DescribeLogDirs and Fetch; 1 other error), see table collection_failures; " in printed
    )
    assert printed.endswith("; lagoon doctor checks connections and permissions")
    assert "INCOMPLETE: 1 failure (1 CONNECTION_FAILED of Fetch), see" in line(
        [], failures=1, status="partial", failed=rows[5:6]
    )


def test_hostile_names_do_not_steer_the_terminal() -> None:
    """Control characters in a group's name are escaped."""
    assert "\x1b" not in line([lag("\x1b[2J", 1)])


def test_the_worst_lag_is_the_largest_known() -> None:
    """Rows without a lag do not count; a snapshot without any lag has none."""
    lags = [lag_row("g", "t", 0, lag=5), lag_row("g", "t", 1, lag=None), lag_row("h", "t", 0, lag=7)]
    worst = worst_lag(stored_snapshot(1, *lags))
    assert worst is not None
    assert (worst.group_id, worst.lag) == ("h", 7)
    assert worst_lag(stored_snapshot(1, lag_row("g", "t", 0, lag=None))) is None
