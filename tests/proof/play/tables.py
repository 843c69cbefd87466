"""Changes to the tables by other engines and by retention, beside whatever runs, and the rows that these have removed."""

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

from deltalake.exceptions import CommitFailedError, DeltaError

from tests.jobs.commands import run
from tests.proof.evidence import Erased, Partition, Rollback, RowId
from tests.proof.play.topics import Topics
from tests.proof.play.world import World

RECORDS, RANGES = "records", "record_ranges"
REPEAT, KEEP, UNDO = "repeat", "keep", "undo"
RETENTION = "retention.records_days"


class Tables:
    """The tables of a history as others change them."""

    verbs: ClassVar = ("foreign", "rewrite", "repair", "retain")

    def __init__(self, world: World, topics: Topics) -> None:
        self._world, self._topics, self._lake = world, topics, world.place.lake
        self.is_compacted = False  # by another engine, which puts files together in any order
        self.erased: Erased = defaultdict(set)
        self.archived_from: dict[Partition, int] = {}  # the first offset of ranges that retention may have removed
        self.rollbacks: list[Rollback] = []
        self._open: tuple[str, int, set[RowId]] | None = None  # table, version of its RESTORE, and rows that are gone
        self._retained_from: dict[str, int] | None = None  # versions before retention
        self.ranges_since_ms = 0  # others have removed ranges before
        self.retains = False

    def _versions(self) -> dict[str, int]:
        return {table: self._lake.table(table).version() for table in (RECORDS, RANGES)}

    def foreign(self, action: str, table: str) -> None:
        """Let deltalake rewrite, remove or checkpoint files of a table."""
        if not self._lake.exists(table):
            return
        opened = self._lake.table(table)
        with suppress(CommitFailedError):
            match action:
                case "compact":
                    self.is_compacted |= table == RECORDS
                    done = opened.optimize.compact()["numFilesAdded"] > 0
                case "vacuum":
                    opened.vacuum(dry_run=False)
                    done = True
                case "checkpoint":
                    opened.create_checkpoint()
                    done = True
            self._world.happened[f"foreign {action}"] += done

    def rewrite(self, action: str, table: str, number: int) -> None:
        """Let Spark delete a part of a table's rows, in percent, or restore the table to so many versions before.

        In a bucket deltalake does that: a session of Spark without our settings would not exclude other writers there.
        """
        if not self._lake.exists(table) or (action == "restore" and self._open):
            return
        before = self._lake.table(table).version()
        wanted = number if action == "delete" else before - number
        version = self._changed(action, table, wanted) if wanted >= 0 else None
        if version is None:
            return
        removed, added = self._difference(table, version)
        engine = "deltalake" if self._lake.in_bucket else "Spark"
        self._world.happened[f"{engine} {action.upper()}"] += bool(removed or added)
        self.is_compacted |= table == RECORDS
        if action == "delete":
            self._erase(removed)
            return
        self._bring_back(added)
        self._open = (table, version, removed)
        self.rollbacks.append(Rollback(at_ms=_now_ms(), has_lost_rows=bool(removed)))

    def _changed(self, action: str, table: str, number: int) -> int | None:
        """Change a table by another engine; return the version, or None where it could not do that."""
        if self._lake.in_bucket:
            return self._changed_in_bucket(action, table, number)
        words = ["-m", "tests.proof.spark_changes", f"{self._lake.location}/{table}", action, str(number)]
        done = run([sys.executable, *words])
        for line in done.stdout.splitlines():
            if line.startswith("version "):
                text = line.removeprefix("version ")
                return int(text) if text.isdecimal() else None
        return None

    def _changed_in_bucket(self, action: str, table: str, number: int) -> int | None:
        opened = self._lake.table(table)
        with suppress(DeltaError):
            if action == "delete":
                opened.delete(f'"offset" % 100 < {number}')
            else:
                opened.restore(number)
            last = opened.history(1)[0]
            return int(last["version"]) if last["operation"] == action.upper() else None
        return None

    def repair(self, way: str) -> None:
        """Say how ingests go on after a RESTORE: repeat or keep, or undo it by another RESTORE."""
        if not self._open:
            return
        table, version, removed = self._open
        if way == UNDO or table == RANGES:
            if self._changed("restore", table, version - 1) is not None:
                self._open = None
                self.rollbacks[-1].resolved_at_ms = _now_ms()
                self._world.happened["RESTORE undone"] += 1
            return
        if way == KEEP:
            self._erase(removed)
        self._start(way)

    def _start(self, way: str) -> None:
        self.rollbacks[-1].begin_repair(_now_ms())
        self._world.jobs.start("ingest", self._topics.acknowledged(), "lagoon", "local", after_restore=way)
        self._world.happened[f"--after-restore {way}"] += 1

    @property
    def after_restore(self) -> str | None:
        """The option of an ingest at the end: a RESTORE may not have been repaired, or by a run that was killed."""
        return REPEAT if self._open else None

    def prepare_end(self) -> None:
        """Undo a RESTORE that no run repairs."""
        if self._open and self._open[0] == RANGES:
            self.repair(UNDO)
        elif self._open:
            self.rollbacks[-1].begin_repair(_now_ms())

    # Retention

    def retain(self, days: int) -> None:
        """Start maintenance that many days later, which keeps records for a day."""
        if self._lake.exists(RECORDS) and self._lake.exists(RANGES) and self._world.clocks.is_there:
            self.begin_retention()
            self._world.jobs.start("maintain", {}, "lagoon", "local", days_later=days, settings=(f"{RETENTION}=1",))

    def begin_retention(self) -> None:
        """Note the versions before it, and where each partition begins: a range without offsets would be forgotten."""
        self._retained_from = self._retained_from or self._versions()
        self.retains = True
        for _, topic, number, start, _ in self._read(RANGES, self._retained_from[RANGES]):
            partition = Partition(topic, number)
            self.archived_from[partition] = min(start, self.archived_from.get(partition, start))

    def observe(self) -> None:
        """Note what retention and repeated runs have removed, when no job runs."""
        if any(one.is_repaired(self._world.jobs.runs) for one in self.rollbacks[-1:]):
            self._open = None
            self.ranges_since_ms = _now_ms()
        if self._retained_from is None:
            return
        before, self._retained_from = self._retained_from, None
        ids = self._removed_since(RECORDS, before[RECORDS])
        spans = self._removed_since(RANGES, before[RANGES])
        self._erase(ids)
        self._erase(spans)
        if spans:
            self.ranges_since_ms = _now_ms()
            self._world.happened["retention of records"] += 1

    def _removed_since(self, table: str, version: int) -> set[RowId]:
        """Return the rows that commits after a version have removed, of ranges with all of their offsets."""
        last, removed = self._lake.table(table).version(), set[RowId]()
        for number in range(version + 1, last + 1):
            removed |= self._difference(table, number)[0]
        return removed

    def _difference(self, table: str, version: int) -> tuple[set[RowId], set[RowId]]:
        """Return the rows that a commit has removed, and those that it has added."""
        now, then = self._rows(table, version), self._rows(table, version - 1)
        return then - now, now - then

    def _read(self, table: str, version: int) -> Iterator[tuple[Any, ...]]:
        read = self._lake.table(table, version).to_pyarrow_table(columns=list(_COLUMNS[table]))
        yield from zip(*(column.to_pylist() for column in read.columns), strict=True)

    def _rows(self, table: str, version: int) -> set[RowId]:
        rows = self._read(table, version)
        if table == RECORDS:
            return {RowId(ingest, Partition(topic, number), offset) for ingest, topic, number, offset in rows}
        return set(_offsets(rows))

    def _erase(self, rows: Iterable[RowId]) -> None:
        for ingest, partition, offset in rows:
            self.erased[ingest, partition].add(offset)

    def _bring_back(self, rows: Iterable[RowId]) -> None:
        for ingest, partition, offset in rows:
            self.erased[ingest, partition].discard(offset)


_COLUMNS = {
    RECORDS: ("ingest_id", "topic_id", "partition", "offset"),
    RANGES: ("ingest_id", "topic_id", "partition", "from_offset", "to_offset"),
}


def _offsets(ranges: Iterable[tuple[str, str, int, int, int]]) -> Iterator[RowId]:
    for ingest, topic, number, start, end in ranges:
        for offset in range(start, end):
            yield RowId(ingest, Partition(topic, number), offset)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
