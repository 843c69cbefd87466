"""Asks one statement of the tables in a folder, by DuckDB, as `lagoon sql` does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Rows, mentioned, refuse_writing


@contextmanager
def rows_of(folder: Path, statement: str) -> Iterator[Rows]:
    """The result of one statement that reads; TableError with DuckDB's words if it cannot be run."""
    refuse_writing(statement)
    with opened(folder, mentioned(statement)) as ask:
        yield ask(statement)
