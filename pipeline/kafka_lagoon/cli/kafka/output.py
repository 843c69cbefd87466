"""Prints an answer: aligned tables for people, JSON lines for scripts.

People see names that strangers chose escaped, scripts see every value exactly.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from kafka_lagoon.cli.kafka.formatting import base64_object
from kafka_lagoon.cli.kafka.verb import Answer, Part
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say, warn
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.row_classes import Timestamp
from kafka_lagoon.snapshot.coverage import alike_failures, failure_row
from kafka_lagoon.snapshot.state_rows import TopicPartitions
from kafka_lagoon.text import aligned, printable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def show(answer: Answer, *, as_json: bool) -> int:
    """Print the parts, then failures and notes on standard error; the exit code."""
    for number, part in enumerate(answer.parts):
        if as_json:
            lines: Iterable[str] = json_lines(part)
        else:
            nothing = "(none known)" if answer.failures else "(none)"
            lines = people_lines(part, titled=len(answer.parts) > 1, first=not number, nothing=nothing)
        for line in lines:
            say(line)
    for line in [*failure_lines(answer.failures), *answer.notes]:
        warn(line)
    return answer.exit_code or (INCOMPLETE if answer.failures else COMPLETE)


def json_lines(part: Part) -> Iterator[str]:
    """One object a row, with the part's kind first. Bytes are `{"base64": ...}`; times stay epoch milliseconds."""
    encode = json.JSONEncoder(default=_plain).encode
    for row in part.rows:
        yield encode({"kind": part.kind, **_fields(row)})


def people_lines(part: Part, *, titled: bool, first: bool, nothing: str = "(none)") -> Iterable[str]:
    """The part's own lines as they come, or an aligned table of its columns, under the part's kind if it is titled.

    `nothing` is printed for a table without rows: whether there are none may be unknown.
    """
    if titled and not first:
        yield ""
    if titled:
        yield f"{part.kind}:"
    if part.line:
        yield from map(part.line, part.rows)
    else:
        yield from table_lines(list(part.rows), part.columns) or [nothing]


def table_lines(rows: Sequence[Any], columns: Sequence[str]) -> list[str]:
    """An aligned table: numbers to the right, times in UTC, null as a dash; no rows, no lines."""
    if not rows:
        return []
    moments = {field.name for field in dataclasses.fields(rows[0]) if Timestamp in (field.type, *get_args(field.type))}
    values = [[getattr(row, name) for row in rows] for name in columns]
    cells = [
        [name.removesuffix("_ms") if name in moments else name]
        + [_cell(moment(one) if name in moments else one) for one in some]
        for name, some in zip(columns, values, strict=True)
    ]
    right = {index for index, some in enumerate(values) if all(_is_number(one) for one in some)}
    return aligned(list(zip(*cells, strict=True)), right)


def failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    """One line per broker and reason: the scope of the request, its API, and the error.

    Brokers that are too old for an API share a line: it is the release that matters, not which of them it is.
    """
    for alike in alike_failures(replace(one, node_id=None) if _is_too_old(one) else one for one in failures):
        row, node_id = failure_row(alike), alike[0].node_id
        broker = (
            "" if node_id is None else f" of broker {node_id}"
        )  # who answered; the broker of the scope may not have
        detail = f" ({row.message})" if row.message else ""
        yield " ".join(f"{row.scope}: {row.api}{broker}: {row.error_name}{detail}".split())


def _is_too_old(failure: Failure) -> bool:
    return failure.name == UNSUPPORTED and failure.code is None


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def moment(value: int | None) -> str | int | None:
    """A time in UTC, or the number itself where it is outside the calendar."""
    if value is None:
        return None
    try:
        time = _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return value
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case str():
            return printable(value) or '""'
        case bytes():
            return value.hex()
        case tuple() | list():
            between = "," if all(isinstance(one, int | str) for one in value) else " "
            return between.join(map(_cell, value)) if value else "[]"
        case TopicPartitions():
            return f"{_cell(value.topic or value.topic_id)}:{_cell(value.partitions)}"
        case _:
            return ":".join(_cell(one) for one in _fields(value).values() if one is not None)


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}  # dataclasses.fields costs half of a row


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64_object(value)
    return _fields(value)
