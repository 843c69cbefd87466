"""Declares what a state table is: its rows, when and how they are collected, and what that needs of the cluster.

One `StateTable` per table stands beside the code that makes its rows, and `tables.py` lists them. The order of collection,
the Delta schemas, publication, the dictionary in docs/tables.md and the permissions that `lagoon snapshot` needs are derived
from that list.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from operator import attrgetter
from typing import Any, TypeVar, cast

from kafka_lagoon.admin.cluster import Identity
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.clock import Deadline
from kafka_lagoon.snapshot import table_states
from kafka_lagoon.snapshot.chosen_names import EVERYTHING, ChosenNames
from kafka_lagoon.snapshot.coverage import worth_a_row
from kafka_lagoon.snapshot.group_state import GroupState
from kafka_lagoon.snapshot.state_rows import TableState
from kafka_lagoon.snapshot.table_states import StoredTable, digest_of, table_state
from kafka_lagoon.snapshot.time_lag import Measure
from kafka_lagoon.snapshot.topology import Durability, Topology
from kafka_lagoon.text import printable
from kafka_lagoon.wire.schema import Api

T = TypeVar("T")

FIRST_VERSION = "0.1.0"


class Phase(IntEnum):
    """When the rows of a table are made; within a phase, in the order of the list."""

    LAG = 1  # from the answers that `collect` gathers first, in the order that makes lag honest
    DETAILS = 2  # the table asks the cluster itself, after everything that lag is made of
    SUMMARY = 3  # from what the collection itself has counted, once all requests are answered
    COMMIT = 4  # the row that makes all others count


@dataclass(frozen=True, slots=True)
class Collected:
    """The rows of one table, and what kept others from being made.

    `is_whole` is false where rows are missing for a reason that another table's failures tell.
    """

    rows: Sequence[object]
    failures: Sequence[Failure] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTable:
    """One table of a snapshot. Its comment is the docstring of `row`.

    A failure of a table that is not `required` is a row of collection_failures and leaves the snapshot complete. A table that
    may be skipped is left out by the setting `snapshot.skip_tables`. One that is written `when_changed` is read through its
    view `<name>_published` (table_states.py). `added_in` is the version of ours that brought the table. No two rows have the
    same `key`: of those that brokers' lists make twice one is kept, and a failure says if they differ. A table without a key
    is made of what was asked for item by item.
    """

    name: str
    row: type[Any]
    phase: Phase
    collect: Callable[["Collection"], Collected]
    apis: Sequence[Api[Any, Any]] = ()
    permissions: Sequence[Permission] = ()
    required: bool = True
    may_be_skipped: bool = False
    when_changed: bool = False
    added_in: str = FIRST_VERSION
    key: Sequence[str] = ()


def _each_once(table: StateTable, collected: Collected) -> Collected:
    """The rows with each key once, and none whose key has a number below 0, which nothing in Kafka has."""
    if not table.key or not table.apis:
        return collected
    key_of, failures = attrgetter(*table.key), list(collected.failures)
    kept: dict[Any, object] = {}
    for row in collected.rows:
        key = key_of(row)
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, int) and part < 0 for part in parts):
            failures.append(_odd_row(table, parts, "a number below 0"))
        elif kept.setdefault(key, row) != row:
            failures.append(_odd_row(table, parts, "brokers answer it twice, and not alike"))
    if len(kept) == len(collected.rows):
        return collected
    return replace(collected, rows=list(kept.values()), failures=failures)


def _odd_row(table: StateTable, parts: Sequence[object], message: str) -> Failure:
    named = ", ".join(printable(str(part)) for part in parts if part is not None)
    return own_failure(table.apis[0], Scope.config(f"{table.name}: {named}"), CONTRADICTION, message)


@dataclass(slots=True, kw_only=True)
class Collection:
    """One snapshot while it is collected: what the brokers have answered, and the tables that are made so far.

    `measure` finds the first unread records of positions; None if time lag is switched off.
    """

    cluster: Cluster
    snapshot_id: str
    deadline: Deadline
    slot_ms: int
    started_at_ms: int
    identity: Identity
    topology: Topology
    group_state: GroupState
    durability: Durability
    failures: list[Failure]
    chosen: ChosenNames = EVERYTHING
    skipped: Sequence[StateTable] = ()
    stored: Mapping[str, StoredTable] = field(default_factory=dict)  # by earlier snapshots, by name of the table
    is_partial: bool = False
    measure: Measure | None = None
    rows: dict[type[Any], Sequence[object]] = field(default_factory=dict)
    states: list[TableState] = field(default_factory=list)

    def of(self, row: type[T]) -> Sequence[T]:
        """The rows of a table that has been made."""
        return cast("Sequence[T]", self.rows[row])

    def add(self, table: StateTable) -> None:
        """Collect a table, or leave it empty if it is skipped."""
        collected = Collected([]) if table in self.skipped else _each_once(table, table.collect(self))
        if table.phase < Phase.SUMMARY:
            collected = replace(collected, rows=self.chosen.rows(table.row, collected.rows))
        self.rows[table.row] = collected.rows
        if table.phase < Phase.SUMMARY:
            self.states.append(self._state(table, collected))
        self.failures += collected.failures
        if table.required and any(worth_a_row(collected.failures, self.topology)):
            self.is_partial = True

    def refuse(self, refusals: Iterable[Failure]) -> None:
        """Add what was left out of answers because no cluster can have it, or not so."""
        before = len(self.failures)
        self.failures += refusals
        self.is_partial = self.is_partial or len(self.failures) > before

    def _state(self, table: StateTable, collected: Collected) -> TableState:
        """How the table was collected, and whether an earlier snapshot has stored the same rows."""
        outcome, digest, stored_in = self._outcome(table, collected), None, None
        if table.when_changed and outcome == table_states.COMPLETE:
            digest = digest_of(collected.rows, table.row)
            earlier = self.stored.get(table.name)
            stored_in = earlier.snapshot_id if earlier and earlier.holds(digest, self.started_at_ms) else None
        return table_state(table.name, outcome, len(collected.rows), self.snapshot_id, digest, stored_in)

    def _outcome(self, table: StateTable, collected: Collected) -> str:
        if table in self.skipped:
            return table_states.SKIPPED
        failures = list(self._failures_of(table, collected))
        failed = any(worth_a_row(failures, self.topology))
        if failed or not collected.is_whole:
            return table_states.PARTIAL if collected.rows else table_states.FAILED
        return table_states.NOT_OFFERED if failures and not collected.rows else table_states.COMPLETE

    def _failures_of(self, table: StateTable, collected: Collected) -> Iterator[Failure]:
        """The table's own failures, and those of the answers that several tables are made of."""
        apis = {api.name for api in table.apis}
        yield from collected.failures
        yield from (failure for failure in self.failures if failure.api in apis)
