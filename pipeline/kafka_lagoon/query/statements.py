"""Shared by both engines of `lagoon sql`: the names that a statement needs, the statements that are refused, and results."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.views import NAMES
from kafka_lagoon.query.window import Newest, Window
from kafka_lagoon.tables.columns import sql_type

# First words of statements that may read. Each engine then checks the parsed statement.
_READS = frozenset(
    {"select", "with", "from", "table", "values", "pivot", "unpivot"}
    | {"describe", "desc", "show", "explain", "summarize"}
)
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
_LISTS_NAMES = re.compile(r"show\b|\b(?:information_schema|duckdb_\w+|sqlite_master)\b", re.IGNORECASE)
_UNKNOWN_RELATION = re.compile(
    r"Table with name \"?(\w+)\"? does not exist|TABLE_OR_VIEW_NOT_FOUND\].*?`(\w+)` cannot be"
)


@frozen
class Rows:
    """The columns of a result, and its rows as a stream. Reading them may raise TableError."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def tuples(rows: Rows) -> list[tuple[Any, ...]]:
    """The rows of a result as Python values."""
    return [
        values
        for batch in rows.batches
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def first_tuples(rows: Rows, limit: int | None) -> tuple[list[tuple[Any, ...]], int]:
    """At most `limit` rows of a result, and the number of the others, which are read and not kept."""
    if limit is None:
        return tuples(rows), 0
    kept: list[tuple[Any, ...]] = []
    others = 0
    for batch in rows.batches:
        some = batch.slice(0, limit - len(kept))
        kept += tuples(Rows(schema=rows.schema, batches=iter([some])))
        others += batch.num_rows - some.num_rows
    return kept, others


class Ask(Protocol):
    """Runs a statement over open tables; `values` replace its question marks."""

    def __call__(self, statement: str, *values: int | str) -> Rows:
        """Run a statement. The result must be read before the next statement runs; TableError if it cannot be run."""


class Open(Protocol):
    """Opens tables and views; each call replaces the tables and views of the call before."""

    def __call__(self, names: Iterable[str], window: Window | Newest | None) -> Ask:
        """Open tables and views over a window, or None for the whole history; TableError if one cannot be read.

        Rows that were not yet read from statements of the call before are lost.
        """


def mentioned(statement: str) -> set[str]:
    """Tables and views that a statement names, or all of them if it lists tables; only these need to be opened."""
    if _LISTS_NAMES.search(statement):
        return set(NAMES)
    return set(NAMES) & set(re.findall(r"\w+", statement.lower()))


def refuse_writing(statement: str) -> None:
    """Raise ConfigError if the first word of a statement is not one that reads, before any table is opened.

    ConfigError also for words of a command line that are not UTF-8, which Python keeps and no engine accepts.
    """
    if not statement.isascii() and any("\ud800" <= character <= "\udfff" for character in statement):
        raise ConfigError(["the statement is not text in UTF-8"])
    word = _first_word(statement)
    if word.lower() not in _READS:
        raise refused("SELECT and other statements that read", word or "an empty statement")


def explains(statement: str) -> bool:
    """True if the result of a statement is a plan: a text of many lines."""
    return _first_word(statement).lower() == "explain"


def _first_word(statement: str) -> str:
    match = _FIRST_WORD.match(statement)
    return match[1] if match else ""


def refused(runs: str, what: str = "") -> ConfigError:
    """The error for a statement that is refused, with what `lagoon sql` accepts."""
    cure = "; --out FILE writes a result into a file" if what.lower() in {"copy", "export"} else ""
    return ConfigError([f"{what or 'this statement'}: lagoon sql runs {runs}{cure}"])


def type_name(kind: pa.DataType) -> str:
    """The type of a column as Spark and the tables' DDL spell it."""
    if pa.types.is_list(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {type_name(field.type)}' for field in kind)}>"
    return sql_type(kind)


def failed(message: str) -> TableError:
    """An engine's error on one line, with a hint if a similar name exists."""
    unknown = _UNKNOWN_RELATION.search(message)
    if unknown:
        from kafka_lagoon.text import did_you_mean  # noqa: PLC0415  only for what is not found

        name = unknown[1] or unknown[2]
        return TableError(f"there is no table or view {name}{did_you_mean(name, NAMES)}; `lagoon sql` lists them")
    return TableError(" ".join(message.split()))
