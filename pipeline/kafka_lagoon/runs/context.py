"""Shared by the runs of one job over several clusters: settings, the warehouse, and reports of progress."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.jvm_start import StartingJvm, has_session
from kafka_lagoon.delta.open_warehouse import find_warehouse, open_warehouse
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.sessionless import without_session
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import NeedsSession
from kafka_lagoon.settings import Settings
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

R = TypeVar("R")


class Progress(Protocol):
    """Receives the progress of a run over one cluster."""

    def connected(self, cluster_id: str | None) -> None:
        """The cluster has answered."""

    def begun(self, restore_id: str) -> None:
        """A restore has begun, or goes on: what it has written stays if it fails now."""

    def step(self, name: str, items: int) -> None:
        """A step begins, over about this number of items."""

    def advanced(self, offsets: int, records: int, size: int) -> None:
        """Progress within a step: offsets, the records among them, and bytes."""


class RunContext:
    """Settings, a clock, and the warehouse, opened for writing to `tables` when it is first used, and kept from then on.

    So a cluster that does not answer is known before tables are opened. Spark opens the warehouse; a run that asks Spark for
    nothing else needs no session of it (`needs_session`) where the tables are in a local folder or in S3, but uses one that
    runs already. Without a session they are opened by the JVM that is `starting`, if there is one.
    """

    def __init__(
        self,
        job: str,
        settings: Settings,
        clock: Clock,
        tables: Sequence[Table] = TABLES,
        *,
        needs_session: bool = True,
        starting: StartingJvm | None = None,
    ) -> None:
        self._starting = starting
        self.settings, self.clock = settings, clock
        self._job, self._tables, self._needs_session, self._lock = job, tables, needs_session, Lock()
        self._warehouse: Warehouse | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the settings for writing; missing tables are created."""
        with self._lock:  # clusters of one run ask for it at the same time
            if self._warehouse is None:
                self._warehouse = self._without_session() or self._by_spark()
            return self._warehouse

    def with_or_without_session(self, run: Callable[[], R]) -> R:
        """Run without a session of Spark, and again with one if that raises NeedsSession: then Spark opens the warehouse."""
        if self.warehouse.session is None:
            with suppress(NeedsSession):
                return run()
            self._start_session()
        return run()

    def _start_session(self) -> None:
        """Open the warehouse again, by Spark: for a run that turns out to need a session."""
        with self._lock:
            self._opened.close()
            self._needs_session, self._warehouse = True, None

    @cached_property
    def existing_warehouse(self) -> Warehouse:
        """The warehouse of the settings; TableError if no run has created its tables."""
        return find_warehouse(self._session(), self.settings)

    def _without_session(self) -> Warehouse | None:
        if self._needs_session or has_session():
            return None
        starting, self._starting = self._starting, None  # it ends if it cannot open the warehouse
        return without_session(self._opened, self.settings, self.clock, self._tables, starting)

    def _by_spark(self) -> Warehouse:
        return open_warehouse(self._session(), self.settings, self.clock, self._tables)

    def _session(self) -> "SparkSession":
        return session(f"lagoon {self._job}", self.settings.warehouse)
