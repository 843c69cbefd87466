"""The one line that a person reads."""

from pipeline.cli.summary import snapshot_line
from pipeline.snapshot.rows import ConsumerLagRow, Snapshot, SnapshotHeader, SnapshotRow


def lag(group_id: str, value: int | None) -> ConsumerLagRow:
    unknown = dict.fromkeys(ConsumerLagRow.__slots__)
    return ConsumerLagRow(**{**unknown, "group_id": group_id, "topic": "orders", "partition": 3, "lag": value})


def line(rows: list[ConsumerLagRow], failures: int = 0) -> str:
    told = dict.fromkeys(SnapshotRow.__slots__, 0)
    published = SnapshotRow(
        **{**told, "brokers": 3, "topics": 12, "partitions": 1_048, "groups": 9, "failures": failures}
    )
    header = SnapshotHeader(snapshot_id="s", cluster="prod", cluster_id="abc", captured_at_ms=0)
    snapshot = Snapshot(header=header, rows={SnapshotRow: [published], ConsumerLagRow: rows})
    return snapshot_line(snapshot, "/lake", 6.14)


def test_sizes_and_worst_lag() -> None:
    """The largest known lag, with its group and partition."""
    assert line([lag("a", 5), lag("b", 1_500), lag("c", -9)]) == (
        "prod (abc): 3 brokers, 12 topics, 1,048 partitions, 9 groups, worst lag 1,500 (group b, orders-3); "
        "tables in /lake (6.1 s)"
    )


def test_what_is_unknown_is_said() -> None:
    """Unknown lag and failures are not silent."""
    told = line([lag("a", 5), lag("b", None)], failures=2)
    assert "lag unknown for 1 of 2" in told
    assert "INCOMPLETE: 2 failures" in told
    assert "no lag known" in line([lag("a", None)])


def test_hostile_names_do_not_steer_the_terminal() -> None:
    """Control characters in a group's name are spelled out."""
    assert "\x1b" not in line([lag("\x1b[2J", 1)])
