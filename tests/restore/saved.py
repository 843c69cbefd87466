"""Makes published views with given rows, and queries them with DuckDB."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from kafka_lagoon.query.duckdb_engine import columns_of
from kafka_lagoon.query.statements import Ask
from tests.duckdb_views import ask_of


@contextmanager
def saved(**views: Sequence[Mapping[str, Any]]) -> Iterator[Ask]:
    """Query views with these rows; columns that a row lacks are null, and columns that a view lacks are an error."""
    with closing(duckdb.connect(":memory:")) as connection:
        for name, rows in views.items():
            schema = columns_of(name)
            assert not {column for row in rows for column in row} - set(schema.names), name
            table = pa.Table.from_pylist([dict.fromkeys(schema.names) | dict(row) for row in rows], schema)
            connection.register(f"rows_{name}", table)
            connection.execute(f"CREATE TABLE {name} AS FROM rows_{name}")
        yield ask_of(connection)
