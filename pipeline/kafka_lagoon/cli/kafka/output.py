"""Prints an answer: aligned tables for people, JSON lines for scripts.

People see names that strangers chose escaped, scripts see every value exactly.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from kafka_lagoon.cli.kafka.formatting import base64_object
from kafka_lagoon.cli.kafka.verb import Answer, Part
from kafka_lagoon.cli.people import Screen, screen, table
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, say_exactly, warn
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.snapshot.coverage import alike_failures, failure_row
from kafka_lagoon.tables.row_classes import Timestamp

_ANYWHERE = Screen()


def show(answer: Answer, *, as_json: bool, wide: bool = False) -> int:
    """Print the parts, then failures and notes on standard error; the exit code."""
    for line in answer_lines(answer, as_json=as_json, wide=wide):
        say_exactly(line)
    for line in warning_lines(answer):
        warn(line)
    return exit_code(answer)


def answer_lines(answer: Answer, *, as_json: bool, wide: bool = False) -> Iterator[str]:
    """The parts, one after the other."""
    for number, part in enumerate(answer.parts):
        if as_json:
            yield from json_lines(part)
        else:
            nothing = "(none known)" if answer.failures else "(none)"
            titled, on = len(answer.parts) > 1, screen(wide=wide)
            yield from people_lines(part, titled=titled, first=not number, nothing=nothing, on=on, wide=wide)


def warning_lines(answer: Answer) -> Iterator[str]:
    """Failures and notes, once all rows are read."""
    yield from failure_lines(answer.failures)
    yield from answer.notes


def exit_code(answer: Answer) -> int:
    """Incomplete if something failed, unless the verb says otherwise."""
    return answer.exit_code or (INCOMPLETE if answer.failures else COMPLETE)


def json_lines(part: Part) -> Iterator[str]:
    """One object a row, with the part's kind first. Bytes are `{"base64": ...}`; times stay epoch milliseconds."""
    encode = json.JSONEncoder(default=_plain).encode
    for row in part.rows:
        yield encode({"kind": part.kind, **_fields(row)})


def people_lines(
    part: Part, *, titled: bool, first: bool, nothing: str = "(none)", on: Screen = _ANYWHERE, wide: bool = False
) -> Iterable[str]:
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
        columns = part.wide or part.columns if wide else part.columns
        yield from table_lines(list(part.rows), columns, on) or [nothing]


def table_lines(rows: Sequence[Any], columns: Sequence[str], on: Screen = _ANYWHERE) -> list[str]:
    """An aligned table: numbers to the right, times in UTC, null as a dash; no rows, no lines."""
    if not rows:
        return []
    moments = [field.name for field in dataclasses.fields(rows[0]) if Timestamp in (field.type, *get_args(field.type))]
    values = ([getattr(row, name) for name in columns] for row in rows)
    return [*table(columns, values, on, moments)]


def failure_lines(failures: Iterable[Failure]) -> Iterator[str]:
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


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}  # dataclasses.fields costs half of a row


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64_object(value)
    return _fields(value)
