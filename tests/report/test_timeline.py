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
