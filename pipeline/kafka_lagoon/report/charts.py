"""Draws series over time as inline SVG: a line that breaks where a value is not known, and shading where nobody looked.

A large chart has a scale, which ends at a round number, and a time axis of round times.

Nothing but numbers goes into the drawing; names are text beside it.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

from markupsafe import Markup

from kafka_lagoon.frozen import frozen
from kafka_lagoon.report.timeline import Timeline
from kafka_lagoon.report.values import time_text

WIDTH, HEIGHT = 1000, 100  # stretched to the place that the page has for it
_MARGIN = 3.0
_ROUND = (1, 2, 3, 4, 5, 6, 8, 10)
_MINUTE_MS, _DAY_MS = 60_000, 86_400_000
_STEPS_MS = [
    _MINUTE_MS * minutes for minutes in (5, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 40_320, 80_640, 161_280)
]
_MOST_TICKS = 5  # as many labels fit on a phone
_NEAR_END = 0.06  # a label that is nearer to either end of the axis does not stand in the middle of its tick
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen(kw_only=False)
class Reading:
    """The value of a point; None if it is unknown. `is_partial` means that parts of the sum are unknown."""

    value: float | None
    is_partial: bool = False


Series = Sequence[Reading | None]  # None: there was no such group or topic, or no snapshot


def peak(series: Series) -> float | None:
    """The largest known value."""
    return max((one.value for one in series if one is not None and one.value is not None), default=None)


def span(series: Series) -> tuple[float, float]:
    """The least and the largest known value; zero is always between them."""
    known = [one.value for one in series if one is not None and one.value is not None]
    return min(0, *known, 0), max(0, *known, 0)


def round_span(series: Series) -> tuple[float, float]:
    """The span of a series, up to round numbers; from 0 to 1 if there is nothing but zero."""
    low, high = span(series)
    return (-_rounded_up(-low), _rounded_up(high)) if low or high else (0, 1)


def _rounded_up(value: float) -> float:
    if value <= 0:
        return 0
    power: float = 10 ** math.floor(math.log10(value))
    return next(step * power for step in _ROUND if step * power >= value * (1 - 1e-9))


def draw(series: Series, axis: Timeline, label: str, scale: tuple[float, float] | None = None) -> Markup:
    """An SVG image of a series; `label` is what a screen reader says of it. With a scale it has grid lines and an area."""
    grid = f'<path class="grid" d="M0 {_MARGIN:.0f}h{WIDTH}M0 {HEIGHT // 2}h{WIDTH}"/>' if scale else ""
    return image(label, "".join((*_shaded(series, axis), grid, *_lines(series, axis, scale))))


def time_axis(axis: Timeline) -> Markup:
    """An SVG image of the time axis below a chart, which is not stretched: places are shares of its width."""
    labels = "".join(
        f'<text x="{place * 100:.1f}%" y="16" text-anchor="{_anchor(place)}">{text}</text>'
        for place, text in _ticks(axis)
    )
    start = Markup('<svg class="times" role="img" aria-label="{} to {} UTC">').format(
        time_text(axis.from_ms), time_text(axis.until_ms)
    )
    return start + Markup(labels) + Markup("</svg>")  # noqa: S704  ours


def _ticks(axis: Timeline) -> list[tuple[float, str]]:
    """Places and labels of round times; of the only snapshot its time."""
    span_ms = axis.until_ms - axis.from_ms
    step_ms = next((step for step in _STEPS_MS if span_ms < step * _MOST_TICKS), _STEPS_MS[-1])
    times = range(-(-axis.from_ms // step_ms) * step_ms, axis.until_ms + 1, step_ms)
    if len(times) < 2:  # noqa: PLR2004  one label says nothing about a length
        ends = dict.fromkeys((axis.from_ms, axis.until_ms))
        return [(axis.x(at_ms), f"{_utc(at_ms):%-d %b %H:%M}") for at_ms in ends]
    return [
        (axis.x(at_ms), f"{_utc(at_ms):%-d %b}" if at_ms % _DAY_MS == 0 else f"{_utc(at_ms):%H:%M}") for at_ms in times
    ]


def _anchor(place: float) -> str:
    return "start" if place < _NEAR_END else "end" if place > 1 - _NEAR_END else "middle"


def _utc(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at_ms)


def image(label: str, drawn: str) -> Markup:
    """An SVG image of what is drawn already."""
    start = Markup('<svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, label
    )
    return start + Markup(drawn) + Markup("</svg>")  # noqa: S704  numbers and names of classes


def gaps(axis: Timeline) -> Iterator[str]:
    """Shading where snapshots are missing."""
    for before, after in pairwise(axis.points):
        if after.after_gap:
            yield _rectangle("gap", axis.x(before.last_ms) * WIDTH, axis.x(after.first_ms) * WIDTH)


def _shaded(series: Series, axis: Timeline) -> Iterator[str]:
    """Shading of gaps and of unknown values."""
    yield from gaps(axis)
    xs = [axis.x(at_ms) * WIDTH for at_ms in axis.times]
    for number, reading in enumerate(series):
        if reading is not None and reading.value is None:
            before, after = xs[max(number - 1, 0)], xs[min(number + 1, len(xs) - 1)]
            yield _rectangle("unknown", (before + xs[number]) / 2, (xs[number] + after) / 2)


def _rectangle(name: str, left: float, right: float) -> str:
    return f'<rect class="{name}" x="{left:.0f}" y="0" width="{max(right - left, 4):.0f}" height="{HEIGHT}"/>'


def _lines(series: Series, axis: Timeline, scale: tuple[float, float] | None) -> Iterator[str]:
    low, high = scale or span(series)
    unit = (HEIGHT - 2 * _MARGIN) / ((high - low) or 1)
    zero = HEIGHT - _MARGIN + low * unit
    for stretch in _stretches(series, axis):
        places = [(x * WIDTH, zero - value * unit) for x, value, _ in stretch]
        if scale and len(places) > 1:
            yield f'<path class="area" d="{_path([(places[0][0], zero), *places, (places[-1][0], zero)])}z"/>'
        name = "line" if len(places) > 1 else "line dot"
        yield f'<path class="{name}" d="{_path(places) if len(places) > 1 else _dot(places[0])}"/>'
        partial = "".join(_dot(place) for place, (*_, is_partial) in zip(places, stretch, strict=True) if is_partial)
        if partial:
            yield f'<path class="partial" d="{partial}"/>'


def _stretches(series: Series, axis: Timeline) -> Iterator[list[tuple[float, float, bool]]]:
    """Runs of known values: place, value, and whether it is partial."""
    number = 0
    places = []
    for reading, point in zip(series, axis.points, strict=True):
        number += point.after_gap or reading is None or reading.value is None
        if reading is not None and reading.value is not None:
            places.append((number, (axis.x(point.last_ms), reading.value, reading.is_partial)))
    for _, stretch in groupby(places, key=lambda place: place[0]):
        yield [place for _, place in stretch]


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in places)


def _dot(place: tuple[float, float]) -> str:
    """A line without length, which the page draws as a dot."""
    return f"M{place[0]:.0f} {place[1]:.1f}h0"
