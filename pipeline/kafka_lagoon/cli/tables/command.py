"""The kind of the commands over the tables: each makes SQL statements about the chosen snapshots, which either engine runs.

Exit code 3 says that a limit is passed, or that it is not known whether it is.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_lagoon.cli.arguments import add_flags, add_table_options, moment_argument, names, number_from, pattern
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.engines import opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.output import CommandOutput, show
from kafka_lagoon.cli.people import Screen, table
from kafka_lagoon.cli.sql_formats import json_blocks
from kafka_lagoon.cli.tables.snapshots import COLUMNS, ChosenSnapshot, choose_snapshots
from kafka_lagoon.query.statements import Ask, tuples
from kafka_lagoon.text import printable
from kafka_lagoon.times import FORMS, Moment

Value = int | str  # for a question mark of a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Conditions of a WHERE clause that must all hold, with the values of their question marks."""

    parts: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()

    def also(self, part: str, *values: Value) -> "Condition":
        """Add a condition."""
        return Condition(parts=(*self.parts, part), values=(*self.values, *values))

    def among(self, column: str, wanted: Sequence[Value] | None) -> "Condition":
        """Add that a column has one of the values; None allows all values.

        DuckDB passes an equality on through the joins of a view, but not a list: a single value costs a quarter of the time.
        """
        if wanted is None:
            return self
        marks = ", ".join("?" for _ in wanted) or "NULL"
        return self.also(f"{column} = ?" if len(wanted) == 1 else f"{column} IN ({marks})", *wanted)

    def matching(self, column: str, regex: str) -> "Condition":
        """Add that the whole text of a column matches a regular expression, in words that both engines know."""
        return self.also(f"{column} <> '' AND regexp_extract({column}, ?, 0) = {column}", f"^(?:{regex})$")

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesContext:
    """The chosen snapshots, one per cluster, how statements are run, and the options of the command."""

    ask: Ask
    options: Namespace
    snapshots: Sequence[ChosenSnapshot]
    now_ms: int

    def instant(self, moment: Moment) -> datetime:
        """A time of the options, which may be relative to now."""
        return datetime.fromtimestamp(moment.at_ms(self.now_ms) / 1000, UTC)

    def limit(self) -> str:
        """The LIMIT clause of --number, or nothing."""
        number: int | None = self.options.number
        return "" if number is None else f"LIMIT {number:d}"

    def rows(
        self, kind: str, statement: str, values: Sequence[Value], columns: Sequence[str], wide: Sequence[str] = ()
    ) -> "QueriedRows":
        """The rows of a statement; their cluster is shown where there are several."""
        of = ("cluster",) if len(self.snapshots) > 1 else ()
        shown = QueriedRows(ask=self.ask, kind=kind, statement=statement, values=values)
        return replace(shown, columns=(*of, *columns), wide=(*of, *(wide or columns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriedRows:
    """Rows of a statement: scripts see all of its columns. `lines` replaces them for people."""

    ask: Ask
    kind: str
    statement: str
    values: Sequence[Value]
    columns: Sequence[str] = ()
    wide: Sequence[str] = ()
    lines: Sequence[str] | None = None

    def own_lines(self) -> Iterable[str] | None:
        """The lines for people, if they see no table."""
        return self.lines

    def table_lines(self, columns: Sequence[str], on: Screen) -> Iterable[str]:
        """An aligned table of these columns."""
        chosen = f"SELECT {', '.join(columns)} FROM ({self.statement}) AS rows"  # noqa: S608  names of ours
        rows = tuples(self.ask(chosen, *self.values))
        return table(columns, rows, on) if rows else []

    def json_blocks(self) -> Iterator[str]:
        """The kind, then every column."""
        statement = f"SELECT '{self.kind}' AS kind, rows.* FROM ({self.statement}) AS rows"  # noqa: S608  names of ours
        return json_blocks(self.ask(statement, *self.values))


def over(*relations: str) -> Kind[TablesContext]:
    """The kind of a command whose statements name these tables and views."""
    return Kind(declare=_declare, run=lambda invocation, answer: _run(invocation, answer, relations))


def _declare(parser: ArgumentParser) -> None:
    add_table_options(parser)
    parser.add_argument(
        "--at", type=moment_argument, metavar="TIME", help=f"the newest snapshot at this time ({FORMS})"
    )
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")
    parser.add_argument("--topic", type=names, metavar="A,B", help="only these topics")
    parser.add_argument("--pattern", type=pattern, metavar="REGEX", help="only whole names that match")
    parser.add_argument("-n", "--number", type=number_from(0), metavar="N", help="at most so many rows of each kind")
    add_flags(
        parser,
        {
            "--json": "one JSON object a row and line, every column, numbers exact",
            "--wide": "more columns, and no name is cut to fit the terminal",
        },
    )
    parser.add_argument("--no-pager", dest="pager", action="store_false", help="never start $PAGER")


def _run(invocation: Invocation, answer: Callable[[TablesContext], CommandOutput], relations: Sequence[str]) -> int:
    options, now_ms = invocation.options, invocation.clock.now_ms()
    settings = loaded(options, invocation.environ, cluster_needed=False)
    at_ms = options.at.at_ms(now_ms) if options.at else None
    with opened(settings, {"snapshots", *relations}, options.engine) as ask:
        snapshots = choose_snapshots(ask, options.cluster, at_ms)
        context = TablesContext(ask=ask, options=options, snapshots=snapshots, now_ms=now_ms)
        output = answer(context)
        return show(replace(output, rows=[snapshot_rows(context), *output.rows]), options)


def snapshot_rows(context: TablesContext) -> QueriedRows:
    """The snapshots that the command is about: a line each for people."""
    of = of_snapshots(context.snapshots)
    return QueriedRows(
        ask=context.ask,
        kind="snapshot",
        statement=f"SELECT {', '.join(COLUMNS)} FROM snapshots WHERE {of} ORDER BY cluster",  # noqa: S608  names of ours
        values=of.values,
        lines=[printable(one.line(context.now_ms, is_newest=context.options.at is None)) for one in context.snapshots],
    )


def of_snapshots(chosen: Sequence[ChosenSnapshot]) -> Condition:
    """Rows of these snapshots; the date is the tables' partition column, so no other day is opened."""
    days = sorted({f"DATE '{snapshot.snapshot_date}'" for snapshot in chosen})
    return (
        Condition()
        .among("cluster", [one.cluster for one in chosen])
        .also(f"snapshot_date = {days[0]}" if len(days) == 1 else f"snapshot_date IN ({', '.join(days)})")
        .among("snapshot_id", [one.snapshot_id for one in chosen])
    )
