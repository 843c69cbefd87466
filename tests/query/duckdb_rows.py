"""Runs one statement over the tables of a folder with DuckDB, as `lagoon sql` does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Rows, mentioned, refuse_writing


@contextmanager
def rows_of(folder: Path, statement: str) -> Iterator[Rows]:
    """Return the result of a statement that reads; TableError has DuckDB's message if it cannot be run."""
    refuse_writing(statement)
    with opened(folder, mentioned(statement)) as ask:
        yield ask(statement)
