"""A partition's position against its log: the next range always joins the range before."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.fetch.leader_epochs import Divergence, EpochRange
from kafka_lagoon.fetch.ranges import (
    LOG_TRUNCATED,
    LogBounds,
    PlannedRange,
    Position,
    limited,
    next_range,
    with_epochs,
)


def log(start: int = 0, end: int = 100) -> LogBounds:
    return LogBounds(log_start_offset=start, high_watermark=end, last_stable_offset=end, end=end)


def planned(number: int, start: int, end: int, log_start: int = 0) -> PlannedRange:
    return PlannedRange(
        topic="t",
        topic_id="id",
        partition=number,
        from_offset=start,
        to_offset=end,
        log_start_offset=log_start,
        stable_end=end,
    )


def test_a_partition_continues_where_it_ended():
    """No event, and the range begins at the position with the epoch of the record before it."""
    events, next_planned = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log())
    assert events == []
    assert next_planned is not None
    assert (next_planned.from_offset, next_planned.to_offset, next_planned.first_readable, next_planned.last_epoch) == (
        40,
        100,
        40,
        3,
    )


def test_nothing_new_is_no_range():
    """A partition that has not grown costs no task and no row."""
    assert next_range("t", "id", 0, Position(next_offset=100), log()) == ([], None)


def test_retention_that_overtook_us_is_part_of_the_range():
    """The range begins at the position, not at the log's start: the offsets between are lost, and counted."""
    _, next_planned = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log(start=60))
    assert next_planned is not None
    assert (next_planned.from_offset, next_planned.first_readable) == (40, 60)
    assert next_planned.last_epoch == -1  # the record before offset 60 is not the one whose epoch we know


def test_everything_lost():
    """A log whose start has passed the planned end leaves nothing to read, and the range says so."""
    assert planned(0, 10, 50, log_start=70).first_readable == 50


def test_a_truncated_log_goes_back_first():
    """The event runs from the position back to the divergence, the range from there on: they join."""
    position = Position(next_offset=10, leader_epoch=2, epochs=(EpochRange(1, 0, 6), EpochRange(2, 6, 10)))
    events, next_planned = next_range("t", "id", 0, position, log(end=20), Divergence(5, 1))
    assert [(one.problem, one.from_offset, one.to_offset, one.leader_epoch) for one in events] == [
        (LOG_TRUNCATED, 10, 5, 1)
    ]
    assert next_planned is not None
    assert (next_planned.from_offset, next_planned.last_epoch, next_planned.epochs) == (5, 1, ((1, 0, 5),))


def test_a_log_truncated_to_nothing():
    """There is no record before offset 0, so nothing is read of one and no later truncation goes back behind it."""
    position = Position(next_offset=1, leader_epoch=1, epochs=(EpochRange(1, 0, 1),)).back_at(Divergence(0, 1))
    assert (position.read_epochs, position.last_epoch) == ((), -1)


def test_the_epoch_before_a_position():
    """Where compaction has left nothing at the end of what was read, the record before is not the last one read."""
    read = (EpochRange(1, 0, 6),)
    assert Position(next_offset=6, leader_epoch=1, epochs=read).last_epoch == 1
    assert Position(next_offset=9, leader_epoch=1, epochs=read).last_epoch == -1
    assert Position(next_offset=9, leader_epoch=1).last_epoch == 1
    assert Position(next_offset=9).last_epoch == -1


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20),
    st.integers(1, 10**7),
)
def test_a_limit_is_shared_by_backlog(spans: list[tuple[int, int]], most: int):
    """Ranges span the limit together, none goes beyond its end, and each with a backlog gets some."""
    ranges = [planned(number, start, start + length) for number, (start, length) in enumerate(spans)]
    cut = limited(ranges, most)
    assert [one.partition for one in cut] == [one.partition for one in ranges]
    assert all(one.to_offset <= whole.to_offset for one, whole in zip(cut, ranges, strict=True))
    assert all(one.offsets > 0 for one, whole in zip(cut, ranges, strict=True) if whole.offsets)
    assert sum(one.offsets for one in cut) <= most + len(ranges)


def test_lost_offsets_do_not_use_up_the_limit():
    """A range of which half is lost is read to the same number of offsets as one that is whole."""
    lost, whole = limited([planned(0, 0, 300, log_start=200), planned(1, 0, 100)], 100)
    assert (lost.to_offset, whole.to_offset) == (250, 50)


def test_the_last_epochs_are_kept():
    """An epoch that goes on is one with its new end; only the last ones are kept."""
    known = (EpochRange(1, 0, 5), EpochRange(2, 5, 7))
    assert with_epochs(known, [EpochRange(2, 7, 9), EpochRange(3, 9, 12)]) == ((1, 0, 5), (2, 5, 9), (3, 9, 12))
    assert with_epochs((), [EpochRange(n, n, n + 1) for n in range(9)], keep=2) == ((7, 7, 8), (8, 8, 9))
