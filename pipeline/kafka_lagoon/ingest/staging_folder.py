"""A cluster's staging folder, where a run writes its next offsets and its files before Spark writes them to the tables.

The number of a run begins the names of its next offsets and of its mark; staged files are below the day of their run.
"""

import json
import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta

from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, from_json, to_json
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table

_NEXT_OFFSETS, _COMMITTED = ".ledger.json", ".paid"  # words: ok, the names of files that 0.1.0 has written
_EXAMINED = ".examined.json"
_NUMBERED = re.compile(rf"(\d{{12}}){re.escape(_NEXT_OFFSETS)}")
_FOLDERS = {RECORD_RANGES.name: "ranges", RECORD_PROBLEMS.name: "problems"}
_STAGED = re.compile(rf"\d{{12}}\.|{RECORDS.partition_by}=|({'|'.join(_FOLDERS.values())})$")
_LEFT_FOR = timedelta(days=7)  # as maintenance keeps files that no version names: no run is older that may still commit


@frozen
class StagingFolder:
    """A cluster's staging folder: next offsets by the number of the run, the marks of committed runs, and staged files.

    `is_locked` is false where no lock keeps other runs away: these may have staged files that they have not committed yet.
    """

    storage: Storage
    root: str
    is_locked: bool = True

    def last(self) -> tuple[int, NextOffsets]:
        """The number of the last run that wrote its next offsets, and these; a later run may remove them meanwhile."""
        while True:
            number = self.newest()
            try:
                return number, self.next_offsets(number)
            except TableError:
                if self.newest() == number:
                    raise

    def newest(self) -> int:
        """Number of the last run that wrote its next offsets, 0 if there is none."""
        names = self.storage.names(self.root)
        ours = (_NUMBERED.fullmatch(name) for name in names)
        return max((int(name[1]) for name in ours if name), default=0)

    def next_offsets(self, number: int) -> NextOffsets:
        """The next offsets that run `number` wrote, or a later run without new records. 0 stands for before the first run."""
        stored = from_json(self.storage.read(self.url(number, _NEXT_OFFSETS)).decode()) if number else NextOffsets()
        later = self._examined(number)
        if not later:
            return stored
        text = self.storage.read(later[-1])
        with reading(later[-1]):
            values = json.loads(text)
            if "topics" in values:
                return from_json(text.decode())
            # Earlier releases stored only these values of a run without new records.
            return replace(stored, examined=values["examined"], problems_run=values["problems_run"])

    def write_next_offsets(self, number: int, text: str) -> bool:
        """Write the next offsets of run `number`, which is committed as soon as they exist; False if another run was first.

        They exist as a whole, and once: a store without locks refuses to write them again.
        """
        if self.newest() >= number:
            return False
        url = self.url(number, _NEXT_OFFSETS)
        try:
            self.storage.write_whole(url, text)
        except TableError:
            if not self.storage.size(url):
                raise
            # The answer may have been lost, and repeating the request was refused. Log stores end each line.
            if self.storage.read(url).decode().rstrip("\n") != text:
                return False
        if self.newest() > number:  # those of the first run with this number have been removed by the run after it
            self.storage.delete(url)
            return False
        return True

    def write_examined(self, number: int, offsets: NextOffsets) -> None:
        """Write the next offsets of a run without new records after run `number`, in place of those of earlier such runs.

        If this process dies before it has removed the earlier ones, the next run may read those: it then stores its own again.
        """
        earlier = self._examined(number)
        self.storage.write_whole(self.url(number, f".{uuid.uuid4().hex}{_EXAMINED}"), to_json(offsets))
        for url in earlier:
            self.storage.delete(url)

    def _examined(self, number: int) -> list[str]:
        """URLs of the next offsets of runs without new records after a run."""
        names = self.storage.names(self.root)
        return [
            f"{self.root}/{name}"
            for name in names
            if name.startswith(_numbered(number, ".")) and name.endswith(_EXAMINED)
        ]

    def is_committed(self, number: int) -> bool:
        """True if all files of a run are in the tables."""
        return _numbered(number, _COMMITTED) in self.storage.names(self.root)

    def mark_committed(self, number: int) -> None:
        """Note that all files of a run are in the tables."""
        self.storage.write(self.url(number, _COMMITTED), b"")

    def of(self, table: Table) -> str:
        """URL of the folder of a table's staged files; those of `records` are in the staging folder itself."""
        return f"{self.root}/{_FOLDERS[table.name]}"

    def discard(self, number: int) -> NextOffsets:
        """Remove a run's next offsets; returns those of the run before it."""
        before = self.next_offsets(number - 1)
        self.storage.delete(self.url(number, _NEXT_OFFSETS))
        return before

    def url(self, number: int, suffix: str) -> str:
        """URL of a run's next offsets or mark."""
        return f"{self.root}/{_numbered(number, suffix)}"

    def clear(self, run: LastRun) -> None:
        """Remove the staged files of a committed run, and the next offsets of earlier runs; files of others stay.

        Files that dead runs have staged are removed under a lock, and after a week where there is none. A file that cannot be
        removed is left to the next run: its rows are committed, and nothing reads it again.
        """
        for name in self.storage.names(self.root):
            plain = name.lstrip(".")  # incomplete files begin with a dot
            # A run that was paused may come here after later runs have committed.
            is_old = plain < _numbered(run.sequence) if plain[:1].isdigit() else self.is_locked
            if is_old and _STAGED.match(plain):
                self._remove(name)
        if self.is_locked:
            return
        self.discard_staged(run)
        oldest = f"{RECORDS.partition_by}={date.fromisoformat(run.ingest_date) - _LEFT_FOR}"
        for above in ("", *(f"{folder}/" for folder in _FOLDERS.values())):
            for name in self.storage.names(f"{self.root}/{above}".rstrip("/")):
                if name.startswith(f"{RECORDS.partition_by}=") and name < oldest:
                    self._remove(f"{above}{name}")

    def discard_staged(self, run: LastRun) -> None:
        """Remove the files that a run has staged: they are in the tables, or will never be."""
        for name in _staged_names(run):
            self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(TableError):
            self.storage.delete(f"{self.root}/{name}")


def _staged_names(run: LastRun) -> Sequence[str]:
    """The files that a run has staged, as paths below the staging folder."""
    files = ((RECORD_RANGES, run.ranges), (RECORD_PROBLEMS, run.problems))
    return [
        *(file.name for file in run.records),
        *(f"{_FOLDERS[table.name]}/{file.name}" for table, file in files if file),
    ]


def _numbered(number: int, suffix: str = "") -> str:
    """The name of a run's file, which begins with the number of the run, so that names sort by it."""
    return f"{number:012d}{suffix}"
