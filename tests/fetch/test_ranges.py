"""A partition's next offset against its log: each range begins at the end of the one before."""

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
    """There is no event, and the range begins at the next offset with the epoch of the record before it."""
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
    """A partition without new records has no task and no row."""
    assert next_range("t", "id", 0, Position(next_offset=100), log()) == ([], None)


def test_retention_that_overtook_us_is_part_of_the_range():
    """The range begins at the next offset, not at the log's start: the offsets in between are counted as lost."""
    _, next_planned = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log(start=60))
    assert next_planned is not None
    assert (next_planned.from_offset, next_planned.first_readable) == (40, 60)
    assert next_planned.last_epoch == -1  # the record before offset 60 is not the record whose epoch is known


def test_everything_lost():
    """If the log starts after the planned end, nothing is read, and the range has the reason."""
    assert planned(0, 10, 50, log_start=70).first_readable == 50


def test_a_truncated_log_goes_back_first():
    """The event goes back from the next offset to the divergence, and the range begins there."""
    position = Position(next_offset=10, leader_epoch=2, epochs=(EpochRange(1, 0, 6), EpochRange(2, 6, 10)))
    events, next_planned = next_range("t", "id", 0, position, log(end=20), Divergence(5, 1))
    assert [(one.problem, one.from_offset, one.to_offset, one.leader_epoch) for one in events] == [
        (LOG_TRUNCATED, 10, 5, 1)
    ]
    assert next_planned is not None
    assert (next_planned.from_offset, next_planned.last_epoch, next_planned.epochs) == (5, 1, ((1, 0, 5),))


def test_a_log_truncated_to_nothing():
    """There is no record before offset 0, so later truncations cannot go back further."""
    position = Position(next_offset=1, leader_epoch=1, epochs=(EpochRange(1, 0, 1),)).back_at(Divergence(0, 1))
    assert (position.read_epochs, position.last_epoch) == ((), -1)


def test_the_epoch_before_a_position():
    """If compaction removed the end of the read offsets, the record before is not the last one that was read."""
    read = (EpochRange(1, 0, 6),)
    assert Position(next_offset=6, leader_epoch=1, epochs=read).last_epoch == 1
    assert Position(next_offset=9, leader_epoch=1, epochs=read).last_epoch == -1
    assert Position(next_offset=9, leader_epoch=1).last_epoch == 1
    assert Position(next_offset=9).last_epoch == -1


def test_a_position_of_which_only_the_last_epoch_is_known():
    """Its last record is compared with the leader's log, in epoch 0 as in any other; nothing is known of more."""
    assert Position(next_offset=9, leader_epoch=0).read_epochs == ((0, 8, 9),)
    assert Position(next_offset=1, leader_epoch=3).read_epochs == ((3, 0, 1),)
    assert Position(next_offset=9).read_epochs == Position(next_offset=0, leader_epoch=3).read_epochs == ()


def test_retention_that_deleted_exactly_what_was_read():
    """The epoch of the record before is kept, so that a truncation shows, although the log has no longer that record."""
    _, next_planned = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log(start=40))
    assert next_planned is not None
    assert (next_planned.first_readable, next_planned.last_epoch) == (40, 3)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20),
    st.integers(1, 10**7),
)
def test_a_limit_is_shared_by_backlog(spans: list[tuple[int, int]], most: int):
    """Ranges together exceed the limit by at most an offset each, none is beyond its end, and each backlog gets a share."""
    ranges = [planned(number, start, start + length) for number, (start, length) in enumerate(spans)]
    cut = limited(ranges, most)
    assert [one.partition for one in cut] == [one.partition for one in ranges]
    assert all(one.to_offset <= whole.to_offset for one, whole in zip(cut, ranges, strict=True))
    assert all(one.offsets > 0 for one, whole in zip(cut, ranges, strict=True) if whole.offsets)
    assert sum(one.offsets for one in cut) <= most + len(ranges)


def test_lost_offsets_do_not_use_up_the_limit():
    """A half lost range has the same number of offsets to read as a complete one."""
    lost, whole = limited([planned(0, 0, 300, log_start=200), planned(1, 0, 100)], 100)
    assert (lost.to_offset, whole.to_offset) == (250, 50)


def test_the_last_epochs_are_kept():
    """An epoch that continues is one entry with its new end; only the last entries are kept."""
    known = (EpochRange(1, 0, 5), EpochRange(2, 5, 7))
    assert with_epochs(known, [EpochRange(2, 7, 9), EpochRange(3, 9, 12)]) == ((1, 0, 5), (2, 5, 9), (3, 9, 12))
    assert with_epochs((), [EpochRange(n, n, n + 1) for n in range(9)], keep=2) == ((7, 7, 8), (8, 8, 9))
