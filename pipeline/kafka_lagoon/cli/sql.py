"""Runs `lagoon sql`: prints or writes the result of a statement, by DuckDB or by Spark."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from kafka_lagoon.cli.engines import opened
from kafka_lagoon.cli.out_files import out_file
from kafka_lagoon.cli.pipes import write, write_in_pager
from kafka_lagoon.cli.sql_arguments import PARQUET, TABLE, SqlArguments
from kafka_lagoon.cli.sql_formats import csv_blocks, json_blocks, table_blocks, write_parquet
from kafka_lagoon.cli.terminal import COMPLETE, say_exactly
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query import duckdb_engine as sql_duckdb
from kafka_lagoon.query.statements import Rows, mentioned, refuse_writing, type_name
from kafka_lagoon.query.views import NAMES, VIEWS, column_comments
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.text import aligned, did_you_mean, printable


def run(arguments: SqlArguments) -> int:
    """Print or write the result of the statement, or what tables, views and columns there are."""
    if arguments.described:
        say_exactly("\n".join(_columns(arguments.described)))
    elif arguments.statement is None:
        say_exactly("\n".join(_relations()))
    else:
        with ExitStack() as stack:
            _show(_rows(stack, arguments, arguments.statement), arguments)
    return COMPLETE


def _relations() -> list[str]:
    """Every table and view with its comment."""
    tables = [(table.name, table.comment) for table in TABLES]
    views = [(view.name, view.comment) for view in VIEWS]
    lines = aligned([*tables, *views])
    return ["tables:", *lines[: len(tables)], "", "views:", *lines[len(tables) :]]


def _columns(name: str) -> list[str]:
    """The columns of a table or view with their types and comments; ConfigError if there is none of that name."""
    if name.lower() not in NAMES:
        raise ConfigError(
            [f"there is no table or view {name}{did_you_mean(name.lower(), NAMES)}; `lagoon sql` lists them"]
        )
    comments = column_comments(name.lower())
    fields = sql_duckdb.columns_of(name.lower())
    return aligned([(field.name, type_name(field.type), comments[field.name]) for field in fields])


def _rows(stack: ExitStack, arguments: SqlArguments, statement: str) -> Rows:
    refuse_writing(statement)
    return stack.enter_context(opened(arguments.settings, mentioned(statement), arguments.engine))(statement)


def _show(rows: Rows, arguments: SqlArguments) -> None:
    if arguments.out:
        _write_file(rows, arguments.format, arguments.out)
    elif arguments.format == TABLE and arguments.pager and sys.stdout.isatty():
        write_in_pager(table_blocks(rows), os.environ)
    else:
        write(_blocks(rows, arguments.format, harmless=sys.stdout.isatty()))


def _blocks(rows: Rows, kind: str, *, harmless: bool) -> Iterator[str]:
    match kind:
        case "csv":
            return csv_blocks(rows, printable if harmless else str)
        case "json":
            return json_blocks(rows)
        case _:
            return table_blocks(rows)


def _write_file(rows: Rows, kind: str, path: Path) -> None:
    """The whole result under its name, or nothing."""
    with out_file(path) as part:
        if kind == PARQUET:
            write_parquet(rows, part)
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                file.writelines(_blocks(rows, kind, harmless=False))
