"""Stores the plan and the progress of a restore, so that it can be killed at any time and continued.

The plan is a file beside table `restore_map`. Rows of that table and the positions after them are one commit, the positions
as domain metadata, under a transaction id that counts: of two runs only one can commit. Restores with equal requests share a
domain, which has the last of them.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import read_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.delta.warehouse import LONGEST_COMMIT_WAIT_MS, Warehouse, refuse_replaced
from kafka_lagoon.errors import ChecksFailed, LockHeld, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.digests import SequenceDigest
from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.plan import RestorePlan, from_json, to_json
from kafka_lagoon.tables.schema import RESTORE_MAP, RESTORE_RECEIPTS
from kafka_lagoon.tables.table import Table
from kafka_lagoon.tables.write_rows import RestoreMapRow, RestoreReceiptRow
from kafka_lagoon.times import utc_day
from kafka_lagoon.topic_partition import TopicPartition

_FOLDER = "_lagoon"
_RANGE = ["restore_id", "target_topic", "target_partition", "source_offset", "target_offset", "records"]


@frozen
class Position:
    """The progress of a partition: `written` records, which are those of the source before `next_offset`.

    `target_offset` is the first offset of the target after them, `digest` the digest of them.
    """

    next_offset: int
    target_offset: int
    digest: SequenceDigest = field(default_factory=SequenceDigest)
    is_done: bool = False

    @property
    def written(self) -> int:
        """The number of written records."""
        return self.digest.records


@frozen
class Progress:
    """The progress of a restore at its last commit; `sequence` counts the commits under its domain.

    `base_version` is the version of the table that the commit was to follow; None if an earlier release made it.
    """

    restore_id: str
    sequence: int
    positions: Mapping[TopicPartition, Position]
    is_finished: bool = False
    base_version: int | None = None


def start_of(plan: RestorePlan, sequence: int = 0) -> Progress:
    """The progress of a restore that has written nothing."""
    positions = {
        one.target: Position(next_offset=one.source.from_offset, target_offset=one.base_offset)
        for one in plan.partitions
    }
    return Progress(restore_id=plan.restore_id, sequence=sequence, positions=positions)


@frozen
class ProgressStore:
    """Stores plan and progress of restores with one request into one cluster."""

    warehouse: Warehouse
    clock: Clock
    target_cluster_id: str
    request: Mapping[str, Any]

    def last(self) -> tuple[RestorePlan, Progress] | None:
        """The last restore with this request; None if there is none.

        TableError if its plan is gone, cannot be read or has another condition than the request, or if others removed rows that
        its positions rely on.
        """
        stored = self._stored()
        if stored is None:
            return None
        self._refuse_lost_rows(stored)
        return self._plan(self._plan_url(stored.restore_id)), stored

    def _plan(self, url: str) -> RestorePlan:
        """The stored plan. A condition is SQL, which tasks run, so it must be the one that the user gives."""
        try:
            plan = from_json(self.warehouse.kernel.storage.read(url))
        except ValueError as error:
            raise TableError(f"{url} is not the plan of a restore: {error}; start another with --new") from error
        if any(one.source.condition != self.request.get("condition") for one in plan.partitions):
            fault = "its condition is not that of the request"
            raise TableError(f"{url} is not the plan of a restore: {fault}; start another with --new")
        return plan

    def refuse_unwritable(self) -> None:
        """TableError if positions or receipts cannot be appended: otherwise the target would be altered first."""
        kernel = self.warehouse.kernel
        kernel.refuse_unwritable(self.warehouse.state(RESTORE_MAP.name), {self._domain: ""})
        kernel.refuse_unwritable(self.warehouse.base(RESTORE_RECEIPTS.name))

    def commits(self) -> int:
        """The number of commits of all restores with this request."""
        return self.warehouse.kernel.last_transaction(self.warehouse.state(RESTORE_MAP.name), self._app_id) or 0

    def begin(self, plan: RestorePlan, commits: int) -> Progress:
        """Store the plan, and then the begin of its restore; nothing may be written before this returns.

        `commits` is their number from before the restore was planned: LockHeld if there are more by now. The progress of an
        earlier restore is not read: a new one is the way out where it cannot be.
        """
        url = self._plan_url(plan.restore_id)
        self.warehouse.kernel.storage.write(url, to_json(plan))
        try:
            return self.commit(start_of(plan, commits), [])
        except LockHeld:
            with suppress(TableError):
                stored = self._stored()
                # If the answer to our own commit was lost, another run may have gone on from it.
                if stored is None or stored.restore_id != plan.restore_id:
                    self.warehouse.kernel.storage.delete(url)
            raise

    def commit(self, progress: Progress, rows: Sequence[RestoreMapRow]) -> Progress:
        """Commit positions together with the rows that led to them; returns the progress with its new number.

        LockHeld if another run has committed since: then nothing of this is stored. ChecksFailed if somebody has rolled the
        table back, or replaced its rows, since the restore began; if that came in the last moment, this is stored.
        """
        state_before = self.warehouse.state(RESTORE_MAP.name)
        self._refuse_lost_rows(progress)
        made = replace(progress, sequence=progress.sequence + 1, base_version=state_before.version)
        text = _to_json(made, uuid.uuid4().hex)
        fence = Fence(self._app_id, made.sequence)
        with self.warehouse.exclusively("commit", self.clock, LONGEST_COMMIT_WAIT_MS):
            files, partition = self._file(RESTORE_MAP, rows)
            try:
                self.warehouse.kernel.append(state_before, files, partition, fence=fence, domains={self._domain: text})
            except Fenced as error:
                # With equal texts the answer to our own commit was lost, and repeating it was refused.
                if self._stored_text() != text:
                    self._remove(files, partition)
                    holder = f"restores into {self.target_cluster_id}"
                    raise LockHeld(holder, "it committed in the meantime") from error
        stored = self._stored_text()
        # Where no lock keeps runs apart, another one may have gone on from this commit by now; it then refuses the next one.
        if stored != text and (not stored or _from_json(stored).sequence <= made.sequence):
            raise ChecksFailed(
                "table restore_map does not hold what was committed: does its log store keep writers apart?"
            )
        refuse_replaced(self.warehouse, RESTORE_MAP, state_before.version, self._app_id)
        return made

    def _refuse_lost_rows(self, progress: Progress) -> None:
        """Raise ChecksFailed if others removed rows that led to these positions.

        The rows themselves decide if the log is gone.
        """
        base = progress.base_version
        if base is None or refuse_replaced(self.warehouse, RESTORE_MAP, base, self._app_id):
            return
        records = sum(one.records for ranges in self.ranges(progress.restore_id).values() for one in ranges)
        written = sum(position.written for position in progress.positions.values())
        if records < written:
            raise ChecksFailed(
                f"table restore_map has {records} of the {written} records that restore {progress.restore_id} has written, and "
                "its log does not say why: start another with --new"
            )

    def ranges(self, restore_id: str) -> Mapping[TopicPartition, Sequence[OffsetRange]]:
        """The committed rows of a restore, by partition of the target."""
        results: dict[TopicPartition, list[OffsetRange]] = {}
        state = self.warehouse.state(RESTORE_MAP.name)
        for url in self.warehouse.kernel.files(state, {"restore_id": restore_id}):
            arrow = read_table(self.warehouse.kernel.storage, url, _RANGE)
            for row in arrow.to_pylist():
                if row["restore_id"] == restore_id:
                    key = TopicPartition(row["target_topic"], row["target_partition"])
                    offset_range = OffsetRange(row["source_offset"], row["target_offset"], row["records"])
                    results.setdefault(key, []).append(offset_range)
        return results

    def receipts(self, restore_id: str) -> list[RestoreReceiptRow]:
        """The last receipt of each partition of a restore."""
        last: dict[TopicPartition, RestoreReceiptRow] = {}
        for url in self.warehouse.kernel.files(self.warehouse.state(RESTORE_RECEIPTS.name), {"restore_id": restore_id}):
            for row in _receipts(read_table(self.warehouse.kernel.storage, url)):
                key = TopicPartition(row.target_topic, row.target_partition)
                if row.restore_id == restore_id and (key not in last or last[key].checked_at_ms <= row.checked_at_ms):
                    last[key] = row
        return [last[key] for key in sorted(last)]

    def add_receipts(self, rows: Sequence[RestoreReceiptRow]) -> None:
        """Add receipts of a restore, which adds them again if it dies after this and is continued.

        Their `checked_at` is after that of earlier ones, even if the clock was put back: it is what orders them.
        """
        if rows:
            earlier = {(row.target_topic, row.target_partition): row for row in self.receipts(rows[0].restore_id)}
            ordered = [_after(row, earlier.get((row.target_topic, row.target_partition))) for row in rows]
            with self.warehouse.exclusively("commit", self.clock, LONGEST_COMMIT_WAIT_MS):
                files, partition = self._file(RESTORE_RECEIPTS, ordered)
                self.warehouse.kernel.append(self.warehouse.state(RESTORE_RECEIPTS.name), files, partition)

    def _file(self, table: Table, rows: Sequence[Any]) -> tuple[list[DataFile], tuple[str, Any]]:
        """Rows as a data file of today's partition; no file without rows."""
        day = utc_day(self.clock.now_ms())
        partition = table.partition_by, day
        return [self.warehouse.write_rows(table, rows, day)] if rows else [], partition

    def _remove(self, files: Sequence[DataFile], partition: tuple[str, Any]) -> None:
        """Remove the files of a commit that another run preceded, unless the table has them after all."""
        with suppress(TableError):
            named = self.warehouse.kernel.files(self.warehouse.state(RESTORE_MAP.name), dict([partition]))
            for file in files:
                if file.url not in named:
                    self.warehouse.kernel.storage.delete(file.url)

    def _stored(self) -> Progress | None:
        text = self._stored_text()
        return _from_json(text) if text else None

    def _stored_text(self) -> str | None:
        return self.warehouse.kernel.domain(self.warehouse.state(RESTORE_MAP.name), self._domain)

    @property
    def _app_id(self) -> str:
        return f"lagoon/restore/{self._domain}"

    @property
    def _domain(self) -> str:
        digest = hashlib.sha256(json.dumps(self.request, sort_keys=True).encode()).hexdigest()[:16]
        return f"lagoon.restore.{self.target_cluster_id}.{digest}"

    def _plan_url(self, restore_id: str) -> str:
        # Readers and VACUUM ignore folders that begin with an underscore (ingest/pending_files.py).
        folder = f"{self.warehouse.locations[RESTORE_MAP.name]}/{_FOLDER}/{file_name(self.target_cluster_id)}"
        return f"{folder}/{restore_id}.json"


def _after(row: RestoreReceiptRow, earlier: RestoreReceiptRow | None) -> RestoreReceiptRow:
    return replace(row, checked_at_ms=max(row.checked_at_ms, earlier.checked_at_ms + 1)) if earlier else row


def _receipts(arrow: pa.Table) -> Iterator[RestoreReceiptRow]:
    """The rows of a data file, which lacks the columns that were added later."""
    declared = [column for column in RESTORE_RECEIPTS.stored() if column.name in arrow.column_names]
    absent = dict.fromkeys(column.field for column in RESTORE_RECEIPTS.stored())
    for row in arrow.to_pylist():
        values = {column.field: row[column.name] for column in declared}
        yield RestoreReceiptRow(**{**absent, **values, "checked_at_ms": round(row["checked_at"].timestamp() * 1000)})


def _to_json(progress: Progress, commit_id: str) -> str:
    """The stored form; `commit_id` distinguishes a run's commit from another run's with the same progress."""
    positions = [
        [*key, one.next_offset, one.target_offset, one.digest.records, str(one.digest), int(one.is_done)]
        for key, one in sorted(progress.positions.items())
    ]
    stored = {
        "restore_id": progress.restore_id,
        "sequence": progress.sequence,
        "commit_id": commit_id,
        "is_finished": progress.is_finished,
        "base_version": progress.base_version,
        "positions": positions,
    }
    return json.dumps(stored, separators=(",", ":"))


def _from_json(text: str) -> Progress:
    with reading("the progress of a restore in the log of table restore_map"):
        stored = json.loads(text)
        if file_name(stored["restore_id"]) != stored["restore_id"]:  # the plan would be read from another folder
            raise ValueError(f"restore_id is {stored['restore_id']!r}")
        positions = {
            TopicPartition(topic, partition): Position(
                next_offset=next_offset,
                target_offset=target_offset,
                digest=SequenceDigest.parse(records, digest),
                is_done=bool(is_done),
            )
            for topic, partition, next_offset, target_offset, records, digest, is_done in stored["positions"]
        }
        return Progress(
            restore_id=stored["restore_id"],
            sequence=stored["sequence"],
            positions=positions,
            is_finished=stored["is_finished"],
            base_version=stored.get("base_version"),
        )
