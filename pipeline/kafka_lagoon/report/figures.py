"""Makes charts and figures of series: the drawing, its scale, the value now, and the words for a screen reader."""

from collections.abc import Sequence

from kafka_lagoon.report.charts import Series, draw, peak, round_span
from kafka_lagoon.report.page_tables import BYTE_RATE, COUNT, RATE, RATIO, Chart, Figure
from kafka_lagoon.report.timeline import Timeline
from kafka_lagoon.report.values import scale_label, spelled, time_text

_FRACTIONS = frozenset({RATE, BYTE_RATE, RATIO})


def chart(title: str, kind: str, series: Series, axis: Timeline, scale: tuple[float, float] | None = None) -> Chart:
    """The drawing of a series with its values; None where there is no value."""
    values = [None if one is None or one.value is None else _number(kind, one.value) for one in series]
    drawing = draw(series, axis, _words(title, kind, series, axis), scale)
    return Chart(title=title, kind=kind, values=values, drawing=drawing)


def figure(title: str, kind: str, series: Series, axis: Timeline, source: str) -> Figure:
    """A large chart with a scale."""
    scale = round_span(series)
    return Figure(
        chart=chart(title, kind, series, axis, scale),
        now=_now(kind, series),
        scale=_labels(kind, *scale),
        source=source,
    )


def _labels(kind: str, low: float, high: float) -> Sequence[str]:
    """Labels of the top, the middle and the bottom; no half record, and nothing between a negative number and zero."""
    middle = (low + high) / 2
    has_middle = high > 0 and not low and (kind != COUNT or middle == int(middle))
    return [scale_label(kind, high), scale_label(kind, middle) if has_middle else "", scale_label(kind, low)]


def _words(title: str, kind: str, series: Series, axis: Timeline) -> str:
    """Describe a chart in a sentence."""
    most = peak(series)
    highest = "never known" if most is None else f"at most {spelled(kind, _number(kind, most))}"
    missing = sum(one is None or one.value is None for one in series)
    lacks = f", no value at {missing} of {len(series)} points" if missing else ""
    return f"{title}: now {_now(kind, series)}, {highest} since {time_text(axis.from_ms)} UTC{lacks}"


def _now(kind: str, series: Series) -> str:
    last = series[-1]
    return "unknown" if last is None or last.value is None else spelled(kind, _number(kind, last.value))


def _number(kind: str, value: float) -> float:
    """Round to the digits that the page shows."""
    return float(f"{value:.6g}") if kind in _FRACTIONS else round(value)
