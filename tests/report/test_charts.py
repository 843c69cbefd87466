"""Unknown values are not drawn in charts, not even as zero."""

import re

from kafka_lagoon.report.charts import Reading, draw, peak
from kafka_lagoon.report.timeline import timeline

AXIS = timeline([0, 1_000, 2_000, 3_000, 10_000, 11_000], 0)


def lines(drawing: str) -> list[list[tuple[float, float]]]:
    """Return the points of every line."""
    paths = re.findall(r'<path class="line(?: dot)?" d="M([^"]+)"', drawing)
    return [[tuple(map(float, place.split(" "))) for place in path.removesuffix("h0").split("L")] for path in paths]


def test_a_line_breaks_where_a_value_is_unknown_and_where_snapshots_are_missing() -> None:
    """There is a line before the unknown value, a dot after it, and a line after the gap; both breaks are shaded."""
    drawing = draw([Reading(1), Reading(2), Reading(None), Reading(4), Reading(2), Reading(0)], AXIS, "lag")
    assert [[x for x, _ in line] for line in lines(drawing)] == [[0, 91], [273], [909, 1000]]
    assert drawing.count('class="gap"') == 1
    assert drawing.count('class="unknown"') == 1


def test_heights_are_values() -> None:
    """The largest value is at the top, and negative values are below zero."""
    ((_, top), (_, zero), (_, bottom)) = lines(draw([Reading(4), Reading(0), Reading(-4), None, None, None], AXIS, ""))[
        0
    ]
    assert (top, zero, bottom) == (3.0, 50.0, 97.0)


def test_what_was_not_there_is_neither_drawn_nor_shaded() -> None:
    """A group that did not exist has no unknown lag; a partly known lag is marked."""
    drawing = draw([None, None, Reading(1, is_partial=True), Reading(2), None, None], AXIS, "")
    assert 'class="unknown"' not in drawing
    assert drawing.count('class="partial"') == 1
    assert peak([None, Reading(None)]) is None


def test_a_label_is_text() -> None:
    """Labels are escaped, because names come from a cluster."""
    assert 'aria-label="&#34;&gt;&lt;script&gt;"' in draw([None] * 6, AXIS, '"><script>')
