"""Draws series over time as inline SVG: a line that breaks where a value is not known, and shading where nobody looked.

Nothing but numbers goes into the drawing; names are text beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup

from kafka_lagoon.report.timeline import Timeline

WIDTH, HEIGHT = 1000, 100  # stretched to the place that the page has for it
_MARGIN = 3.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of a point; None if it is unknown. `is_partial` means that parts of the sum are unknown."""

    value: float | None
    is_partial: bool = False


Series = Sequence[Reading | None]  # None: there was no such group or topic, or no snapshot


def peak(series: Series) -> float | None:
    """The largest known value."""
    return max((one.value for one in series if one is not None and one.value is not None), default=None)


def draw(series: Series, axis: Timeline, label: str, *, filled: bool = False) -> Markup:
    """An SVG image of a series; `label` is what a screen reader says of it."""
    return image(label, "".join((*_shaded(series, axis), *_lines(series, axis, filled=filled))))


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


def _lines(series: Series, axis: Timeline, *, filled: bool) -> Iterator[str]:
    known = [one.value for one in series if one is not None and one.value is not None]
    low, high = min(0, *known, 0), max(0, *known, 0)
    scale = (HEIGHT - 2 * _MARGIN) / ((high - low) or 1)
    zero = HEIGHT - _MARGIN + low * scale
    for stretch in _stretches(series, axis):
        places = [(x * WIDTH, zero - value * scale) for x, value, _ in stretch]
        if filled and len(places) > 1:
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
