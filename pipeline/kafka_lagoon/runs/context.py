"""What the runs of one job over several clusters share, and what they report while they are under way."""

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Protocol

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.schema import TABLES, Table
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse, find_warehouse, open_warehouse
from kafka_lagoon.settings import Settings


class Progress(Protocol):
    """Hears how far a run over one cluster is."""

    def connected(self, cluster_id: str | None) -> None:
        """The cluster has answered."""

    def step(self, name: str, items: int) -> None:
        """A step begins, over about so many items."""


class RunContext:
    """Settings, a clock, and the warehouse, opened with Spark for writing to `tables` when it is first used, and then kept.

    So a cluster that does not answer is known before Spark starts.
    """

    def __init__(self, job: str, settings: Settings, clock: Clock, tables: Sequence[Table] = TABLES) -> None:
        self.settings, self.clock = settings, clock
        self._job, self._tables, self._lock = job, tables, Lock()
        self._warehouse: Warehouse | None = None

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the settings for writing: tables that are missing are created."""
        with self._lock:  # clusters of one run ask for it at once
            if self._warehouse is None:
                spark = session(f"lagoon {self._job}")
                self._warehouse = open_warehouse(spark, self.settings, self.clock, self._tables)
            return self._warehouse

    @cached_property
    def existing_warehouse(self) -> Warehouse:
        """The warehouse of the settings; TableError if no run has created its tables."""
        return find_warehouse(session(f"lagoon {self._job}"), self.settings)
