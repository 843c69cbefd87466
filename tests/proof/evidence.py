"""Declares the evidence of one history, from producers, Kafka, the tables and the jobs: plain values that the judge reads.

A digest is the sha256 of a record's timestamp, key, value and headers.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Partition(NamedTuple):
    """A partition of a topic that may have been re-created: the topic's id is part of its name."""

    topic_id: str
    partition: int


Digests = Mapping[Partition, Mapping[int, str]]  # by partition and offset


def digest(
    timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> str:
    """Hash everything of a record that its producer chose; null and empty differ."""
    return hashlib.sha256(repr((timestamp_ms, key, value, list(headers))).encode()).hexdigest()


class Row(NamedTuple):
    """A row of records_now."""

    partition: Partition
    offset: int
    digest: str
    ingest_id: str
    key: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A row of record_ranges."""

    partition: Partition
    ingest_id: str
    sequence: int
    planned_at_ms: int
    from_offset: int
    to_offset: int
    records: int
    others: int = 0  # control and aborted
    compacted: int = 0
    lost: int = 0
    corrupt: int = 0
    problem: str | None = None

    @property
    def is_loss(self) -> bool:
        """True if a run must report it by its exit code."""
        return self.problem in LOSSES or self.corrupt > 0


LOSSES = ("LOST", "LOG_TRUNCATED", "TOPIC_RECREATED", "TOPIC_DELETED")
ENDS = ("TOPIC_RECREATED", "TOPIC_DELETED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A process of a job that has ended; `acknowledged` are the next offsets after everything that producers knew at its start."""

    job: str
    exit_code: int  # negative: killed by a signal
    started_at_ms: int = 0
    ended_at_ms: int = 0
    output: str = ""
    event: Mapping[str, Any] = field(default_factory=dict)  # run_finished
    acknowledged: Mapping[Partition, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def after_restore(self) -> str | None:
        """The option of that name."""
        way: str | None = self.options.get("after_restore")
        return way


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietRow:
    """The row of a published snapshot about a partition whose offsets and commits never change; None for an unknown value."""

    snapshot_id: str
    partition: int
    log_start_offset: int | None
    high_watermark: int | None
    committed_offset: int | None
    lag: int | None


class LagRow(NamedTuple):
    """A row of lag in a published snapshot: a group and a partition; None for an unknown value."""

    snapshot_id: str
    group_id: str
    topic: str
    partition: int
    log_start_offset: int | None
    high_watermark: int | None
    committed_offset: int | None
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """The truth about the quiet topic of a history: every partition has these offsets from before the first snapshot on."""

    partitions: int
    high_watermark: int
    committed_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSnapshot:
    """A row of snapshots."""

    snapshot_id: str
    slot: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPartition:
    """Digests in the order of offsets: what the archive has of a partition, and what a restore of it has written."""

    name: str
    archived: Sequence[str]
    written: Sequence[str]
    receipts: Sequence[int]  # records by restore_receipts that have no problem


class RowId(NamedTuple):
    """The identity of a row of records; a record that is archived again is another row."""

    ingest_id: str
    partition: Partition
    offset: int


Erased = dict[tuple[str, Partition], set[int]]  # offsets of rows that somebody has removed, by run and partition


@dataclass(slots=True, kw_only=True)
class Rollback:
    """A RESTORE of a table of the archive: until it is repaired ingests refuse to go on if it has lost rows."""

    at_ms: int
    has_lost_rows: bool
    resolved_at_ms: int | None = None  # undone by another RESTORE
    repair_at_ms: int | None = None  # the first run that was allowed to go on

    def begin_repair(self, at_ms: int) -> None:
        """Note that a run begins that is allowed to go on."""
        self.repair_at_ms = self.repair_at_ms or at_ms

    def is_repaired(self, runs: Iterable["Run"]) -> bool:
        """Return True if a run with --after-restore has gone on, or was killed and may have."""
        mends = (run for run in runs if run.after_restore and run.started_at_ms >= self.at_ms)
        return any(run.exit_code in (0, 3) for run in mends)

    def refuses(self, run: "Run") -> bool:
        """Return True if a run had to be refused: it began after the RESTORE, and before anything repaired it."""
        repaired = min(at for at in (self.resolved_at_ms, self.repair_at_ms, _NEVER) if at is not None)
        is_after = self.at_ms < run.started_at_ms < repaired
        return self.has_lost_rows and run.job == "ingest" and not run.after_restore and is_after


_NEVER = 1 << 62


class TopicState(NamedTuple):
    """An applied topic: its partitions, and its max.message.bytes if that is set."""

    partitions: int
    max_message_bytes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """A row of admin_outcomes about a topic, or a change by somebody else, which has no run."""

    run_id: str
    at_ms: int
    kind: str
    topic: str
    after: Mapping[str, Any] | None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sunk:
    """A topic that the sink has written: its rows, those that readers of committed records see, and the job's exit code.

    A stream is run until exit 0.
    """

    name: str
    transactions: str
    rows: frozenset[str]
    seen: Sequence[str]
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything about a history after its jobs have run until they had nothing to report."""

    # Producers
    committed: Digests = field(default_factory=dict)  # acknowledged, and their transaction was committed
    aborted: Digests = field(default_factory=dict)  # acknowledged, and their transaction was aborted
    # By topic id, all that may be there: not the aborted.
    sent: Mapping[str, Collection[str]] = field(default_factory=dict)
    # Kafka, as librdkafka reads it at the end
    in_log: Digests = field(default_factory=dict)
    keys: Mapping[Partition, Mapping[int, bytes | None]] = field(default_factory=dict)  # of compacted topics
    log_starts: Mapping[Partition, int] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)  # topic ids, and when their deletion began
    compacted: Collection[str] = ()
    unclean: Collection[str] = ()  # acknowledged records may be gone by an unclean election
    # Tables
    rows: Sequence[Row] = ()  # of records_now
    archived: Mapping[tuple[str, Partition], int] = field(default_factory=dict)  # rows of records by run and partition
    ranges: Sequence[Range] = ()
    in_order: bool = True  # rows of a partition lie in the order of their offsets in each data file
    # DELETE, retention, kept RESTORE.
    erased: Mapping[tuple[str, Partition], Collection[int]] = field(default_factory=dict)
    # First offset of ranges that retention has removed.
    archived_from: Mapping[Partition, int] = field(default_factory=dict)
    rollbacks: Sequence[Rollback] = ()
    ranges_since_ms: int = 0  # somebody has removed ranges before
    has_stepped: bool = False  # times in ranges may be wrong
    snapshots: Sequence[PublishedSnapshot] = ()
    quiet: Quiet | None = None
    quiet_rows: Sequence[QuietRow] = ()
    differences: Sequence[str] = ()  # between the last snapshot and what librdkafka's admin client says
    restored: Sequence[RestoredPartition] = ()
    # Alterations
    alterations: Sequence[Alteration] = ()
    applied: Mapping[str, TopicState] = field(default_factory=dict)  # as librdkafka's admin client describes them
    wanted: Mapping[str, TopicState] | None = None  # by the file of the last run, which ended with exit 0
    sunk: tuple[Sunk, ...] = ()
    # Jobs
    runs: Sequence[Run] = ()
    is_complete: bool = True  # the last runs ended with exit 0
    secrets: Sequence[str] = ()  # where one was seen
