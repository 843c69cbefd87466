"""Prints the output of a command: tables for people, JSON lines for scripts, then failures and notes on standard error.

Names are escaped in tables for people, because others chose them. Scripts get every value exactly.
"""

import dataclasses
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol, get_args

from kafka_lagoon.cli.people import Screen, screen, table
from kafka_lagoon.cli.pipes import write
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, warn
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.row_classes import Timestamp

_ANYWHERE = Screen()


class Rows(Protocol):
    """Rows of one kind. People see the columns in `columns`, or with --wide those in `wide`; scripts get all."""

    @property
    def kind(self) -> str: ...  # noqa: D102  as the class describes

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def wide(self) -> Sequence[str]: ...  # noqa: D102

    def own_lines(self) -> Iterable[str] | None:
        """Return lines for people, if they get no table."""

    def table_lines(self, columns: Sequence[str], on: Screen) -> Iterable[str]:
        """Format an aligned table of these columns."""
        ...

    def json_blocks(self) -> Iterator[str]:
        """Format rows as JSON lines, in blocks of several lines."""
        ...


@frozen
class RowSet:
    """Rows of one kind. People see the columns in `columns`, or with --wide those in `wide`; scripts get all fields.

    `rows` are dataclasses, and may come from a generator. Scripts get each row at once. People get each row at once if `line`
    formats it as a line; without `line` they get a table of all rows at the end.
    """

    kind: str
    rows: Iterable[Any]
    columns: Sequence[str] = ()
    wide: Sequence[str] = ()
    line: Callable[[Any], str] | None = None

    def own_lines(self) -> Iterable[str] | None:
        """Return the lines that `line` makes of the rows."""
        return map(self.line, self.rows) if self.line else None

    def table_lines(self, columns: Sequence[str], on: Screen = _ANYWHERE) -> Iterable[str]:
        """Format an aligned table: numbers to the right, times in UTC, null as a dash."""
        rows = list(self.rows)
        if not rows:
            return []
        fields = dataclasses.fields(rows[0])
        moments = [field.name for field in fields if Timestamp in (field.type, *get_args(field.type))]
        return table(columns, ([getattr(row, name) for name in columns] for row in rows), on, moments)

    def json_blocks(self) -> Iterator[str]:
        """Format rows as JSON: bytes as `{"base64": ...}`, times as epoch milliseconds."""
        from kafka_lagoon.cli.json_lines import json_lines  # noqa: PLC0415  not needed for people

        return json_lines(self.kind, self.rows)


@frozen
class Remark:
    """Lines for people after the rows; scripts do not get them."""

    lines: Sequence[str]
    kind: str = "remark"
    columns: Sequence[str] = ()
    wide: Sequence[str] = ()

    def own_lines(self) -> Iterable[str] | None:
        """Return an empty line and the lines."""
        return ["", *self.lines]

    def table_lines(self, columns: Sequence[str], on: Screen) -> Iterable[str]:  # noqa: ARG002  as the protocol says
        """Return no table."""
        return ()

    def json_blocks(self) -> Iterator[str]:
        """Return nothing for scripts."""
        return iter(())


@frozen
class CommandOutput:
    """The output of a command. All fields but `rows` are read after the rows are printed, because a generator may add to them.

    `failures`, `refusals` (failures of the client's own requests) and `complaints` (passed limits, missing names) make the
    exit code 3; `notes` do not.
    """

    rows: Sequence[Rows]
    failures: Collection[Failure] = ()
    refusals: Collection[Failure] = ()
    complaints: Iterable[str] = ()
    notes: Sequence[str] = ()
    exit_code: int = COMPLETE


@frozen
class Ending:
    """The end of a command: lines for standard error and the exit code; `is_passed` is True if a limit is passed."""

    lines: Sequence[str]
    exit_code: int
    is_passed: bool


def show(output: CommandOutput, options: Namespace) -> int:
    """Print the output; return the exit code."""
    blocks = output_blocks(output, options, screen(wide=options.wide))
    if getattr(options, "pager", False) and not options.json and sys.stdout.isatty():
        from kafka_lagoon.cli.pager import write_in_pager  # noqa: PLC0415  only on a terminal

        write_in_pager(blocks, os.environ)
    else:
        write(blocks)
    end = ending(output)
    for line in end.lines:
        warn(line)
    return end.exit_code


def output_blocks(output: CommandOutput, options: Namespace, on: Screen) -> Iterator[str]:
    """Format the rows of each kind as blocks of lines."""
    for number, rows in enumerate(output.rows):
        if options.json:
            yield from rows.json_blocks()
        else:
            is_titled = len(output.rows) > 1
            nothing = "(none known)" if output.failures or output.refusals else "(none)"
            lines = people_lines(rows, on, wide=options.wide, is_titled=is_titled, is_first=not number, nothing=nothing)
            yield from (f"{line}\n" for line in lines)


def people_lines(
    rows: Rows, on: Screen, *, wide: bool, is_titled: bool, is_first: bool, nothing: str = "(none)"
) -> Iterable[str]:
    """Format rows for people: their own lines, or a table under their kind; `nothing` if the table has no rows."""
    own = rows.own_lines()
    if own is not None:
        return own
    columns = rows.wide or rows.columns if wide else rows.columns
    title = [*([] if is_first else [""]), f"{rows.kind}:"] if is_titled else []
    lines = iter(rows.table_lines(columns, on))
    return chain(title, [next(lines, nothing)], lines)


def ending(output: CommandOutput) -> Ending:
    """Make the lines about failures, limits and notes, and the exit code, once all rows are read."""
    failures, complaints = [*output.failures, *output.refusals], list(output.complaints)
    code = output.exit_code or (INCOMPLETE if failures or complaints else COMPLETE)
    return Ending(
        lines=[*failure_lines(failures), *complaints, *output.notes],
        exit_code=code,
        is_passed=bool(complaints) or output.exit_code != COMPLETE,
    )


def failure_lines(failures: Iterable[Failure]) -> Iterator[str]:
    """Make one line per broker and reason: the scope of the request, its API, and the error.

    Brokers that are too old for an API share a line, because their release matters and not their ids.
    """
    listed = [replace(one, node_id=None) if one.is_too_old else one for one in failures]
    if not listed:
        return
    from kafka_lagoon.snapshot.coverage import alike_failures, failure_row  # noqa: PLC0415  most commands have no failures

    for alike in alike_failures(listed):
        row, node_id = failure_row(alike), alike[0].node_id
        # The broker that answered; the scope may name another one.
        broker = "" if node_id is None else f" of broker {node_id}"
        detail = f" ({row.message})" if row.message else ""
        yield " ".join(f"{row.scope}: {row.api}{broker}: {row.error_name}{detail}".split())
