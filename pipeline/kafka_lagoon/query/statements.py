"""Shared by both engines of `lagoon sql`: which names a statement needs, what it may do, and the rows of its result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.query.views import NAMES
from kafka_lagoon.tables.columns import sql_type
from kafka_lagoon.text import did_you_mean

# First words of statements that may read: each engine then looks at what its parser makes of the whole.
_READS = frozenset(
    {"select", "with", "from", "table", "values", "pivot", "unpivot"}
    | {"describe", "desc", "show", "explain", "summarize"}
)
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
_LISTS_NAMES = re.compile(r"\s*show\b|\b(?:information_schema|duckdb_\w+|sqlite_master)\b", re.IGNORECASE)
_UNKNOWN_RELATION = re.compile(
    r"Table with name \"?(\w+)\"? does not exist|TABLE_OR_VIEW_NOT_FOUND\].*?`(\w+)` cannot be"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A result: its columns, and its rows as they come. Reading them may raise TableError."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def tuples(rows: Rows) -> list[tuple[Any, ...]]:
    """The rows of a result as Python's values."""
    return [
        values
        for batch in rows.batches
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


class Ask(Protocol):
    """Runs a statement over tables that are open; `values` stand for its question marks; it has no others."""

    def __call__(self, statement: str, *values: int | str) -> Rows:
        """Its result, to be read before the next statement runs; TableError if it cannot be run."""


def mentioned(statement: str) -> set[str]:
    """The tables and views that a statement names, all of them if it asks for a list; others need not be opened."""
    if _LISTS_NAMES.search(statement):
        return set(NAMES)
    return set(NAMES) & set(re.findall(r"\w+", statement.lower()))


def refuse_writing(statement: str) -> None:
    """ConfigError if a statement begins as none that reads, before anything is opened."""
    match = _FIRST_WORD.match(statement)
    word = match[1] if match else ""
    if word.lower() not in _READS:
        raise refused("SELECT and other statements that read", word or "an empty statement")


def refused(runs: str, what: str = "") -> ConfigError:
    """The error for a statement that is not run: what `lagoon sql` runs instead."""
    cure = "; --out FILE writes a result into a file" if what.lower() in {"copy", "export"} else ""
    return ConfigError([f"{what or 'this statement'}: lagoon sql runs {runs}{cure}"])


def type_name(kind: pa.DataType) -> str:
    """A column's type as Spark and the tables' DDL spell it."""
    if pa.types.is_list(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {type_name(field.type)}' for field in kind)}>"
    return sql_type(kind)


def failed(message: str) -> TableError:
    """The error of an engine on one line, with a hint where a name of ours is near."""
    unknown = _UNKNOWN_RELATION.search(message)
    if unknown:
        name = unknown[1] or unknown[2]
        return TableError(f"there is no table or view {name}{did_you_mean(name, NAMES)}; `lagoon sql` lists them")
    return TableError(" ".join(message.split()))
