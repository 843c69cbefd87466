"""Writes rows for people: bytes and durations in units, short headings, names cut where a terminal is too narrow, and colours.

Colours and cuts are for terminals only; in a pipe every name is whole. Scripts get numbers as they are (`--json`).
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_lagoon.cli.terminal import takes_escapes
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.text import aligned_line, byte_count, columns_of, duration, padded, printable

NULL = "-"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORTEST = 8  # columns are not cut below this
RED, YELLOW, BOLD = "31", "33", "1"

# Headings that are shorter than the names of their columns.
_HEADINGS = {
    "broker_id": "broker",
    "broker_ids": "brokers",
    "committed_offset": "committed",
    "controller_id": "controller",
    "coordinator_id": "coordinator",
    "first_unread_timestamp": "first_unread",
    "group_id": "group",
    "group_instance_id": "instance",
    "group_type": "type",
    "high_watermark": "end",
    "is_controller": "controller",
    "is_cordoned": "cordoned",
    "is_fenced": "fenced",
    "is_future": "future",
    "is_internal": "internal",
    "is_read_only": "read_only",
    "known_partitions": "known",
    "last_stable_offset": "stable_end",
    "leader_epoch": "epoch",
    "leader_id": "leader",
    "local_log_start_offset": "local_start",
    "log_end_offset": "end",
    "log_start_offset": "start",
    "max_timestamp_offset": "newest_at",
    "max_timestamp": "newest",
    "member_id": "member",
    "offline_replicas": "offline",
    "open_since_offset": "open_since",
    "producer_epoch": "epoch",
    "producer_id": "producer",
    "rack_id": "rack",
    "records_lost": "lost",
    "replication_factor": "replicas",
    "resource_name": "resource",
    "resource_type": "kind",
    "time_lag": "time",
    "unknown_time_partitions": "time_unknown",
}


@frozen
class Screen:
    """Standard output; nothing is cut if `width` is None."""

    width: int | None = None
    has_colours: bool = False


def screen(environ: Mapping[str, str] = os.environ, *, wide: bool = False) -> Screen:
    """Standard output: a terminal's width, and colours unless NO_COLOR (no-color.org) or a dumb terminal forbids them."""
    if not sys.stdout.isatty():
        return Screen()
    import shutil  # noqa: PLC0415  only on a terminal

    has_colours = not environ.get("NO_COLOR") and takes_escapes(sys.stdout, environ)
    return Screen(width=None if wide else shutil.get_terminal_size().columns, has_colours=has_colours)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], on: Screen, moments: Iterable[str] = ()
) -> Iterable[str]:
    """An aligned table: numbers to the right, times in UTC, null as a dash. `moments` are columns of epoch milliseconds."""
    times = set(moments)
    values = [list(some) for some in zip(*rows, strict=True)] or [[] for _ in columns]
    cells = [
        [heading(name, is_moment=name in times), *(cell(name, one, is_moment=name in times) for one in some)]
        for name, some in zip(columns, values, strict=True)
    ]
    right = {index for index, some in enumerate(values) if all(_is_number(one) for one in some)}
    widths = _fitted([max(map(columns_of, some)) for some in cells], right, on.width)
    colours = [[BOLD, *(_colour(name, one) for one in some)] for name, some in zip(columns, values, strict=True)]
    for line, painted in zip(zip(*cells, strict=True), zip(*colours, strict=True), strict=True):
        cut = [_cut(one, width) for one, width in zip(line, widths, strict=True)]
        yield _painted(cut, widths, right, painted) if on.has_colours else aligned_line(cut, widths, right)


def heading(name: str, *, is_moment: bool = False) -> str:
    """The heading of a column; units are in the cells."""
    if is_moment or _unit(name):
        name = name.removesuffix("_ms").removesuffix("_bytes")
    return _HEADINGS.get(name, name)


def cell(name: str, value: Any, *, is_moment: bool = False) -> str:
    """A value for people; bytes and durations are known by the name of the column."""
    match value:
        case None:
            return NULL
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return _number(name, value, is_moment=is_moment)
        case str():
            return printable(value) or '""'
        case datetime():
            return spelled_time(value)
        case _:
            return _nested(value)


def _number(name: str, value: float, *, is_moment: bool) -> str:
    if is_moment:
        return str(moment(round(value)))
    match _unit(name):
        case "bytes":
            return byte_count(value)
        case "ms":
            return duration(round(value))
        case _:
            return str(value)


def _nested(value: Any) -> str:
    match value:
        case bytes():
            return value.hex()
        case tuple() | list():
            between = "," if all(isinstance(one, int | str) for one in value) else " "
            return between.join(cell("", one) for one in value) if value else "[]"
        case TopicPartitions():
            return f"{cell('', value.topic or value.topic_id)}:{cell('', value.partitions)}"
        case _:
            fields = (getattr(value, name) for name in value.__dataclass_fields__)
            return ":".join(cell("", one) for one in fields if one is not None)


def _unit(name: str) -> str | None:
    """The unit in the name of a column (`size_bytes`, `time_lag_ms`)."""
    return next((unit for unit in ("bytes", "ms") if name.endswith(f"_{unit}")), None)


def moment(value: int | None) -> str | int | None:
    """A time in UTC, or the number itself where it is outside the calendar."""
    if value is None:
        return None
    try:
        return spelled_time(_EPOCH + timedelta(milliseconds=value))
    except OverflowError:
        return value


def spelled_time(time: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def coloured(text: str, colour: str, on: Screen) -> str:
    """The text in a colour, if the screen has any."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on.has_colours and colour else text


def _colour(name: str, value: Any) -> str:
    if name == "problem" and value is not None:
        return YELLOW
    if name in ("records_lost", "offline_replicas") and value:
        return RED
    return {"critical": RED, "warning": YELLOW}.get(value, "") if name == "severity" else ""


def _painted(cells: Sequence[str], widths: Sequence[int], right: set[int], colours: Sequence[str]) -> str:
    on, texts = Screen(has_colours=True), padded(cells, widths, right)
    texts[-1] = texts[-1].rstrip()
    return "  ".join(coloured(text, colour, on) for text, colour in zip(texts, colours, strict=True))


def _fitted(widths: Sequence[int], right: set[int], width: int | None) -> list[int]:
    """Reduce widths until a line fits: the widest column of text first, columns of numbers never."""
    fitted = list(widths)
    while width is not None and sum(fitted) + 2 * (len(fitted) - 1) > width:
        texts = [index for index in range(len(fitted)) if index not in right and fitted[index] > _SHORTEST]
        if not texts:
            break
        fitted[max(texts, key=fitted.__getitem__)] -= 1
    return fitted


def _cut(text: str, width: int) -> str:
    """Keep the beginning and the end of a long text: similar names differ in either."""
    if columns_of(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{_beginning(text, width - 1 - tail)}…{_beginning(text[::-1], tail)[::-1]}"


def _beginning(text: str, width: int) -> str:
    """As much of a text as fits."""
    kept = text[:width]
    while columns_of(kept) > width:
        kept = kept[:-1]
    return kept


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
