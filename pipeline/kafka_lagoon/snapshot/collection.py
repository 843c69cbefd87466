"""Collects the rows of a snapshot: `Collector` declares how the rows of a state table are made, `Collection` runs collectors.

Each collector stands beside the code that makes its rows, and collectors.py lists all of them. The order of collection and the
permissions that `lagoon snapshot` needs are derived from that list.
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
from kafka_lagoon.frozen import frozen
from kafka_lagoon.owners import NOBODY, Owners
from kafka_lagoon.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from kafka_lagoon.snapshot.chosen_names import EVERYTHING, ChosenNames
from kafka_lagoon.snapshot.coverage import partly_offered, worth_a_row
from kafka_lagoon.snapshot.group_state import GroupState
from kafka_lagoon.snapshot.time_lag import Measure
from kafka_lagoon.snapshot.topology import Durability, Topology
from kafka_lagoon.tables import table_states
from kafka_lagoon.tables.snapshot_rows import TableState
from kafka_lagoon.tables.state_tables import StateTable
from kafka_lagoon.tables.table_states import StoredTable, digest_of, table_state
from kafka_lagoon.text import printable
from kafka_lagoon.wire.schema import Api

T = TypeVar("T")


class Phase(IntEnum):
    """The order in which tables are collected; within a phase, the order of the list counts."""

    LAG = 1  # from the answers that `collect` reads first, in the order that keeps lag correct
    DETAILS = 2  # the collector sends requests of its own, after all inputs of lag were read
    SUMMARY = 3  # from the counts of the collection itself, once all requests are answered
    COMMIT = 4  # the row that publishes the snapshot


@frozen(kw_only=False)
class Collected:
    """The rows of one table, and the failures that kept rows from being made.

    `is_whole` is false where rows are missing because of a failure that another table reports.
    """

    rows: Sequence[object]
    failures: Sequence[Failure] = ()
    is_whole: bool = True


@frozen
class Collector:
    """Makes the rows of one state table.

    A failure of a collector that is not `required` is a row of collection_failures and leaves the snapshot complete. A table
    that may be skipped is left out by the setting `snapshot.skip_tables`. Where brokers' lists name an item twice, one row of
    each `key` is kept, and a failure says so if the rows differ.
    """

    table: StateTable
    phase: Phase
    collect: Callable[["Collection"], Collected]
    apis: Sequence[Api[Any, Any]] = ()
    permissions: Sequence[Permission] = ()
    required: bool = True
    may_be_skipped: bool = False

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.table.name

    @property
    def row(self) -> type[Any]:
        """Row class of the table."""
        return self.table.row


def _each_once(collector: Collector, collected: Collected) -> Collected:
    """Keep one row of each key, and no row whose key has a negative number, which Kafka never uses."""
    if not collector.table.key or not collector.apis:
        return collected
    key_of, failures = attrgetter(*collector.table.key), list(collected.failures)
    kept: dict[Any, object] = {}
    for row in collected.rows:
        key = key_of(row)
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, int) and part < 0 for part in parts):
            failures.append(_odd_row(collector, parts, "a number below 0"))
        elif kept.setdefault(key, row) != row:
            failures.append(_odd_row(collector, parts, "brokers answer it twice, and not alike"))
    if len(kept) == len(collected.rows):
        return collected
    return replace(collected, rows=list(kept.values()), failures=failures)


def _odd_row(collector: Collector, parts: Sequence[object], message: str) -> Failure:
    named = ", ".join(printable(str(part)) for part in parts if part is not None)
    return own_failure(collector.apis[0], Scope.config(f"{collector.name}: {named}"), CONTRADICTION, message)


@dataclass(slots=True, kw_only=True)
class Collection:
    """A snapshot while it is collected: the brokers' answers and the tables that have been made.

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
    reassignments: ListPartitionReassignmentsResponse | Failure
    failures: list[Failure]
    chosen: ChosenNames = EVERYTHING
    owners: Owners = NOBODY
    skipped: Sequence[Collector] = ()
    # Rows that earlier snapshots have stored, by name of the table.
    stored: Mapping[str, StoredTable] = field(default_factory=dict)
    is_partial: bool = False
    measure: Measure | None = None
    rows: dict[type[Any], Sequence[object]] = field(default_factory=dict)
    states: list[TableState] = field(default_factory=list)

    def of(self, row: type[T]) -> Sequence[T]:
        """The rows of a table that has been made."""
        return cast("Sequence[T]", self.rows[row])

    def add(self, collector: Collector) -> None:
        """Collect the rows of a table, or none if the table is skipped."""
        collected = Collected([]) if collector in self.skipped else _each_once(collector, collector.collect(self))
        if collector.phase < Phase.SUMMARY:
            collected = replace(collected, rows=self.chosen.rows(collector.row, collected.rows))
            self.states.append(self._state(collector, collected))
        self.rows[collector.row] = collected.rows
        self.failures += collected.failures
        if collector.required and any(self._worth_a_row(collected.failures)):
            self.is_partial = True

    def refuse(self, refusals: Iterable[Failure]) -> None:
        """Add failures for parts of answers that are impossible, or that contradict each other."""
        before = len(self.failures)
        self.failures += refusals
        self.is_partial = self.is_partial or len(self.failures) > before

    def _state(self, collector: Collector, collected: Collected) -> TableState:
        """Say how the collection of the table ended, and whether an earlier snapshot has stored the same rows."""
        outcome, digest, stored_in = self._outcome(collector, collected), None, None
        if collector.table.when_changed and outcome == table_states.COMPLETE:
            digest = digest_of(collected.rows, collector.row)
            earlier = self.stored.get(collector.name)
            stored_in = earlier.snapshot_id if earlier and earlier.holds(digest, self.started_at_ms) else None
        return table_state(collector.name, outcome, len(collected.rows), self.snapshot_id, digest, stored_in)

    def _outcome(self, collector: Collector, collected: Collected) -> str:
        if collector in self.skipped:
            return table_states.SKIPPED
        failures = list(self._failures_of(collector, collected))
        if any(self._worth_a_row(failures)) or not collected.is_whole:
            is_answered = collected.rows or any(partly_offered(failures, self.cluster.request_stats))
            return table_states.PARTIAL if is_answered else table_states.FAILED
        return table_states.NOT_OFFERED if failures and not collected.rows else table_states.COMPLETE

    def _worth_a_row(self, failures: Iterable[Failure]) -> Iterator[Failure]:
        return worth_a_row(failures, self.topology, self.cluster.request_stats)

    def _failures_of(self, collector: Collector, collected: Collected) -> Iterator[Failure]:
        """The failures of the table itself and of the answers that it shares with other tables."""
        apis = {api.name for api in collector.apis}
        yield from collected.failures
        yield from (failure for failure in self.failures if failure.api in apis)
