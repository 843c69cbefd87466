"""Runs a command over the tables: parses its arguments, chooses snapshots, prints its answer.

Exit code 3 says that a named threshold is passed, or that it is not known whether it is.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from kafka_lagoon.cli.arguments import moment_argument, names, number_from, overrides, parser_of, pattern
from kafka_lagoon.cli.engines import ENGINES, opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.people import Screen, screen, table
from kafka_lagoon.cli.pipes import write, write_in_pager
from kafka_lagoon.cli.sql_formats import json_blocks
from kafka_lagoon.cli.tables.command import Answer, Context, Part, TableCommand, of_snapshots
from kafka_lagoon.cli.tables.snapshots import COLUMNS, choose_snapshots
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, warn
from kafka_lagoon.clock import Clock
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.settings import Settings
from kafka_lagoon.text import printable
from kafka_lagoon.times import FORMS, Moment


def run(command: TableCommand, argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> int:
    """The exit code of the command with these arguments."""
    options, settings = _parsed(command, argv, environ)
    now_ms = clock.now_ms()
    moment: Moment | None = options.at
    with opened(settings, {"snapshots", *command.relations}, options.engine) as ask:
        snapshots = choose_snapshots(ask, options.cluster, None if moment is None else moment.at_ms(now_ms))
        context = Context(ask=ask, options=options, snapshots=snapshots, now_ms=now_ms)
        answer = command.answer(context)
        blocks = _json(context, answer) if options.json else _lines(context, answer, screen(environ, wide=options.wide))
        if options.pager and not options.json and sys.stdout.isatty():
            write_in_pager(blocks, os.environ)
        else:
            write(blocks)
        complaints = list(answer.complaints)
    for line in complaints:
        warn(line)
    return INCOMPLETE if complaints else COMPLETE


def _parsed(
    command: TableCommand, argv: Sequence[str], environ: Mapping[str, str]
) -> tuple[argparse.Namespace, Settings]:
    parser = parser_of(command.name, command.summary)
    parser.add_argument("--at", type=moment_argument, metavar="TIME", help=f"the newest snapshot then ({FORMS})")
    parser.add_argument("--cluster", type=names, metavar="A,B", help="only these clusters; default: all")
    parser.add_argument("--topic", type=names, metavar="A,B", help="only these topics")
    command.declare(parser)
    parser.add_argument("--pattern", type=pattern, metavar="REGEX", help="only whole names that match")
    parser.add_argument("-n", "--number", type=number_from(0), metavar="N", help="at most so many rows of each kind")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a row and line, every column, numbers exact"
    )
    parser.add_argument("--wide", action="store_true", help="more columns, and no name is cut to fit the terminal")
    parser.add_argument("--no-pager", dest="pager", action="store_false", help="never start $PAGER")
    parser.add_argument("--engine", choices=ENGINES, help="default: duckdb for a folder of this machine, else spark")
    options = parser.parse_args(argv)
    return options, loaded(options.conf, environ, overrides(options), options.kafka_properties, cluster_needed=False)


def _json(context: Context, answer: Answer) -> Iterator[str]:
    of = of_snapshots(context.snapshots)
    header = f"SELECT 'snapshot' AS kind, {', '.join(COLUMNS)} FROM snapshots WHERE {of} ORDER BY cluster"  # noqa: S608
    yield from json_blocks(context.ask(header, *of.values))
    for part in answer.parts:
        statement = f"SELECT '{part.kind}' AS kind, rows.* FROM ({part.statement}) AS rows"  # noqa: S608
        yield from json_blocks(context.ask(statement, *part.values))


def _lines(context: Context, answer: Answer, on: Screen) -> Iterator[str]:
    is_newest = context.options.at is None
    yield "".join(f"{printable(one.line(context.now_ms, is_newest=is_newest))}\n" for one in context.snapshots)
    for part in answer.parts:
        yield "".join(f"{line}\n" for line in chain(["", f"{part.kind}:"], _table(context, part, on)))


def _table(context: Context, part: Part, on: Screen) -> Iterator[str]:
    chosen = part.wide if context.options.wide else part.columns
    columns = [*(["cluster"] if len(context.snapshots) > 1 else []), *chosen]
    rows = tuples(context.ask(f"SELECT {', '.join(columns)} FROM ({part.statement}) AS rows", *part.values))  # noqa: S608
    yield from table(columns, rows, on) if rows else ["(none)"]
