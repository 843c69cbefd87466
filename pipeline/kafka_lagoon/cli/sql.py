"""Runs `lagoon sql`: prints the result of a statement or writes it to a file, with DuckDB or Spark."""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafka_lagoon.cli.arguments import add_table_options, file_path
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.engines import opened
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.out_files import out_file
from kafka_lagoon.cli.pipes import write, write_utf8
from kafka_lagoon.cli.sql_formats import FORMATS, JSON, PLAN, TABLE, SqlFormat
from kafka_lagoon.cli.terminal import COMPLETE, say_exactly
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Rows, explains, mentioned, refuse_writing, type_name
from kafka_lagoon.query.views import NAMES, VIEWS, column_comments
from kafka_lagoon.settings import Settings
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.text import aligned, did_you_mean

_DESCRIBE = re.compile(r"desc(?:ribe)?\s+(\w+)\s*;?", re.IGNORECASE)
_FORMATS = "\n".join(f"  {name:7}  {one.meaning}" for name, one in FORMATS.items())
_EPILOG = f"""\
without a statement:
  lagoon sql                  lists the tables and views
  lagoon sql describe TABLE   lists the columns of a table; works before tables exist

formats:
{_FORMATS}

Times without a zone are UTC. A statement is one query, and writes nothing but --out FILE.
"""


@frozen
class SqlArguments:
    """Settings and options of a call; `engine` None means DuckDB where it can read the tables.

    Without a statement the tables and views are listed, or the columns of `described`.
    """

    settings: Settings
    statement: str | None
    described: str | None
    engine: str | None
    format: SqlFormat
    out: Path | None
    pager: bool


def _declare(parser: ArgumentParser) -> None:
    add_table_options(parser)
    parser.add_argument(
        "words", nargs="*", metavar="STATEMENT", help="one SQL statement, in quotes; or: describe TABLE"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="format of the result; default: by the ending of --out, else table"
    )
    parser.add_argument("--json", action="store_true", help="short for --format json")
    parser.add_argument(
        "--out",
        type=file_path,
        metavar="FILE",
        help="write the result to this file, which appears only when it is complete",
    )
    parser.add_argument("--no-pager", dest="pager", action="store_false", help="never start $PAGER")


def sql_arguments(options: Namespace, environ: Mapping[str, str]) -> SqlArguments:
    """Check options and settings; ConfigError lists every fault."""
    words = " ".join(options.words)
    described = _DESCRIBE.fullmatch(words)
    statement = words if words and not described else None
    problems = list(_faults(options, described is not None))
    try:
        settings = loaded(options, environ, cluster_needed=False, tables_needed=statement is not None)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    if problems:
        raise ConfigError(problems)
    name = _format(options)
    return SqlArguments(
        settings=settings,
        statement=statement,
        described=described[1] if described else None,
        engine=options.engine,
        format=PLAN if name == TABLE and statement and explains(statement) else FORMATS[name],
        out=options.out,
        pager=options.pager,
    )


def _faults(options: Namespace, is_describe: bool) -> Iterator[str]:
    statement = " ".join(options.words).strip()
    if options.words and not statement:
        yield "the statement is empty: give a query, or leave it out to list the tables and views"
    if len(options.words) > 1 and not is_describe:
        yield "give the statement as one argument, in quotes"
    given = {"--out": options.out, "--format": options.format, "--json": options.json}
    unused = [name for name, value in given.items() if value and value != TABLE]
    if unused and (is_describe or not statement):
        yield f"{', '.join(unused)}: only with a statement; lists of tables and columns are text"
    if options.json and options.format not in (None, JSON):
        yield f"--json and --format {options.format} exclude each other"
    name = _format(options)
    if FORMATS[name].blocks is None and not options.out:
        yield f"--format {name}: name the file with --out FILE"


def _format(options: Namespace) -> str:
    suffix = options.out.suffix.lower() if options.out else ""
    by_name = next((name for name, one in FORMATS.items() if suffix in one.suffixes), TABLE)
    return JSON if options.json else options.format or by_name


def _sql(call: Invocation) -> int:
    arguments = sql_arguments(call.options, call.environ)
    if arguments.described:
        say_exactly("\n".join(_columns(arguments.described)))
    elif arguments.statement is None:
        say_exactly("\n".join(_relations()))
    else:
        refuse_writing(arguments.statement)
        with opened(arguments.settings, mentioned(arguments.statement), arguments.engine) as ask:
            _show(ask(arguments.statement), arguments)
    return COMPLETE


def _relations() -> list[str]:
    """List every table and view with its comment."""
    tables = [(table.name, table.comment) for table in TABLES]
    views = [(view.name, view.comment) for view in VIEWS]
    lines = aligned([*tables, *views])
    return ["tables:", *lines[: len(tables)], "", "views:", *lines[len(tables) :]]


def _columns(name: str) -> list[str]:
    """List the columns of a table or view with their types and comments; ConfigError for an unknown name."""
    if name.lower() not in NAMES:
        raise ConfigError(
            [f"there is no table or view {name}{did_you_mean(name.lower(), NAMES)}; `lagoon sql` lists them"]
        )
    comments = column_comments(name.lower())
    from kafka_lagoon.query.duckdb_engine import columns_of  # noqa: PLC0415  Spark needs no DuckDB

    fields = columns_of(name.lower())
    return aligned([(field.name, type_name(field.type), comments[field.name]) for field in fields])


def _show(rows: Rows, arguments: SqlArguments) -> None:
    """Print the rows, or write them to the file of --out, which appears only when it is complete."""
    chosen, is_terminal = arguments.format, sys.stdout.isatty()
    if arguments.out:
        with out_file(arguments.out) as part:
            chosen.write(rows, part)
        return
    if not (is_terminal or chosen.is_paged):
        write_utf8()  # as files of --out: an encoding that lacks a letter would spell it out
    make_blocks = (chosen.on_terminal if is_terminal else None) or chosen.blocks
    assert make_blocks  # noqa: S101  `_faults` has refused others
    blocks = make_blocks(rows)
    if chosen.is_paged and arguments.pager and is_terminal:
        from kafka_lagoon.cli.pager import write_in_pager  # noqa: PLC0415  only on a terminal

        write_in_pager(blocks, os.environ)
    else:
        write(blocks)


COMMAND = Command(
    kind=PLAIN,
    summary="Runs one SQL statement over the tables and views.",
    epilog=_EPILOG,
    examples=(
        "lagoon sql 'SELECT cluster, topic, sum(lag) AS lag FROM lag_now GROUP BY ALL ORDER BY lag DESC'",
        "lagoon sql describe lag_now",
        "lagoon sql 'SELECT * FROM lag_now' --format parquet --out lag.parquet",
    ),
    declare=_declare,
    answer=_sql,
)
