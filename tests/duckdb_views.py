"""A connection to DuckDB with a few views over a warehouse: all of them take two seconds of a processor."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from kafka_lagoon.query.duckdb_engine import make_available
from kafka_lagoon.query.statements import Ask, Rows
from kafka_lagoon.warehouse_urls import local_folder


@contextmanager
def connected(warehouse: str | Path, names: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Show these tables and views of a warehouse in a folder, as they are now."""
    folder = local_folder(str(warehouse))
    assert folder is not None
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        make_available(connection, folder, names)
        yield connection


def ask_of(connection: duckdb.DuckDBPyConnection) -> Ask:
    """Run statements of ours on a connection."""

    def ask(statement: str, *values: int | str) -> Rows:
        reader = connection.sql(statement, params=values or None).to_arrow_reader()
        return Rows(schema=reader.schema, batches=iter(reader))

    return ask
