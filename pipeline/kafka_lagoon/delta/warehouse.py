"""The tables of one place: their versions, the locks beside them, and whether they have our columns."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.foreign_commits import Kind, commits_since, contradiction
from kafka_lagoon.delta.kernel import Kernel, State
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.errors import ChecksFailed, NeedsSession, SchemaChanged, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.columns import Column
from kafka_lagoon.tables.table import UNWRITTEN, Table, differences, spelled

# Appends wait for the log's file system as much as for a core: on two cores 0.65 s with 4 threads, 0.95 s with one.
PARALLEL = 4
COMMIT_LOCK_WAIT_MS = 60_000
LONGEST_COMMIT_WAIT_MS = 3_600_000  # for a run without a deadline: the records that it has read are worth the wait


@frozen
class Warehouse:
    """The tables of one place: a folder with one folder each, or a schema of a catalog."""

    session: SparkSession | None  # None if the warehouse was opened without one
    kernel: Kernel
    name: str  # a folder's URL, or catalog and schema, quoted
    in_catalog: bool
    identifiers: Mapping[str, str]  # SQL's names of the tables, quoted
    locations: Mapping[str, str]  # their URLs
    committing: Lock = field(default_factory=Lock)
    opened: dict[str, State] = field(default_factory=dict)  # the versions that `open_warehouse` read

    @property
    def spark(self) -> SparkSession:
        """The session that runs statements over these tables; NeedsSession if there is none.

        One is not started beside a JVM of our own, because PySpark attributes every exception of Java to its own JVM.
        """
        if self.session is None:
            raise NeedsSession(f"only a Spark session can do this with the tables in {self.name}")
        return self.session

    def state(self, table: str) -> State:
        """The latest version of a table; TableError if it is gone."""
        state = self.kernel.load(self.locations[table])
        if state is None:
            raise TableError(f"there is no table {table} at {self.locations[table]}: {UNWRITTEN}")
        return state

    def base(self, table: str) -> State:
        """A version of a table that files can be appended to: the opened one, else the latest.

        Reading the log again costs as much as the commit, and more with each commit that is kept. The Kernel reads later
        commits if there are any.
        """
        return self.opened.get(table) or self.state(table)

    def state_to_read(self, table: Table) -> State:
        """The latest version of a table for reading its data files; SchemaChanged if the files alone do not have its rows.

        With deletion vectors a file has rows that are deleted, and with column mapping its columns have other names.
        """
        state = self.state(table.name)
        columns_to_add(table, state)
        return state

    def write_rows(self, table: Table, rows: Sequence[Any], day: date) -> DataFile:
        """Write rows as a new data file of a day, which no commit names yet; TableError if it cannot be written."""
        url = f"{self.locations[table.name]}/{table.partition_by}={day}/{uuid.uuid4().hex}.parquet"
        return self.kernel.storage.write_rows(url, plain_table(table, rows))

    def has(self, table: Table) -> bool:
        """True if a table exists; tables that are not optional are assumed to exist."""
        if not table.is_optional:
            return True
        location = self.locations.get(table.name)
        return location is not None and self.kernel.load(location) is not None

    def lock_file(self, what: str) -> Path | None:
        """The file of the lock called `what`; None for tables that are not on a local path."""
        folder = self.kernel.storage.local(self.locations["snapshots"])
        return None if folder is None else folder.parent / f".lagoon-{file_name(what)}.lock"

    @property
    def has_locks(self) -> bool:
        """True if a lock can keep other runs away; elsewhere only transaction ids do."""
        return self.lock_file("commit") is not None

    @contextmanager
    def exclusively(self, what: str, clock: Clock, wait_ms: int) -> Iterator[None]:
        """Hold the lock called `what` beside tables on a local path; does nothing on other file systems.

        Runs of this process over other clusters commit one after the other, however long each takes.
        """
        path = self.lock_file(what)
        if path is None:
            yield
            return
        with self.committing if what == "commit" else nullcontext(), locked(path, clock, wait_ms):
            yield


def columns_to_add(table: Table, state: State) -> tuple[Column, ...]:
    """Nullable columns of ours that an existing table lacks; SchemaChanged if it differs in any other way."""
    faults = differences(table, state.schema["fields"], state.partition_by, spelled)
    if state.reader_version != 1:
        # Version 2 is older than lists of features, and means this one.
        cures = [
            f"ALTER TABLE {table.name} DROP FEATURE {name}" for name in state.reader_features or ("columnMapping",)
        ]
        faults.append(f"it needs readers of version {state.reader_version}, not 1: {' and '.join(cures)}")
    if faults:
        raise SchemaChanged(f"table {table.name} at {state.location} is not as we made it: {'; '.join(faults)}")
    theirs = {field["name"] for field in state.schema["fields"]}
    return tuple(column for column in table.columns if column.name not in theirs)


def refuse_replaced(warehouse: Warehouse, table: Table, after: int, app_id: str | None = None) -> bool:
    """ChecksFailed if a commit of somebody else's, after a version, took away rows that we count on.

    Return False if the log does not have all commits since then, so that none is known.
    """
    conflict = contradiction(commits_since(warehouse.kernel.storage, warehouse.locations[table.name], after), app_id)
    if conflict and conflict.commit.kind is Kind.GONE:
        return False
    if conflict:
        raise ChecksFailed(
            f"table {table.name} {conflict.commit}, and rows that this run counts on are gone: "
            f"RESTORE TABLE {table.name} TO VERSION AS OF {conflict.commit.version - 1} brings them back"
        )
    return True
