"""Runs SQL over the tables with DuckDB, without Spark: rows stream, and nothing is fetched from a network.

A statement reads only files of the warehouse, changes no setting and loads no extension.
"""

import json
import resource
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.folders import is_folder, place_for_temporary_files
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.duckdb_statements import refuse_all_but_a_query
from kafka_lagoon.query.duckdb_tables import TableQuery, columns_in_sql, literal, pattern_of, select_rows
from kafka_lagoon.query.statements import Ask, Open, Rows, failed, refuse_writing
from kafka_lagoon.query.views import NAMES, VIEWS, in_order_of_reading, with_needs
from kafka_lagoon.query.window import Newest, Window
from kafka_lagoon.tables.table import Table

T = TypeVar("T")
Created = tuple[str, str]  # TABLE or VIEW, and the name

# Spark functions in the SQL of views that DuckDB has under another name.
_MACROS = (
    "unix_millis(instant) AS epoch_ms(instant)",
    "timestamp_millis(ms) AS make_timestamptz(ms * 1000)",
    "explode(list) AS unnest(list)",
    "array_join(list, separator) AS array_to_string(list, separator)",
)
_FEW_ROWS = 20_000
# Views with few rows for each snapshot that other views name: day_snapshots is named more than ten times.
_NAMED_OFTEN = frozenset({"day_snapshots", "unstored_snapshots"})
_OF_SNAPSHOTS = _NAMED_OFTEN | {"table_coverage", "change_days", "throughput_days"}
_ROWS_PER_BATCH = 2048  # DuckDB's vector size
_INTERRUPT_EVERY_S = 0.05
_OUT_OF_MEMORY = "Out of Memory Error"  # a stream has Arrow's class of error
# Address space of the threads and allocators of DuckDB and deltalake, most of which is never used.
_ADDRESS_SPACE_MB = 1536


@frozen(kw_only=False)
class Limits:
    """Resources of this machine that queries may use, as the settings of [sql] define them."""

    memory_mb: int | None = None
    threads: int | None = None
    spill_mb: int | None = None
    timeout_ms: int = 0


_NO_LIMITS = Limits()


@contextmanager
def opened(
    folder: Path, names: Iterable[str], limits: Limits = _NO_LIMITS, window: Window | Newest | None = None
) -> Iterator[Ask]:
    """Open tables and views of these `names` as they are now, and yield a function that runs statements.

    With a `window`, rows of other snapshots are missing, from views too. The rows of a result must be read before the next
    statement runs. TableError with DuckDB's words if a statement cannot be run.
    """
    with connected(folder, limits) as open_tables:
        yield open_tables(names, window)


@contextmanager
def connected(folder: Path, limits: Limits = _NO_LIMITS) -> Iterator[Open]:
    """Yield a function that opens tables and views as `opened` does; each call replaces those of the call before.

    A connection costs 20 ms, so a command that first reads a few rows to choose a window uses one connection for both.
    TableError if there is no folder for temporary files, or too little address space.
    """
    _refuse_little_address_space()
    with place_for_temporary_files():  # mode 0700, and nobody can have created it before
        spill_folder = tempfile.TemporaryDirectory(prefix="lagoon-sql-")
    with (
        spill_folder as spills,
        closing(_connect()) as connection,
        ThreadPoolExecutor(1) as thread,
    ):
        _limit(connection, spills, limits)
        _confine(connection, folder)
        work, there = _Work(thread, connection, limits.timeout_ms), list[Created]()

        def ask(statement: str, *values: Any) -> Rows:
            refuse_writing(statement)
            reader = work.done(_run, connection, statement, values)
            return Rows(schema=reader.schema, batches=_batches(work, reader))

        def open_tables(names: Iterable[str], window: Window | Newest | None) -> Ask:
            there[:] = work.done(make_available, connection, folder, names, window, tuple(there))
            return ask

        try:
            yield open_tables
        finally:
            connection.interrupt()  # a caller that stops reading does not wait for the rest


def columns_of(name: str) -> pa.Schema:
    """The columns of a table or view, as DuckDB would return them from empty tables."""
    with _connect() as connection:
        create_empty(connection, {name})
        return connection.sql(f"FROM {name}").to_arrow_table().schema


def make_available(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    names: Iterable[str] = NAMES,
    window: Window | Newest | None = None,
    there: Sequence[Created] | None = None,
) -> list[Created]:
    """Create temporary views with these `names` over the present files of the tables; returns the names that were created.

    They replace those that an earlier call created: `there`, or None if the caller does not know them. A table that a later
    version added is empty until a run of that version creates it. TableError if another table is gone, NeedsSpark if DuckDB
    cannot read it.
    """
    wanted, is_bounded = with_needs(names), window is not None and not isinstance(window, Newest)
    once = _OF_SNAPSHOTS if is_bounded or not _NAMED_OFTEN.isdisjoint(wanted) else frozenset()
    former = _former(connection, wanted) if there is None else there
    return create(
        connection, wanted, lambda table: _select(connection, table, folder / table.name, window), once, former
    )


def _select(
    connection: duckdb.DuckDBPyConnection, table: Table, folder: Path, window: Window | Newest | None
) -> TableQuery | None:
    """Select the rows of a table; None if the table does not exist yet, because a later version added it."""
    if table.is_optional and not is_folder(folder):
        return None
    return select_rows(connection, table.name, folder, table, window)


def create(
    connection: duckdb.DuckDBPyConnection,
    names: Iterable[str],
    select: Callable[[Table], TableQuery | None],
    once: Collection[str] = (),
    there: Sequence[Created] = (),
) -> list[Created]:
    """Create tables, views and the tables and views that they read, in place of those in `there`; returns the created names.

    `select` returns the query of a table's rows, None for an empty table. Views in `once` are computed once, and tables with
    few rows are read once, because a view over files opens the files each time it is named.

    When DuckDB creates a view, it binds everything below it, and opens files for that. So all tables and views are first
    created as empty tables. Then views replace them, the last one first, so that each is bound to empty tables. Tables with
    rows follow, and then the views that are computed once.
    """
    wanted = with_needs(names)
    rows = {table.name: select(table) for table in in_order_of_reading(wanted)}
    views = [view for view in VIEWS if view.name in wanted]
    made = [("VIEW", view.name, view.query) for view in reversed(views) if view.name not in once]
    made += [(_kind(query), name, query.sql) for name, query in rows.items() if query]
    made += [("TABLE", view.name, view.query) for view in views if view.name in once]
    try:
        for kind, name in there:
            connection.execute(f"DROP {kind} {name}")
        create_empty(connection, wanted)
        for kind, name, query in made:
            connection.execute(f"DROP TABLE {name}")
            connection.execute(f"CREATE TEMP {kind} {name} AS {query}")
    except duckdb.Error as error:
        raise _failed(error) from error
    kinds = dict.fromkeys(wanted, "TABLE") | {name: kind for kind, name, _ in made}
    return [(kind, name) for name, kind in kinds.items()]


def create_empty(
    connection: duckdb.DuckDBPyConnection, names: Iterable[str], known: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Create an empty table for each of these tables and views and those that they read, and the macros of views.

    `known` has the columns of views and their types, by default from columns.json, which takes a tenth of the time of binding
    each view.
    """
    wanted, known = with_needs(names), _known_columns(duckdb.__version__) if known is None else known
    for macro in _MACROS:
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {macro}")
    for table in in_order_of_reading(wanted):
        connection.execute(f"CREATE TEMP TABLE {table.name} ({columns_in_sql(table.delta_schema())})")
    for view in VIEWS:
        if view.name in wanted:
            columns = ", ".join(f'"{column}" {kind}' for column, kind in known.get(view.name, {}).items())
            content = f"({columns})" if columns else f"AS {view.query} WITH NO DATA"
            connection.execute(f"CREATE TEMP TABLE {view.name} {content}")


@cache
def _known_columns(version: str) -> Mapping[str, Mapping[str, str]]:
    """The columns of views and their types in columns.json; none for another version of DuckDB, whose types may differ."""
    known = json.loads((files("kafka_lagoon.query") / "views" / "columns.json").read_text("utf-8"))
    views: Mapping[str, Mapping[str, str]] = known["views"]
    return views if version.startswith(f"{known['duckdb']}.") else {}


def _former(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> list[Created]:
    """The names that an earlier call created in the connection of a notebook. Reading DuckDB's catalog takes 10 ms."""
    there = connection.execute(
        "SELECT 'TABLE', table_name FROM duckdb_tables() WHERE temporary "
        "UNION ALL SELECT 'VIEW', view_name FROM duckdb_views() WHERE temporary"
    )
    return [(kind, name) for kind, name in there.fetchall() if name.lower() in names]


def _kind(query: TableQuery) -> str:
    return "TABLE" if query.rows is not None and query.rows <= _FEW_ROWS else "VIEW"


def _connect() -> duckdb.DuckDBPyConnection:
    """Open a database in memory, in UTC, that installs and loads nothing by itself."""
    connection = duckdb.connect(":memory:")
    options = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "parquet_metadata_cache": "true",  # data files never change; each use of a view would read their footers again
        # Sums that are taken before a join group the rows by snapshot first, which leaves as many (decision 201).
        "disabled_optimizers": literal("partial_aggregate_pushdown"),
        "TimeZone": literal("UTC"),
    }
    _set(connection, options)
    return connection


def confined_to(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a database in memory that reads the files of one folder, and nothing else."""
    connection = _connect()
    _confine(connection, folder)
    return connection


def _refuse_little_address_space() -> None:
    """TableError if a limit of the process (RLIMIT_AS) leaves too little for DuckDB and deltalake.

    Where a thread of deltalake cannot start, its call may never return, or ends the process (SIGABRT, SIGSEGV).
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or "deltalake" in sys.modules:  # its threads have their address space then
        return
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    if limit - used < _ADDRESS_SPACE_MB << 20:
        needed = (used >> 10) + (_ADDRESS_SPACE_MB << 10)
        raise TableError(
            f"the address space of the process is limited to {limit >> 10} KiB, and reading tables needs {needed}: "
            "raise `ulimit -v`, and let sql.memory_mb or a control group limit memory"
        )


def _limit(connection: duckdb.DuckDBPyConnection, spills: str, limits: Limits) -> None:
    """Restrict a connection to its share of the machine."""
    sizes = {"memory_limit": limits.memory_mb, "max_temp_directory_size": limits.spill_mb}
    options = {"temp_directory": literal(spills)}
    options |= {name: literal(f"{size}MiB") for name, size in sizes.items() if size is not None}
    if limits.threads is not None:
        options["threads"] = str(limits.threads)
    _set(connection, options)


def _confine(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Restrict a connection to the files of the warehouse, and lock its settings."""
    names = dict.fromkeys([str(folder.absolute()), pattern_of(folder.absolute())])
    directories = f"[{', '.join(map(literal, names))}]"
    _set(
        connection,
        {"allowed_directories": directories, "enable_external_access": "false", "lock_configuration": "true"},
    )


def _set(connection: duckdb.DuckDBPyConnection, options: Mapping[str, str]) -> None:
    for option, value in options.items():
        connection.execute(f"SET {option} = {value}")


def _run(connection: duckdb.DuckDBPyConnection, statement: str, values: Sequence[Any]) -> pa.RecordBatchReader:
    try:
        refuse_all_but_a_query(connection, statement := quoted_offset(statement))
        return connection.sql(statement, params=values or None).to_arrow_reader(_ROWS_PER_BATCH)
    except duckdb.PermissionException as error:
        raise _outside(error) from error
    except duckdb.Error as error:
        raise _failed(error) from error


def _batches(work: "_Work", reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        while (batch := work.done(next, reader, None)) is not None:
            yield batch
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _failed(error) from error


@frozen(kw_only=False)
class _Work:
    """Runs calls of a connection in a thread, because Ctrl-C does not reach a main thread that waits inside DuckDB."""

    thread: ThreadPoolExecutor
    connection: duckdb.DuckDBPyConnection
    timeout_ms: int

    def done(self, work: Callable[..., T], *arguments: Any) -> T:
        """The result of `work`; TableError if it takes too long."""
        future = self.thread.submit(work, *arguments)
        try:
            wait([future], timeout=self.timeout_ms / 1000 if self.timeout_ms else None)
            if future.done():
                return future.result()
        except KeyboardInterrupt:
            self._interrupt(future)
            raise
        self._interrupt(future)
        raise TableError(f"no row within sql.timeout_ms = {self.timeout_ms}")

    def _interrupt(self, future: Future[Any]) -> None:
        while wait([future], timeout=_INTERRUPT_EVERY_S).not_done:
            self.connection.interrupt()


def _outside(error: Exception) -> ConfigError:
    """The error for a statement that reads outside of the warehouse."""
    return ConfigError([f"{_failed(error)}: lagoon sql reads the files of the warehouse only"])


def _failed(error: Exception) -> TableError:
    """DuckDB's error without its drawing of the statement, and without advice to load or set what is locked."""
    said = str(error).partition("\n\nLINE ")[0].partition("\nPlease try installing")[0]
    if _OUT_OF_MEMORY in said:
        # Without sql.spill_mb the free space of the disk is the limit: a larger number would not help.
        is_disk = "max_temp_directory_size" in said
        cure = "raise sql.spill_mb, let TMPDIR name a folder with more space" if is_disk else "raise sql.memory_mb"
        said = f"{said.splitlines()[0].rstrip('.')}: {cure}, or read fewer rows"
    return failed(said)


def quoted_offset(statement: str) -> str:
    """Quote the column `offset` in a statement, as DuckDB requires; the keyword of LIMIT ... OFFSET is left."""
    tokens = duckdb.tokenize(statement)
    starts = [start for start, _ in tokens]  # positions in bytes
    raw, parts, copied = statement.encode(), [], 0
    for number, (start, kind) in enumerate(tokens):
        end = start + len("offset")
        after = raw[starts[number + 1] : starts[number + 1] + 1] if number + 1 < len(tokens) else b""
        is_word = kind == duckdb.token_type.keyword and raw[start:end].lower() == b"offset"
        if is_word and not (after.isdigit() or after in {b"(", b"?", b"$"}):
            parts += [raw[copied:start], b'"', raw[start:end], b'"']
            copied = end
    return b"".join([*parts, raw[copied:]]).decode()
