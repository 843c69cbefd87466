"""Places the snapshots of a span of time on the x axis of charts, and marks gaps without snapshots.

A chart has at most MOST_POINTS points, and one more for each gap and for the last snapshot. If there are more snapshots,
several share a point, which shows their largest value. The last snapshot has a point of its own, because the page shows it as
the present.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import NEARBY, usual_interval_ms

MOST_POINTS = 120
_GAP_AFTER = 2.5  # usual intervals between snapshots
_ENOUGH = 6  # intervals before or after one, of NEARBY that are looked at, say what was usual there


@frozen
class Point:
    """The snapshots that began from `first_ms` to `last_ms`; `after_gap`: snapshots are missing before them."""

    first_ms: int
    last_ms: int
    after_gap: bool


@frozen
class Timeline:
    """The axis: it begins with the first snapshot of the span that was wanted, and ends with the last one.

    `usual_ms` is the usual interval between the last snapshots.
    """

    wanted_from_ms: int
    points: Sequence[Point]
    snapshots: int
    usual_ms: int | None

    @property
    def from_ms(self) -> int:
        """When the first snapshot began."""
        return self.points[0].first_ms

    @property
    def until_ms(self) -> int:
        """When the last snapshot began."""
        return self.points[-1].last_ms

    @property
    def times(self) -> list[int]:
        """The times of the points: when the last snapshot of each began."""
        return [point.last_ms for point in self.points]

    @property
    def gaps(self) -> int:
        """The number of gaps in the history."""
        return sum(point.after_gap for point in self.points)

    @property
    def is_short(self) -> bool:
        """True if the history is shorter than requested by more than the usual interval, or by a tenth."""
        slack_ms = max((self.until_ms - self.wanted_from_ms) // 10, self.usual_ms or 0)
        return self.from_ms > self.wanted_from_ms + slack_ms

    def x(self, at_ms: int) -> float:
        """The place of a time between 0 and 1; of a single snapshot 1."""
        return (at_ms - self.from_ms) / (self.until_ms - self.from_ms) if self.until_ms > self.from_ms else 1.0

    def axis_rows(self) -> str:
        """The points as rows of VALUES: number, first and last time."""
        return ", ".join(f"({number}, {one.first_ms}, {one.last_ms})" for number, one in enumerate(self.points))


def timeline(captured_ms: Sequence[int], wanted_from_ms: int) -> Timeline:
    """The axis of snapshots that began at these times, which ascend."""
    intervals = [after - before for before, after in pairwise(captured_ms)]
    usual_ms = usual_interval_ms(captured_ms)
    gaps = _gaps(intervals)
    share = -(-len(captured_ms) // MOST_POINTS)
    points: list[Point] = []
    taken = 0  # snapshots of the last point
    for number, at_ms in enumerate(captured_ms):
        after_gap = number > 0 and gaps[number - 1]
        is_last = number == len(captured_ms) - 1
        if points and taken < share and not (after_gap or is_last):
            points[-1] = Point(first_ms=points[-1].first_ms, last_ms=at_ms, after_gap=points[-1].after_gap)
            taken += 1
        else:
            points.append(Point(first_ms=at_ms, last_ms=at_ms, after_gap=after_gap))
            taken = 1
    return Timeline(wanted_from_ms=wanted_from_ms, points=points, snapshots=len(captured_ms), usual_ms=usual_ms)


def _gaps(intervals: Sequence[int]) -> Sequence[bool]:
    """Mark intervals that are longer than was usual both before and after them.

    Snapshots that a schedule takes less often, or that retention has thinned, are not missing.
    """
    if not intervals:
        return []
    overall = median(intervals)

    def usual(side: Sequence[int]) -> float:
        return median(side) if len(side) >= _ENOUGH else overall

    return [
        interval > _GAP_AFTER * usual(intervals[max(number - NEARBY, 0) : number])
        and interval > _GAP_AFTER * usual(intervals[number + 1 : number + 1 + NEARBY])
        for number, interval in enumerate(intervals)
    ]
