"""The kind of the commands over the tables: each makes SQL statements about chosen snapshots, for DuckDB or Spark.

Exit code 3 means that a limit is passed, or may be passed by an unknown value.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

from kafka_lagoon.cli.arguments import add_flags, add_table_options, moment_argument, names, number_from, pattern
from kafka_lagoon.cli.command import Invocation, Kind
from kafka_lagoon.cli.engines import connected
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.output import CommandOutput, Rows, RowSet, show
from kafka_lagoon.cli.people import Screen, moment, table
from kafka_lagoon.cli.sql_formats import json_blocks
from kafka_lagoon.cli.tables.snapshots import COLUMNS, LAST, ChosenSnapshot, MissingSnapshot, choose_snapshots
from kafka_lagoon.delta.arrow import valid_utf8
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import Windows, open_until
from kafka_lagoon.query.statements import Ask, first_tuples, tuples
from kafka_lagoon.query.window import Newest, Span, Window
from kafka_lagoon.text import counted, printable
from kafka_lagoon.times import FORMS, Moment

TOPICS, GROUPS = "topics_published", "consumer_groups_published"

_NAMES = frozenset({"name", "group", "topic"})  # options that name groups and topics
_FEW = 100  # names that are listed in a statement
# Characters that hardly any name has, and that mean nothing in a regular expression.
_PRIVATE_USE = range(0xE000, 0xF900)

Value = int | str  # value of a question mark in a statement


@frozen
class Condition:
    """Conditions of a WHERE clause, joined by AND, with the values of their question marks."""

    parts: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()

    def also(self, part: str, *values: Value) -> "Condition":
        """Add a condition."""
        return Condition(parts=(*self.parts, part), values=(*self.values, *values))

    def among(self, column: str, wanted: Sequence[Value] | None) -> "Condition":
        """Add the condition that a column has one of the values; None allows all values.

        A single value is an equality, which DuckDB pushes through the joins of a view: it takes a quarter of the time of IN.
        """
        if wanted is None:
            return self
        marks = ", ".join("?" for _ in wanted) or "NULL"
        return self.also(f"{column} = ?" if len(wanted) == 1 else f"{column} IN ({marks})", *wanted)

    def among_many(self, column: str, wanted: Sequence[str] | None) -> "Condition":
        """Add the condition of `among` for many names: with tens of thousands of question marks DuckDB takes half a minute."""
        if wanted is None or len(wanted) <= _FEW:
            return self.among(column, wanted)
        text = "".join(wanted)
        separator = next(mark for mark in map(chr, _PRIVATE_USE) if mark not in text)
        return self.also(f"{column} IN (SELECT explode(split(?, '{separator}')))", separator.join(wanted))

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


@frozen
class TablesContext:
    """The chosen snapshots, one per cluster, the engine that runs statements, and the options of the command.

    `missing` are clusters of the settings without a snapshot.
    """

    ask: Ask
    options: Namespace
    snapshots: Sequence[ChosenSnapshot]
    now_ms: int
    missing: Sequence[MissingSnapshot] = ()

    @property
    def as_of_ms(self) -> int:
        """The time that the answer is about, at which snapshots may be late: that of --at, or now."""
        chosen: Moment | None = self.options.at
        return self.now_ms if chosen is None else min(self.now_ms, chosen.at_ms(self.now_ms))

    def instant(self, moment: Moment) -> datetime:
        """Return a time of the options, which may be relative to now."""
        return datetime.fromtimestamp(moment.at_ms(self.now_ms) / 1000, UTC)

    def rows(
        self, kind: str, statement: str, values: Sequence[Value], columns: Sequence[str], wide: Sequence[str] = ()
    ) -> "QueriedRows":
        """Return --number rows of a statement. Their cluster is shown if there are several clusters."""
        of = ("cluster",) if len(self.snapshots) > 1 else ()
        shown = QueriedRows(ask=self.ask, kind=kind, statement=statement, values=values, limit=self.options.number)
        return replace(shown, columns=(*of, *columns), wide=(*of, *(wide or columns)))


@frozen
class QueriedRows:
    """Rows of a statement, at most `limit`. Scripts get all columns, people a table, or `lines` if there are any.

    `empty` are the lines for people without rows. Without --wide people get the rows of `brief`, if it is given: another
    statement with the same values. Columns in `if_any` are shown if a row has a value there that is neither null nor 0.
    With `reads_all` the rows beyond the limit are counted as they come, for a view that costs more than its rows; else by a
    statement of its own, for an engine that sorts few of many rows.
    """

    ask: Ask
    kind: str
    statement: str
    values: Sequence[Value]
    columns: Sequence[str] = ()
    wide: Sequence[str] = ()
    lines: Sequence[str] | None = None
    empty: Sequence[str] = ()
    limit: int | None = None
    brief: str | None = None
    if_any: Collection[str] = ()
    reads_all: bool = False

    def own_lines(self) -> Iterable[str] | None:
        """Return the lines for people, if they get no table."""
        return self.lines

    def table_lines(self, columns: Sequence[str], on: Screen) -> Iterable[str]:
        """Format an aligned table of these columns."""
        statement = self.brief if self.brief and columns == self.columns else self.statement
        whole = statement if self.reads_all else self._limited(statement)
        result = self.ask(f"SELECT {', '.join(columns)} FROM ({whole}) AS rows", *self.values)  # noqa: S608  names of ours
        rows, others = first_tuples(result, self.limit)
        if not rows:
            return self._left_out(statement, 0, others) if self.limit == 0 else self.empty
        shown = [at for at, name in enumerate(columns) if name not in self.if_any or any(row[at] for row in rows)]
        cells = [[row[at] for at in shown] for row in rows]
        return chain(table([columns[at] for at in shown], cells, on), self._left_out(statement, len(rows), others))

    def _limited(self, statement: str) -> str:
        return statement if self.limit is None else f"{statement} LIMIT {self.limit:d}"

    def _left_out(self, statement: str, shown: int, others: int) -> Iterator[str]:
        """Make the line about the rows that the limit leaves out, of which `others` have been read."""
        if self.limit is not None and shown == self.limit:
            if not self.reads_all:
                ((number,),) = tuples(self.ask(f"SELECT count(*) FROM ({statement}) AS rows", *self.values))  # noqa: S608
                others = number - shown
            if others:
                yield f"and {others:,} more" if shown else f"{counted(others, 'row')} not shown"
            elif not shown:
                yield from self.empty

    def json_blocks(self) -> Iterator[str]:
        """Format rows as JSON: the kind, then every column."""
        statement = f"SELECT '{self.kind}' AS kind, rows.* FROM ({self._limited(self.statement)}) AS rows"  # noqa: S608  names of ours
        return json_blocks(self.ask(statement, *self.values))


@frozen
class Reach:
    """The part of the history that a command reads, so that its cost does not grow with the length of the history.

    Tables are opened for one of the `windows` after the other until `suffices` returns true, which is not called for the last
    one. The window None is the whole history, or with `earliest` what has begun since the time that it returns of view
    `PREDECESSORS` (see `open_until`). To choose windows, `windows` may query the tables `read_first`, over the newest
    snapshots that had begun at the times of `starts`.
    """

    windows: Callable[[TablesContext], Windows]
    starts: Callable[[TablesContext], Sequence[datetime]] = lambda _: ()
    suffices: Callable[[TablesContext], bool] = lambda _: True
    earliest: Callable[[TablesContext], datetime | None] | None = None
    read_first: frozenset[str] = frozenset({"snapshots"})


def chosen_alone(context: TablesContext) -> Window:
    """The window of the chosen snapshots, each by itself."""
    return [Span(begin=one.captured_at, end=one.captured_at) for one in context.snapshots]


_CHOSEN_ALONE = Reach(windows=lambda context: [chosen_alone(context)])


Clusters = Callable[[Namespace], Sequence[str] | None]


def over(
    *relations: str, reach: Reach = _CHOSEN_ALONE, clusters: Clusters = lambda options: options.cluster
) -> Kind[TablesContext]:
    """Make the kind of a command whose statements name these tables and views; `clusters` None means all."""
    return Kind(declare=_declare, run=lambda invocation, answer: _run(invocation, answer, relations, reach, clusters))


def _declare(parser: ArgumentParser) -> None:
    add_table_options(parser)
    parser.add_argument(
        "--at", type=moment_argument, metavar="TIME", help=f"take the newest snapshot at this time ({FORMS})"
    )
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")
    parser.add_argument("--topic", type=names, metavar="A,B", help="only these topics")
    parser.add_argument(
        "--pattern", type=pattern, metavar="REGEX", help="only entities whose whole name matches (Python)"
    )
    parser.add_argument("-n", "--number", type=number_from(0), metavar="N", help="print at most N rows of each kind")
    add_flags(
        parser,
        {
            "--json": "print one JSON object per row, with all columns and exact numbers",
            "--wide": "print more columns, and names in full length",
        },
    )
    parser.add_argument("--no-pager", dest="pager", action="store_false", help="never start $PAGER")


def _run(
    invocation: Invocation,
    answer: Callable[[TablesContext], CommandOutput],
    relations: Sequence[str],
    reach: Reach,
    clusters: Clusters,
) -> int:
    options, now_ms = invocation.options, invocation.clock.now_ms()
    settings = loaded(options, invocation.environ, cluster_needed=False)
    _refuse_an_empty_span(options, now_ms)
    for option in _NAMES.intersection(vars(options)):
        setattr(options, option, valid_utf8(getattr(options, option)))  # as the tables have names that are not UTF-8
    at_ms = options.at.at_ms(now_ms) if options.at else None
    latest = None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
    with connected(settings, options.engine) as open_tables:
        ask = open_tables({"snapshots"}, Newest(times=[latest], number=LAST))
        snapshots, missing = choose_snapshots(ask, clusters(options), latest, settings.named_clusters())
        context = TablesContext(ask=ask, options=options, snapshots=snapshots, now_ms=now_ms, missing=missing)
        if not snapshots:
            return _shown(context, CommandOutput(rows=[]))
        if starts := reach.starts(context):
            context = replace(context, ask=open_tables(reach.read_first, Newest(times=starts)))
        windows = reach.windows(context)

        def suffices(ask: Ask) -> bool:
            return reach.suffices(replace(context, ask=ask))

        begin_of = reach.earliest
        earliest = None if begin_of is None else lambda ask: begin_of(replace(context, ask=ask))
        ask = open_until(open_tables, {"snapshots", *relations}, windows, suffices, earliest)
        chosen = replace(context, ask=ask)
        return _shown(chosen, answer(chosen))


def _refuse_an_empty_span(options: Namespace, now_ms: int) -> None:
    """Raise ConfigError if --since is later than --at, or than now: an empty answer would look as if all were well."""
    since: Moment | None = getattr(options, "since", None)
    end_ms = now_ms if options.at is None else options.at.at_ms(now_ms)
    if since is not None and since.at_ms(now_ms) > end_ms:
        end = "in the future" if options.at is None else f"later than --at {moment(end_ms)}"
        raise ConfigError([f"--since {moment(since.at_ms(now_ms))} is {end}: no snapshot is in this span"])


def _shown(context: TablesContext, output: CommandOutput) -> int:
    complaints = chain(missing_lines(context), output.complaints)
    return show(replace(output, rows=[*chosen_rows(context), *output.rows], complaints=complaints), context.options)


def missing_lines(context: TablesContext) -> Iterator[str]:
    """Make lines for clusters without a snapshot, if a limit is given, if they are named, or if there is nothing else."""
    options = context.options
    for missing in context.missing:
        if options.fail_above:
            yield f"{missing.line()}, so no limit is known to be kept"
        elif options.cluster is not None or not context.snapshots:
            yield missing.line()


def matching_names(context: TablesContext, column: str, relation: str, rows: Condition) -> Sequence[str] | None:
    """Return the values of a column that --pattern matches as a whole; None if all values match, or without the option.

    Python matches them, as it does for `lagoon kafka lag`: DuckDB and Spark each read some patterns differently.
    """
    regex: re.Pattern[str] | None = context.options.pattern
    if regex is None:
        return None
    values = context.ask(f"SELECT DISTINCT {column} FROM {relation} WHERE {rows}", *rows.values)  # noqa: S608  names of ours
    names = [name for (name,) in tuples(values) if name is not None]
    matching = [name for name in names if regex.fullmatch(name)]
    return None if len(matching) == len(names) else matching


def missing_names(
    context: TablesContext, column: str, wanted: Sequence[str] | None, relations: Mapping[str, Condition]
) -> Iterator[str]:
    """Make a line for each named topic or group (`column`) that no row of these tables and views has.

    A relation is read only if the ones before it lack a name.
    """
    missing = list(dict.fromkeys(wanted or ()))
    for relation, condition in relations.items():
        if missing:
            named = condition.among(column, missing)
            rows = context.ask(f"SELECT DISTINCT {column} FROM {relation} WHERE {named}", *named.values)  # noqa: S608
            known = {name for (name,) in tuples(rows)}
            missing = [name for name in missing if name not in known]
    yield from (f"{column.removesuffix('_id')} {name}: not in the snapshot" for name in missing)


def chosen_rows(context: TablesContext) -> Iterator[Rows]:
    """Return the chosen snapshots, and the clusters without any; people see one line for each."""
    if context.snapshots:
        yield snapshot_rows(context)
    if context.missing:
        yield RowSet(kind="snapshot", rows=context.missing, line=lambda missing: printable(missing.line()))


def snapshot_rows(context: TablesContext) -> QueriedRows:
    """Return the chosen snapshots; people see one line for each."""
    of = of_snapshots(context.snapshots)
    return QueriedRows(
        ask=context.ask,
        kind="snapshot",
        statement=f"SELECT {', '.join(COLUMNS)} FROM snapshots WHERE {of} ORDER BY cluster",  # noqa: S608  names of ours
        values=of.values,
        lines=[printable(one.line(context.now_ms, context.as_of_ms)) for one in context.snapshots],
    )


def of_snapshots(chosen: Sequence[ChosenSnapshot]) -> Condition:
    """Select the rows of these snapshots, also by date: it is the tables' partition column, so other days are not opened."""
    days = sorted({f"DATE '{snapshot.snapshot_date}'" for snapshot in chosen})
    return (
        Condition()
        .among("cluster", [one.cluster for one in chosen])
        .also(f"snapshot_date = {days[0]}" if len(days) == 1 else f"snapshot_date IN ({', '.join(days)})")
        .among("snapshot_id", [one.snapshot_id for one in chosen])
    )
