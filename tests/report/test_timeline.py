"""Positions of snapshots on the axis of a chart, and gaps between them."""

from kafka_lagoon.report.timeline import MOST_POINTS, timeline

HOUR = 3_600_000


def test_a_pause_that_is_longer_than_usual_is_a_gap() -> None:
    """More than two and a half usual intervals are a gap, which the next point marks; a single snapshot has no interval."""
    axis = timeline([0, HOUR, 2 * HOUR, 4 * HOUR, 7 * HOUR, 8 * HOUR], 0)
    assert [point.after_gap for point in axis.points] == [False, False, False, False, True, False]
    assert (axis.usual_ms, axis.gaps) == (HOUR, 1)
    single = timeline([HOUR], 0)
    assert (single.usual_ms, single.gaps, single.x(HOUR)) == (None, 0, 1.0)


def test_many_snapshots_share_points_but_not_across_a_gap() -> None:
    """Every snapshot is in exactly one point, and there are no more points than a chart shows."""
    times = [*range(0, 300 * HOUR, HOUR), *range(310 * HOUR, 320 * HOUR, HOUR)]
    axis = timeline(times, 0)
    assert len(axis.points) <= MOST_POINTS + 1
    taken = [time for point in axis.points for time in times if point.first_ms <= time <= point.last_ms]
    assert taken == times
    assert [point.first_ms for point in axis.points if point.after_gap] == [310 * HOUR]


def test_each_gap_costs_at_most_a_point() -> None:
    """However often snapshots are missing, a chart has no more points than the page says."""
    for snapshots in (240, 360, 480, 1_440):
        for every in (2, 3, 10, snapshots):
            axis = timeline([HOUR * (number + 5 * (number // every)) for number in range(snapshots)], 0)
            assert len(axis.points) <= MOST_POINTS + axis.gaps + 1


def test_a_history_that_begins_late_is_short() -> None:
    """A history is short if it begins later than the usual interval; the axis begins with its first snapshot."""
    assert timeline([10 * HOUR, 11 * HOUR, 12 * HOUR], 0).is_short
    assert not timeline([HOUR, 2 * HOUR, 3 * HOUR], 0).is_short
    axis = timeline([10 * HOUR, 11 * HOUR, 12 * HOUR], 0)
    assert [axis.x(time) for time in axis.times] == [0.0, 0.5, 1.0]


def test_the_last_snapshot_has_a_point_of_its_own() -> None:
    """The last value of a chart is that of the snapshot, not the largest of several."""
    axis = timeline(range(0, 300 * HOUR, HOUR), 0)
    assert axis.points[-1].first_ms == axis.points[-1].last_ms == 299 * HOUR
    assert axis.points[-2].first_ms < axis.points[-2].last_ms


def test_snapshots_that_retention_has_thinned_are_not_missing() -> None:
    """Of a month the first weeks have a snapshot an hour, the last days one every five minutes: only a real pause is a gap."""
    thinned = [*range(0, 23 * 24 * HOUR, HOUR)]
    whole = [*range(thinned[-1] + HOUR, thinned[-1] + 7 * 24 * HOUR, HOUR // 12)]
    axis = timeline([*thinned, *whole], 0)
    assert (axis.gaps, axis.usual_ms) == (0, HOUR // 12)
    assert len(axis.points) <= MOST_POINTS + 1
    for paused in (thinned, whole):
        rest = [time for time in (*thinned, *whole) if time not in paused[100:104]]
        assert [point.first_ms for point in timeline(rest, 0).points if point.after_gap] == [paused[104]]


def test_a_schedule_that_was_changed_is_no_gap() -> None:
    """Since noon a snapshot is taken each hour: none is missing, and none is late after ten minutes."""
    often = [*range(0, 12 * HOUR, HOUR // 12)]
    axis = timeline([*often, *range(12 * HOUR, 25 * HOUR, HOUR)], 0)
    assert (axis.gaps, axis.usual_ms) == (0, HOUR)


def test_a_machine_that_was_down_twice_has_two_gaps() -> None:
    """Two long intervals in a row, or at the end, do not make each other usual."""
    often = [*range(0, 2 * HOUR, HOUR // 12)]
    assert timeline([*often, 3 * HOUR, 4 * HOUR], 0).gaps == 2
    assert timeline([*often, 3 * HOUR, 4 * HOUR, *(5 * HOUR + time for time in often)], 0).gaps == 3
