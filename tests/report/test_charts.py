"""Unknown values are not drawn in charts, not even as zero."""

import re

import pytest

from kafka_lagoon.report.charts import Reading, draw, peak, round_span, time_axis
from kafka_lagoon.report.figures import figure
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


def test_a_scale_ends_at_a_round_number() -> None:
    """The drawing is that of the scale, so its grid lines are where the labels say."""
    series = [Reading(530_000), Reading(0), Reading(265_000), None, None, None]
    shown = figure("Lag", "count", series, AXIS, "consumer_lag.lag")
    assert list(shown.scale) == ["600k", "300k", "0"]
    ((_, first), (_, zero), _) = lines(shown.chart.drawing)[0]
    assert (first, zero) == (pytest.approx(97 - 94 * 530 / 600, abs=0.06), 97)
    assert 'class="grid"' in shown.chart.drawing
    assert (round_span([Reading(0)]), round_span([Reading(-3), Reading(7)])) == ((0, 1), (-3, 8))
    assert round_span([Reading(1_000)]) == (0, 1_000)


def test_a_scale_has_no_half_records() -> None:
    """Nor a middle between a negative number and a positive one, which would not be zero."""
    assert list(figure("Lag", "count", [Reading(1)] * 6, AXIS, "").scale) == ["1", "", "0"]
    assert list(figure("Lag", "count", [Reading(-1), Reading(9), *[None] * 4], AXIS, "").scale) == ["10", "", "-1"]
    assert list(figure("Rate", "rate", [Reading(1)] * 6, AXIS, "").scale) == ["1/s", "0.5/s", "0/s"]


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        ([8], ["1 Jan 08:00"]),
        ([8, 8.05], ["1 Jan 08:00", "1 Jan 08:03"]),
        ([8, 9], ["08:00", "08:15", "08:30", "08:45", "09:00"]),
        ([20, 32], ["21:00", "2 Jan", "03:00", "06:00"]),
        ([0, 152], ["1 Jan", "3 Jan", "5 Jan", "7 Jan"]),
        ([0, 24 * 7 * 30], ["1 Jan", "26 Feb", "23 Apr", "18 Jun"]),
    ],
)
def test_a_time_axis_has_round_times(hours: list[float], labels: list[str]) -> None:
    """Days are named where they begin, so no label is long."""
    axis = timeline([round(hour * HOUR) for hour in hours], 0)
    assert re.findall(r">([^<]+)</text>", time_axis(axis)) == labels


def test_labels_of_times_stay_within_the_axis() -> None:
    """The first and the last do not stand in the middle of their time."""
    axis = timeline([0, 24 * HOUR], 0)
    assert re.findall(r'x="([0-9.]+)%" y="16" text-anchor="(\w+)"', time_axis(axis))[::4] == [
        ("0.0", "start"),
        ("100.0", "end"),
    ]


def test_an_axis_may_begin_in_any_year() -> None:
    """Years have four digits: rows may have any time, and a screen reader reads its label as the page writes times."""
    assert 'aria-label="0987-05-22 00:00:00 to 1970-01-01 00:00:00 UTC"' in time_axis(
        timeline([-31_008_268_800_000, 0], 0)
    )
