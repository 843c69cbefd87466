"""Where a partition was left against where its log is now: what is read next always joins what was read before."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.fetch.ranges import (
    LOG_TRUNCATED,
    EpochEnd,
    LogNow,
    PlannedRange,
    Position,
    limited,
    next_range,
    truncation,
    with_epochs,
)


def log(start: int = 0, end: int = 100) -> LogNow:
    return LogNow(log_start_offset=start, high_watermark=end, last_stable_offset=end, end=end)


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


def test_a_partition_goes_on_where_it_ended():
    """No event, and the range begins at the position with the term of the record before it."""
    events, found = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log())
    assert events == []
    assert found is not None
    assert (found.from_offset, found.to_offset, found.first_readable, found.last_epoch) == (40, 100, 40, 3)


def test_nothing_new_is_no_range():
    """A partition that has not grown costs no task and no row."""
    assert next_range("t", "id", 0, Position(next_offset=100), log()) == ([], None)


def test_retention_that_overtook_us_is_part_of_the_range():
    """The range begins at the position, not at the log's start: what is between is lost, and counted."""
    _, found = next_range("t", "id", 0, Position(next_offset=40, leader_epoch=3), log(start=60))
    assert found is not None
    assert (found.from_offset, found.first_readable) == (40, 60)
    assert found.last_epoch == -1  # the record before offset 60 is not the one whose term we know


def test_everything_lost():
    """A log whose start has passed the planned end leaves nothing to read, and the range says so."""
    assert planned(0, 10, 50, log_start=70).first_readable == 50


def test_a_truncated_log_goes_back_first():
    """The event runs from the position back to where the histories part, the range on from there: they tile."""
    position = Position(next_offset=10, leader_epoch=2, epochs=((1, 0), (2, 6)))
    events, found = next_range("t", "id", 0, position, log(end=20), EpochEnd(leader_epoch=1, end_offset=8))
    assert [(one.problem, one.from_offset, one.to_offset, one.leader_epoch) for one in events] == [
        (LOG_TRUNCATED, 10, 6, 1)
    ]
    assert found is not None
    assert (found.from_offset, found.last_epoch, found.epochs) == (6, 1, ((1, 0),))


def test_where_histories_part():
    """At the end of the largest common term, or where we began a term that the leader never had; unknown is no truncation."""
    position = Position(next_offset=10, leader_epoch=5, epochs=((4, 0), (5, 5)))
    assert truncation(position, EpochEnd(leader_epoch=5, end_offset=12)) is None
    assert truncation(position, EpochEnd(leader_epoch=5, end_offset=10)) is None
    assert truncation(position, EpochEnd(leader_epoch=5, end_offset=9)) == 9
    assert truncation(position, EpochEnd(leader_epoch=4, end_offset=8)) == 5
    assert truncation(position, EpochEnd(leader_epoch=4, end_offset=3)) == 3
    assert truncation(position, EpochEnd(leader_epoch=-1, end_offset=-1)) is None
    assert truncation(position, None) is None


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20),
    st.integers(1, 10**7),
)
def test_a_limit_is_shared_by_backlog(spans: list[tuple[int, int]], most: int):
    """Together about the limit, nobody beyond its end, and nobody with a backlog gets nothing."""
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


def test_terms_are_kept_with_where_they_began():
    """A term that goes on keeps its first offset; only the last ones are kept."""
    assert with_epochs(((1, 0), (2, 5)), {2: 7, 3: 9}) == ((1, 0), (2, 5), (3, 9))
    assert with_epochs([(n, n) for n in range(30)], {30: 30}, keep=3) == ((28, 28), (29, 29), (30, 30))
