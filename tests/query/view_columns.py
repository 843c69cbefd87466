"""The columns of views as DuckDB binds them, which `query/views/columns.json` keeps for connections that are to be quick.

`python -m tests.query.view_columns` writes the file; a test compares.
"""

import json
from pathlib import Path

import duckdb

from kafka_lagoon.query import views
from kafka_lagoon.query.duckdb_engine import create_empty

FILE = Path(views.__file__).with_name("views") / "columns.json"


def bound() -> str:
    """Return the text of the file: the release of DuckDB, and for each view its columns and their types."""
    with duckdb.connect() as connection:
        create_empty(connection, views.NAMES, known={})
        columns = {view.name: _columns(connection, view.name) for view in views.VIEWS}
    return json.dumps({"duckdb": duckdb.__version__.rpartition(".")[0], "views": columns}, indent=2) + "\n"


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    return {column: kind for column, kind, *_ in connection.execute(f"DESCRIBE {name}").fetchall()}


if __name__ == "__main__":
    FILE.write_text(bound(), "utf-8")
