"""Spells values as the page shows them; page.js does the same for rows that it shows itself, and a test compares both."""

from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

from kafka_lagoon.report.page_tables import Column
from kafka_lagoon.text import printable
from kafka_lagoon.units import byte_count, duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMED = 3  # names in a sentence


def rate(value: float) -> str:
    """A number a second, with three digits or so."""
    if abs(value) >= 100:  # noqa: PLR2004  three digits
        return f"{value:,.0f}/s"
    return f"{value:.1f}/s" if value else "0/s"


def spelled(kind: str, value: Any) -> str:
    """A value that is known, as text."""
    match kind:
        case "count":
            return f"{value:,}"
        case "bytes":
            return byte_count(value)
        case "rate":
            return rate(value)
        case "byte_rate":
            return f"{byte_count(value)}/s"
        case "duration":
            return duration(value)
        case "ratio":
            return f"{value:.0%}"
        case "time":
            return time_text(value)
        case _:
            return printable(str(value))


def time_text(at_ms: int) -> str:
    """A time in UTC, to the second."""
    return f"{_EPOCH + timedelta(milliseconds=at_ms):%Y-%m-%d %H:%M:%S}"


def time_html(at_ms: int) -> Markup:
    """A time element; page.js writes the time of the viewer's zone beside it."""
    time = _EPOCH + timedelta(milliseconds=at_ms)
    return Markup('<time datetime="{:%Y-%m-%dT%H:%M:%SZ}">{}</time>').format(time, time_text(at_ms))


def cell(column: Column, value: Any) -> Markup:
    """The HTML of a cell."""
    if value is None or value == "":
        return Markup('<span class="none">{}</span>').format(column.unknown if value is None else "")
    match column.kind:
        case "time":
            return time_html(value)
        case "badge":
            return Markup('<span class="pill {0}">{0}</span>').format(printable(str(value)))
        case "text":
            return Markup("<bdi>{}</bdi>").format(printable(str(value)))
        case _:
            return escape(spelled(column.kind, value))


def some_names(names: list[str]) -> str:
    """The first three different names, and how many more there are."""
    different = [printable(one) for one in dict.fromkeys(names)]
    more = len(different) - _NAMED
    return f"{', '.join(different[:_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
