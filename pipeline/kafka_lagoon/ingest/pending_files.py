"""Stores what a run has still to do after the commit of its records, before that commit.

These are the rows of record_ranges and record_problems, and the losses that the run has to report. They lie in a
folder inside table `records` whose name begins with an underscore: VACUUM of Spark, Databricks and delta-rs passes over such
folders (`DeltaTableUtils.isHiddenDirectory`), while a file beside a table's data files is removed unless a version names it.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from typing import Any

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import parquet_bytes
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.accounting import is_loss
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.next_offsets import LastRun, PendingFile
from kafka_lagoon.tables.record_rows import RecordRangeRow
from kafka_lagoon.tables.table import Table

FOLDER = "_lagoon"
_REPORT = "report.json"
_OURS = re.compile(r"\.?(\d{12})-")  # files that were not written to their end begin with a dot
_ALWAYS = 0  # sequence of a report that does not depend on a commit


@frozen(kw_only=False)
class Report:
    """A message that a run still has to report; `is_loss` if it makes the exit code 3."""

    ingest_id: str
    text: str
    is_loss: bool = True


@frozen
class PendingFiles:
    """The pending folder of one cluster, below `root`; file names in it begin with the number of the run and its id."""

    storage: Storage
    root: str
    cluster_id: str

    @property
    def folder(self) -> str:
        """Path of the folder, relative to the root."""
        return f"{FOLDER}/{file_name(self.cluster_id)}"

    def write(self, sequence: int, ingest_id: str, table: Table, rows: Sequence[Any]) -> PendingFile | None:
        """Store the rows that a run is to add to a table; returns None if there are none."""
        if not rows:
            return None
        name = f"{self.folder}/{_prefix(sequence, ingest_id)}{uuid.uuid4().hex}-{table.name}.parquet"
        stored = self.storage.write(f"{self.root}/{name}", parquet_bytes(plain_table(table, rows)))
        return PendingFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)

    def write_losses(self, sequence: int, ingest_id: str, ranges: Iterable[RecordRangeRow]) -> None:
        """Store the losses of a run until they are reported; nothing if there are none."""
        lost = list(filter(is_loss, ranges))
        if lost:
            self._write(sequence, Report(ingest_id, f"had {', '.join(missing_in_words(lost))}"))

    def write_report(self, report: Report) -> None:
        """Store a report that does not depend on the next commit."""
        self._write(_ALWAYS, report)

    def reports(self, last_run: LastRun | None) -> dict[str, Report]:
        """Reports of committed runs, by URL. Other files of runs are removed; files that no run has written stay.

        Call it when the last run's rows are in the tables. A run that died between the commit of its rows and the removal of
        their file has left that file, and files of runs that were not committed can never be committed any more.
        """
        reports = {}
        for name in self.storage.names(f"{self.root}/{self.folder}"):
            ours = _OURS.match(name)
            if not ours:  # such as .nfs000000000004, or .DS_Store
                continue
            url = f"{self.root}/{self.folder}/{name}"
            sequence = int(ours[1])
            is_over = last_run is not None and (
                sequence < last_run.sequence or name.startswith(_prefix(last_run.sequence, last_run.ingest_id))
            )
            if name.endswith(_REPORT) and (sequence == _ALWAYS or is_over):
                with reading(url):
                    reports[url] = Report(**json.loads(self.storage.read(url)))
            elif last_run and sequence <= last_run.sequence:
                # Rows that stay are not read again. A report that stays would later be taken for that of a committed run.
                with nullcontext() if name.endswith(_REPORT) else suppress(TableError):
                    self.storage.delete(url)
        return reports

    def remove_losses(self, sequence: int, ingest_id: str) -> None:
        """Remove the losses of a run: they have been reported."""
        self._remove(sequence, ingest_id, _REPORT)

    def remove_all(self, sequence: int, ingest_id: str) -> None:
        """Remove all files of a run that will not be committed."""
        self._remove(sequence, ingest_id)

    def _remove(self, sequence: int, ingest_id: str, ending: str = "") -> None:
        for name in self.storage.names(f"{self.root}/{self.folder}"):
            if name.startswith(_prefix(sequence, ingest_id)) and name.endswith(ending):
                self.storage.delete(f"{self.root}/{self.folder}/{name}")

    def _write(self, sequence: int, report: Report) -> None:
        name = f"{_prefix(sequence, report.ingest_id)}{uuid.uuid4().hex}-{_REPORT}"
        # Written as a whole, because the next run reads every report that exists.
        self.storage.write_whole(f"{self.root}/{self.folder}/{name}", json.dumps(asdict(report)))


def missing_in_words(ranges: Iterable[RecordRangeRow]) -> list[str]:
    """A description of ranges that are not archived, and why."""
    counts, problems = Counter[str](), Counter[str]()
    for row in ranges:
        counts.update({"lost": row.lost, "corrupt": row.corrupt})
        problems.update([row.problem] if row.problem else [])
    numbers = [f"{counts[kind]:,} {kind.upper()}" for kind in ("lost", "corrupt") if counts[kind]]
    return [
        *numbers,
        *(f"{problem} in {count:,} ranges, see table record_ranges" for problem, count in sorted(problems.items())),
    ]


def read_pending(storage: Storage, url: str, file: PendingFile) -> bytes | None:
    """The content of a pending file; None if it is gone or its size has changed. TableError if it exists and cannot be read.

    Its size is compared again after an error: where there is no lock, another process may have removed it meanwhile.
    """
    if storage.size(url) != file.size:
        return None
    try:
        return storage.read(url)
    except TableError:
        if storage.size(url) == file.size:
            raise
        return None


def _prefix(sequence: int, ingest_id: str) -> str:
    return f"{sequence:012d}-{ingest_id}-"
