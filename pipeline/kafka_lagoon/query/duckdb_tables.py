"""Makes DuckDB queries of Delta tables: deltalake reads a table's log, DuckDB the Parquet files that the log names.

DuckDB prunes files by the partition column and row groups by their statistics, and streams. DeltaTable.to_pyarrow_table
is not used: short processes that called it aborted at their end ("Not obvious" in DESIGN.md).
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from kafka_lagoon.errors import TableError
from kafka_lagoon.settings import UNWRITTEN

Field = Mapping[str, Any]  # a column as Delta's log has it

# Reader features that change nothing about the files that a log names.
_HARMLESS = frozenset({"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"})
_TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}


class NeedsSpark(TableError):
    """A table that DuckDB would read wrongly, or not at all."""


def select_rows(name: str, folder: Path) -> str:
    """A query for the rows of a table as its log has it now; TableError if it is gone, NeedsSpark if Spark must read it."""
    if not folder.is_dir():
        raise TableError(f"there is no table {name} at {folder}: {UNWRITTEN}")
    if "%" in str(folder.absolute()):
        raise NeedsSpark(f"table {name}: deltalake does not find folders with % in their names")
    try:
        table = DeltaTable(str(folder))
        schema = json.loads(table.schema().to_json())
        added = pa.table(table.get_add_actions())
    except (DeltaError, OSError, ValueError) as error:
        raise TableError(f"table {name} at {folder} cannot be read: {' '.join(str(error).split())}") from error
    _refuse_features(name, table)
    fields = [field for field in schema["fields"] if field["name"] not in table.metadata().partition_columns]
    partition_by = [field for field in schema["fields"] if field not in fields]
    paths = [unquote(path) for path in added["path"].to_pylist()]
    values = added["partition"].to_pylist() if partition_by else [{}] * len(paths)
    if not all(_is_in_its_place(path, of) for path, of in zip(paths, values, strict=True)):
        raise NeedsSpark(f"table {name}: DuckDB finds partitions by the names of folders, and its files lie elsewhere")
    files = [folder.absolute() / path for path in paths]
    return _select_files(files, fields, partition_by) if files else select_nothing(schema)


def select_nothing(schema: Mapping[str, Any]) -> str:
    """A query with the columns of a Delta schema and no rows."""
    nulls = ", ".join(f"CAST(NULL AS {_type(field['type'])}) AS {_quoted(field['name'])}" for field in schema["fields"])
    return f"SELECT {nulls} WHERE false"


def _refuse_features(name: str, table: DeltaTable) -> None:
    """Deletion vectors and column mapping would be passed over in silence."""
    protocol, configuration = table.protocol(), table.metadata().configuration
    features = set(protocol.reader_features or ()) - _HARMLESS
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    if features:
        raise NeedsSpark(f"table {name} has {', '.join(sorted(features))}, which DuckDB cannot read here")


def _is_in_its_place(path: str, values: Mapping[str, Any]) -> bool:
    folders = path.split("/")[:-1]
    return "://" not in path and folders == [f"{column}={value}" for column, value in values.items()]


def _select_files(files: Iterable[Path], fields: Iterable[Field], partition_by: Iterable[Field]) -> str:
    """Every column by name and type: files leave out columns that are null in all of their rows."""
    columns = {field["name"]: _type(field["type"]) for field in fields}
    schema = ", ".join(
        f"{_text(name)}: {{name: {_text(name)}, type: {_text(kind)}, default_value: NULL}}"
        for name, kind in columns.items()
    )
    selected = [_quoted(name) for name in columns]
    selected += [_from_path(field["name"], _type(field["type"])) for field in partition_by]
    paths = ", ".join(_text(str(path)) for path in files)
    source = f"read_parquet([{paths}], schema = MAP {{{schema}}}, filename = 'file of row')"
    return f"SELECT {', '.join(selected)} FROM {source}"  # noqa: S608  names and paths are quoted


def _from_path(column: str, kind: str) -> str:
    """A partition column. DuckDB turns a filter on it into one on file names, and opens no others (EXPLAIN: File Filters)."""
    return f"""CAST(regexp_extract("file of row", '/{column}=([^/]*)/[^/]*$', 1) AS {kind}) AS {_quoted(column)}"""


def _type(kind: Any) -> str:
    """A type of Delta's as DuckDB spells it."""
    match kind:
        case {"type": "array"}:
            return f"{_type(kind['elementType'])}[]"
        case {"type": "map"}:
            return f"MAP({_type(kind['keyType'])}, {_type(kind['valueType'])})"
        case {"type": "struct"}:
            fields = (f"{_quoted(one['name'])} {_type(one['type'])}" for one in kind["fields"])
            return f"STRUCT({', '.join(fields)})"
        case _:
            return _TYPES.get(kind) or str(kind)  # decimal(p,s) is spelled alike


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
