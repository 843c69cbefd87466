"""Spells values as the page shows them; page.js does the same for rows that it shows itself, and a test compares both."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

from kafka_lagoon.report.page_tables import Column
from kafka_lagoon.text import byte_count, counted, duration, printable

_MINUTE_MS, _SECOND_MS = 60_000, 1_000
_POWERS = ("", "k", "M", "G", "T", "P", "E")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS = -62_135_596_800_000  # the year 1: earlier times cannot be shown
_NAMED = 3  # names in a sentence
_TILE_WIDTH = 40  # characters of names in a tile


def rate(value: float) -> str:
    """A number a second, with three digits or so."""
    if abs(value) >= 100:  # noqa: PLR2004  three digits
        return f"{value:,.0f}/s"
    return f"{value:.1f}/s" if value else "0/s"


def time_left(milliseconds: int) -> str:
    """`5h59m`, or `overdue by 58m`: an estimate, so seconds are left out from a minute on."""
    size = abs(milliseconds)
    size -= size % (_MINUTE_MS if size >= _MINUTE_MS else _SECOND_MS)
    if not size:
        return "now"
    return f"overdue by {duration(size)}" if milliseconds < 0 else duration(size)


def scale_label(kind: str, value: float) -> str:
    """A round number beside a chart, as short as it can be: `600k`, `2 GB`, `1.5M/s`."""
    if kind in ("count", "rate"):
        size, power = abs(value), 0
        while size >= 1000 and power < len(_POWERS) - 1:  # noqa: PLR2004  the next power
            size, power = size / 1000, power + 1
        return f"{'-' if value < 0 else ''}{size:.3g}{_POWERS[power]}{'/s' if kind == 'rate' else ''}"
    return spelled(kind, value).replace(".0 ", " ")


def time_text(at_ms: int) -> str:
    """A time in UTC, to the second. Timestamps of records may be of any year, and %Y would not pad it."""
    return (_EPOCH + timedelta(milliseconds=at_ms)).replace(tzinfo=None).isoformat(" ", "seconds")


_SPELLINGS: Mapping[str, Callable[[Any], str]] = {
    "count": "{:,}".format,
    "bytes": byte_count,
    "rate": rate,
    "byte_rate": lambda value: f"{byte_count(value)}/s",
    "duration": duration,
    "time_left": time_left,
    "ratio": "{:.0%}".format,
    "time": time_text,
}


def spelled(kind: str, value: Any) -> str:
    """A value that is known, as text."""
    return _SPELLINGS[kind](value) if kind in _SPELLINGS else printable(str(value))


def time_html(at_ms: int) -> Markup:
    """A time element; page.js writes the time of the viewer's zone beside it."""
    return Markup('<time datetime="{}">{}</time>').format(_time_of_element(at_ms), time_text(at_ms))


def short_time_html(at_ms: int) -> Markup:
    """A time element without year and seconds, for lines with little space; page.js has the viewer's time in its title."""
    time = _EPOCH + timedelta(milliseconds=at_ms)
    shown = Markup('<time class="short" datetime="{}" title="{} UTC">{}</time>')
    return shown.format(_time_of_element(at_ms), time_text(at_ms), f"{time:%-d %b %H:%M}")


def _time_of_element(at_ms: int) -> str:
    """A time as attribute datetime of an HTML time element has it."""
    return f"{time_text(at_ms).replace(' ', 'T')}Z"


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
        case "time_left" if value < 0:
            return Markup('<span class="late">{}</span>').format(spelled(column.kind, value))
        case _:
            return escape(spelled(column.kind, value))


def partition_name(topic: str, partition: int) -> str:
    """The name of a partition that says where the name of the topic ends: topics may end in `-0`."""
    return f"topic {topic}, partition {partition}"


def severity_count(severities: Sequence[str], severity: str) -> str:
    """`1 critical`, `2 warnings`: how many of them have this severity."""
    number = severities.count(severity)
    return counted(number, severity) if severity == "warning" else f"{number:,} {severity}"


def with_owner(name: str, owner: str | None) -> str:
    """The name, and the team that owns it."""
    return name if owner is None else f"{name} ({owner})"


def few_names(names: list[str]) -> str:
    """Up to three different names, fewer if they are long, and how many more there are."""
    different = [printable(one) for one in dict.fromkeys(names)]
    fitting = [number for number in range(2, _NAMED + 1) if len(", ".join(different[:number])) <= _TILE_WIDTH]
    return some_names(names, most=max(fitting, default=1))


def some_names(names: list[str], between: str = ", ", most: int = _NAMED) -> str:
    """The first different names, and how many more there are."""
    different = [printable(one) for one in dict.fromkeys(names)]
    more = len(different) - most
    return f"{between.join(different[:most])}{f' and {more:,} more' if more > 0 else ''}"
