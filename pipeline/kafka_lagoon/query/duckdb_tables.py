"""Makes DuckDB queries over Delta tables: deltalake reads a table's log, DuckDB the Parquet files that the log names.

DuckDB prunes files by the partition column and row groups by their statistics, and streams. Of a table with few files it
knows the number of rows, so it builds joins on the smaller side and prunes row groups by what is joined
(docs/decisions/queries-and-report.md). DeltaTable.to_pyarrow_table is not used: short processes that called it aborted at
exit (docs/decisions/storage.md).
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa

from kafka_lagoon.errors import SchemaChanged, TableError
from kafka_lagoon.folders import is_folder
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.window import Newest, Window, condition, of_table, pruned, with_newest
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.table import UNWRITTEN, Table, differences

if TYPE_CHECKING:
    from deltalake import DeltaTable

Field = Mapping[str, Any]  # a column in the schema of a Delta log

# Reader features that do not change how files are read.
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


_SNAPSHOTS = STATE_TABLES[-1].name
_FILE = "file of row"  # a column with the path of the file
_MOST_COUNTED = 1_000  # files whose footers are read for the number of rows: 0.1 ms each
_DECIMAL = re.compile(r"decimal\(\d{1,2},\d{1,2}\)")
# Names that DuckDB does not take literally: it expands patterns, reads all files of a folder, cuts names at a NUL, or loops.
_DOUBTFUL = re.compile(r"[*?\[\0]|(^|/)\.?$")
_WILD = re.compile(r"[*?\[]")
# Errors of deltalake have colours for terminals, the frames of a stack where RUST_BACKTRACE is set, and all fields of a file.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAMES = re.compile(r"\n +0: .*", re.DOTALL)
_FILE_OF_LOG = re.compile(r'ParsedLogPath \{.*?filename: "([^"]*)".*?file_type: \w+ \}')
_PART = re.compile(r"\.checkpoint\.\d{10}\.(\d{10})\.parquet$")  # with the number of parts
# Spark and Delta Kernel look for another checkpoint then.
_NO_CHECKPOINT = "Had a _last_checkpoint hint"
# A feature, or a version of the protocol, that a newer Delta may know; and a table whose commits a catalog has.
_UNKNOWN_FEATURE = re.compile("Unsupported(?! Delta table type)|catalog-managed")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class NeedsSpark(TableError):
    """A table that DuckDB would read incorrectly, or not at all."""


@frozen(kw_only=False)
class TableQuery:
    """A query for rows of a table, and about how many there are, None if the log does not tell."""

    sql: str
    rows: int | None = None


def select_rows(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    folder: Path,
    table: Table | None = None,
    window: Window | Newest | None = None,
) -> TableQuery:
    """The current rows of a table; TableError if it is gone, NeedsSpark if only Spark can read it.

    The connection looks up the columns of the files. The log is untrusted. With `table`, its columns must be the declared
    ones (SchemaChanged). The files must lie in the table's own folder. With a `window` too, only its rows are selected, and
    files that have none of them by their statistics are left out; `Newest` leaves out files only, of table snapshots.
    """
    if not is_folder(folder):
        raise TableError(f"there is no table {name} at {folder}: {UNWRITTEN}")
    if "%" in str(folder.absolute()):
        raise NeedsSpark(f"table {name}: deltalake does not find folders with % in their names")
    from deltalake import DeltaTable  # noqa: PLC0415  statements without tables read no log
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    try:
        delta = DeltaTable(str(folder))
        schema = json.loads(delta.schema().to_json())
        partition_by = delta.metadata().partition_columns
        added = pa.table(delta.get_add_actions())
    except (DeltaError, OSError, ValueError) as error:
        reason = _reason(error, folder)
        if _UNKNOWN_FEATURE.search(reason):
            raise NeedsSpark(f"table {name} has what deltalake cannot read: {reason}") from error
        raise TableError(f"table {name} at {folder} cannot be read: {reason}") from error
    if not _has_begin(folder / "_delta_log"):
        raise TableError(
            f"table {name} at {folder} cannot be read: its log has neither version 0 nor a complete checkpoint"
        )
    faults = differences(table, schema["fields"], partition_by) if table else []
    if faults:
        raise SchemaChanged(f"table {name} at {folder} is not as we made it: {'; '.join(faults)}")
    _refuse_features(name, delta)
    if isinstance(window, Newest):
        added, window = added.take(with_newest(window, added)) if name == _SNAPSHOTS else added, None
    times = of_table(table, window) if table and window is not None else None
    chosen = None if times is None else pruned(times, added)
    files = _files(name, folder, added if chosen is None else added.take(chosen.files), partition_by)
    query = _select_files(connection, files, schema["fields"], partition_by) if files else select_nothing(schema)
    query = _in_order(query, table, schema) if table else query
    if times is None or chosen is None:
        return TableQuery(query)
    return TableQuery(f"SELECT * FROM ({query}) WHERE {condition(times) or 'false'}", chosen.rows)  # noqa: S608  times


def _reason(error: Exception, folder: Path) -> str:
    """An error of deltalake in one line, with the cure for a hint at a checkpoint that is gone."""
    text = _FILE_OF_LOG.sub(r"\1", _FRAMES.sub("", _COLOUR.sub("", str(error))))
    cure = f": remove {folder}/_delta_log/_last_checkpoint, which no reader needs" if _NO_CHECKPOINT in text else ""
    return f"{' '.join(text.split())}{cure}"


def _has_begin(log: Path) -> bool:
    """False for a log without the commits of its first files: deltalake would read later ones alone if they have the schema."""
    if (log / f"{0:020d}.json").exists():
        return True
    parts = Counter[tuple[str, int]]()
    for path in log.glob("*.checkpoint.*"):
        if path.stat().st_size:
            part = _PART.search(path.name)
            parts[path.name[:20], int(part[1]) if part else 1] += 1
    return any(count >= number for (_, number), count in parts.items())


def _files(name: str, folder: Path, added: pa.Table, partition_by: Sequence[str]) -> list[Path]:
    """The files of a log, which must lie in the table's folder, each below the folder of its partition."""
    paths = [unquote(path) for path in added["path"].to_pylist()]
    values = added["partition"].to_pylist() if partition_by else [{}] * len(paths)
    _refuse_foreign_files(name, folder, paths)
    if not all(_is_in_its_place(path, of) for path, of in zip(paths, values, strict=True)):
        raise NeedsSpark(f"table {name}: DuckDB finds partitions by the names of folders, and its files lie elsewhere")
    root = folder.absolute()
    files = [root / path for path in paths]
    is_doubtful = _DOUBTFUL.search(str(root)) is not None
    for path, file in zip(paths, files, strict=True):
        if (is_doubtful or _DOUBTFUL.search(path)) and not file.is_file():
            raise TableError(f"table {name} at {folder} names a file that is not there: {path!r}")
    return files


def _refuse_foreign_files(name: str, folder: Path, paths: Sequence[str]) -> None:
    """Refuse files outside of the table's folder, which a Delta log may name."""
    for path in paths:
        if _SCHEME.match(path) or path.startswith("/") or ".." in path.split("/"):
            outside = f"table {name} at {folder} names a file that does not lie in it: {path}"
            raise TableError(f"{outside}; if that is your clone, --engine spark reads it")


def _in_order(query: str, table: Table, schema: Mapping[str, Any]) -> str:
    """The columns of a query as the table declares them; columns that the files are too old for are null."""
    there = {field["name"] for field in schema["fields"]}
    columns = [
        _quoted(field["name"])
        if field["name"] in there
        else f"CAST(NULL AS {_type(field['type'])}) AS {_quoted(field['name'])}"
        for field in table.delta_schema()["fields"]
    ]
    return f"SELECT {', '.join(columns)} FROM ({query})"  # noqa: S608  columns of ours


def select_nothing(schema: Mapping[str, Any]) -> str:
    """A query with the columns of a Delta schema and no rows. It names no file, so DuckDB binds it at no cost."""
    nulls = ", ".join(f"CAST(NULL AS {_type(field['type'])}) AS {_quoted(field['name'])}" for field in schema["fields"])
    return f"SELECT {nulls} WHERE false"


def columns_in_sql(schema: Mapping[str, Any]) -> str:
    """The columns of a Delta schema, as CREATE TABLE has them."""
    return ", ".join(f"{_quoted(field['name'])} {_type(field['type'])}" for field in schema["fields"])


def _refuse_features(name: str, table: "DeltaTable") -> None:
    """Refuse deletion vectors and column mapping, which would be ignored silently."""
    protocol, configuration = table.protocol(), table.metadata().configuration
    features = set(protocol.reader_features or ()) - _HARMLESS
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    if features:
        raise NeedsSpark(f"table {name} has {', '.join(sorted(features))}, which DuckDB cannot read here")


def _is_in_its_place(path: str, values: Mapping[str, Any]) -> bool:
    folders = path.split("/")[:-1]
    return folders == [f"{column}={value}" for column, value in values.items()]


def _select_files(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], fields: Sequence[Field], partition_by: Sequence[str]
) -> str:
    """Select every column by name and type: files omit columns that are null in all of their rows, so all may lack one."""
    paths = ", ".join(literal(pattern_of(path)) for path in files)
    columns = {field["name"]: _type(field["type"]) for field in fields if field["name"] not in partition_by}
    selected = {name: _quoted(name) for name in columns}
    schema = ", ".join(
        f"{literal(name)}: {{name: {literal(name)}, type: {literal(kind)}, default_value: NULL}}"
        for name, kind in columns.items()
    )
    source = f"read_parquet([{paths}], schema = MAP {{{schema}}}, filename = {literal(_FILE)})"
    if len(files) <= _MOST_COUNTED:
        counted = (
            f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false, filename = {literal(_FILE)})"
        )
        with suppress(duckdb.Error):  # a damaged file matters only to a statement that reads its rows
            there = {name.lower() for name in connection.sql(f"FROM {counted}").columns}
            source = counted
            selected = {
                name: f"CAST({_quoted(name) if name.lower() in there else 'NULL'} AS {kind}) AS {_quoted(name)}"
                for name, kind in columns.items()
            }
    by_path = [_from_path(field["name"], _type(field["type"])) for field in fields if field["name"] in partition_by]
    return f"SELECT {', '.join([*selected.values(), *by_path])} FROM {source}"  # noqa: S608  names and paths are quoted


def _from_path(column: str, kind: str) -> str:
    """The partition column, from the path of the file.

    DuckDB turns a filter on it into a filter on file names (EXPLAIN: File Filters).
    """
    pattern = literal(f"/{re.escape(column)}=([^/]*)/[^/]*$")
    return f"CAST(regexp_extract({_quoted(_FILE)}, {pattern}, 1) AS {kind}) AS {_quoted(column)}"


def _type(kind: Any) -> str:
    """A Delta type in DuckDB's spelling."""
    match kind:
        case {"type": "array"}:
            return f"{_type(kind['elementType'])}[]"
        case {"type": "map"}:
            return f"MAP({_type(kind['keyType'])}, {_type(kind['valueType'])})"
        case {"type": "struct"}:
            fields = (f"{_quoted(one['name'])} {_type(one['type'])}" for one in kind["fields"])
            return f"STRUCT({', '.join(fields)})"
        case str() if kind in _TYPES:
            return _TYPES[kind]
        case str() if _DECIMAL.fullmatch(kind):
            return kind  # both spell these alike
        case _:
            raise NeedsSpark(f"DuckDB does not know type {json.dumps(kind)} of Delta's")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def pattern_of(path: Path) -> str:
    """The pattern that only this path matches: DuckDB has no other way to name a path with such a character."""
    return _WILD.sub(r"[\g<0>]", str(path))


def literal(value: str) -> str:
    """The text as a SQL literal."""
    return "'" + value.replace("'", "''") + "'"
