"""Lag of a snapshot lies between the bounds that consumers and Kafka gave before and after it."""

import pytest

from kafka_lagoon.topic_partition import TopicPartition
from tests.proof.evidence import LagRow
from tests.proof.soak.bounds import Answer, Commit, Observed, Period, Span, between, wrong_rows

ORDERS = TopicPartition("orders", 0)
SNAPSHOT = Period(1_000, 2_000)
GROUP = "readers"


def observed() -> Observed:
    """Return what was observed while the end went from 100 to 120 during the snapshot, and the commit from 60 to 70."""
    kept = Observed()
    kept.starts[ORDERS] += [Answer(500, 510, 0), Answer(2_100, 2_110, 5)]
    kept.ends[ORDERS] += [
        Answer(500, 510, 90),
        Answer(900, 910, 100),
        Answer(1_500, 1_510, 110),
        Answer(2_000, 2_010, 120),
    ]
    kept.ends[ORDERS] += [Answer(3_000, 3_010, 400)]
    kept.commits[GROUP, ORDERS] += [Commit(400, 50, 410), Commit(800, 60, 810), Commit(1_900, 70, 2_050)]
    kept.commits[GROUP, ORDERS] += [Commit(2_500, 300, 2_510)]
    return kept


def row(
    high_watermark: int | None = 110, committed: int | None = 60, lag: int | None = 50, start: int | None = 0
) -> LagRow:
    """Make a row of the snapshot."""
    return LagRow("s1", GROUP, *ORDERS, start, high_watermark, committed, lag)


def wrong(*rows: LagRow, is_complete: bool = True, kept: Observed | None = None) -> list[str]:
    """Return what is wrong with a snapshot of these rows."""
    return list(wrong_rows(rows, kept or observed(), {"s1": SNAPSHOT}, {"s1": is_complete}))


def test_what_is_possible() -> None:
    """Every value from the start to the end of the snapshot is right."""
    for high_watermark in (100, 110, 120):
        for committed in (60, 65, 70):
            assert wrong(row(high_watermark, committed, high_watermark - committed, 5)) == []


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        (row(99, 60, 39), "high_watermark 99"),
        (row(121, 60, 61), "high_watermark 121"),
        (row(110, 59, 51), "committed_offset 59"),
        (row(110, 71, 39), "committed_offset 71"),
        (row(110, 60, 29), "lag 29"),
        (row(110, 60, 61), "lag 61"),
        (row(110, 60, 49), "lag 49 is not 110 - 60"),
        (row(start=6), "log_start_offset 6"),
        (row(None, 60, None), "no high_watermark in a complete snapshot"),
        (row(110, None, None), "no committed_offset in a complete snapshot"),
    ],
)
def test_a_planted_wrong_lag_is_found(planted: LagRow, name: str) -> None:
    """The finding names the snapshot, the group, the partition and the value."""
    assert any(name in text for text in wrong(planted))
    assert all("snapshot s1" in text and "orders-0" in text for text in wrong(planted))


def test_unknown_values() -> None:
    """A partial snapshot may lack values and rows; a complete one may not, once a commit was acknowledged."""
    assert wrong(row(None, None, None, None), is_complete=False) == []
    assert wrong(is_complete=False) == []
    assert wrong() == ["snapshot s1 is complete and has no lag of readers in orders-0"]
    early = observed()
    del early.commits[GROUP, ORDERS][:2]
    assert wrong(row(110, None, None), kept=early) == []
    assert wrong(kept=early) == []


def test_a_commit_without_an_answer() -> None:
    """It may have arrived, or arrive later: then it is possible, as are those after it."""
    kept = observed()
    kept.commits[GROUP, ORDERS].insert(1, Commit(700, 55))
    assert kept.committed(GROUP, ORDERS, SNAPSHOT) == Span(55, 70)
    assert wrong(row(110, 55, 55), kept=kept) == []
    kept.commits[GROUP, ORDERS].append(Commit(1_950, 80))
    assert kept.committed(GROUP, ORDERS, SNAPSHOT) == Span(55, 80)
    later = Period(500_000, 500_100)
    assert kept.committed(GROUP, ORDERS, later) == Span(300, 300)


def test_no_limit_is_known() -> None:
    """Without answers before or after, every value is possible on that side."""
    assert between([], SNAPSHOT) == Span(None, None)
    assert between([Answer(900, 1_100, 7)], SNAPSHOT) == Span(None, None)
    assert wrong(row(high_watermark=1, committed=60, lag=-59), kept=Observed()) == []


def test_a_leader_that_was_replaced() -> None:
    """The old answer of a broker that was paused is no most, although it was requested after the snapshot."""
    kept = Observed()
    kept.commits[GROUP, ORDERS].append(Commit(800, 60, 810))
    kept.ends[ORDERS] += [Answer(900, 910, 100), Answer(2_000, 2_900, 105), Answer(30_000, 30_010, 120)]
    assert wrong(row(110, 60, 50), kept=kept)
    kept.faults.append(Period(1_900, 2_850))
    assert wrong(row(110, 60, 50), kept=kept) == []
    assert wrong(row(121, 60, 61), kept=kept)
    assert between(kept.ends[ORDERS][:2], SNAPSHOT, kept.faults) == Span(100, None)


def test_a_snapshot_that_nobody_made() -> None:
    """A published snapshot without a run is wrong."""
    assert list(wrong_rows([], Observed(), {}, {"s2": True})) == ["snapshot s2: no run has made it"]
