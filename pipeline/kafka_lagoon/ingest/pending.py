"""What a run writes down before it commits its records, because it has to be done after that commit.

These are the rows of record_ranges and record_problems, and the losses that the run has still to report. They lie in a
folder inside table `records` whose name begins with an underscore: VACUUM of Spark, Databricks and delta-rs passes over such
folders (`DeltaTableUtils.isHiddenDirectory`), while a file beside a table's data files is removed unless a version names it.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kafka_lagoon.delta.arrow import parquet_bytes, plain_table
from kafka_lagoon.delta.schema import Table
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.accounting import is_loss
from kafka_lagoon.fetch.record_rows import RecordRangeRow
from kafka_lagoon.ingest.next_offsets import LastRun, StagedFile

FOLDER = "_lagoon"
_REPORT = "report.json"
_ALWAYS = 0  # sequence of a report that does not depend on a commit


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found and has not said yet; `is_loss` if it makes the exit code 3."""

    ingest_id: str
    text: str
    is_loss: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The folder of one cluster, below `root`; names in it begin with the number of the run and its id."""

    storage: Storage
    root: str
    cluster_id: str

    @property
    def folder(self) -> str:
        """Path of the folder, relative to the root."""
        return f"{FOLDER}/{quote(self.cluster_id, safe='')}"

    def write(self, sequence: int, ingest_id: str, table: Table, rows: Sequence[Any]) -> StagedFile | None:
        """Keep the rows that a run is to add to a table; None if there are none."""
        if not rows:
            return None
        name = f"{self.folder}/{_prefix(sequence, ingest_id)}{uuid.uuid4().hex}-{table.name}.parquet"
        stored = self.storage.write(f"{self.root}/{name}", parquet_bytes(plain_table(table, rows)))
        return StagedFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)

    def write_losses(self, sequence: int, ingest_id: str, ranges: Iterable[RecordRangeRow]) -> None:
        """Keep what a run lost, if anything, until it has reported it."""
        lost = list(filter(is_loss, ranges))
        if lost:
            self._write(sequence, Report(ingest_id, f"had {', '.join(missing(lost))}"))

    def write_report(self, report: Report) -> None:
        """Keep something that is to be said whatever is committed next."""
        self._write(_ALWAYS, report)

    def reports(self, last: LastRun | None) -> dict[str, Report]:
        """What committed runs have still to report, by URL; what can never be committed any more is removed."""
        found = {}
        for name in self.storage.names(f"{self.root}/{self.folder}"):
            url, sequence = f"{self.root}/{self.folder}/{name}", int(name.partition("-")[0])
            is_over = last is not None and (sequence < last.sequence or name.startswith(_prefix_of(last)))
            if name.endswith(_REPORT) and (sequence == _ALWAYS or is_over):
                found[url] = Report(**json.loads(self.storage.read(url)))
            elif last and sequence <= last.sequence and not name.startswith(_prefix_of(last)):
                self.storage.delete(url)
        return found

    def remove_losses(self, sequence: int, ingest_id: str) -> None:
        """Forget what a run lost: it has been reported."""
        for name in self.storage.names(f"{self.root}/{self.folder}"):
            if name.startswith(_prefix(sequence, ingest_id)) and name.endswith(_REPORT):
                self.storage.delete(f"{self.root}/{self.folder}/{name}")

    def _write(self, sequence: int, report: Report) -> None:
        name = f"{_prefix(sequence, report.ingest_id)}{uuid.uuid4().hex}-{_REPORT}"
        told = {"ingest_id": report.ingest_id, "text": report.text, "is_loss": report.is_loss}
        self.storage.write(f"{self.root}/{self.folder}/{name}", json.dumps(told).encode())


def missing(ranges: Iterable[RecordRangeRow]) -> list[str]:
    """What is not archived of ranges, and why, in words."""
    counts, problems = Counter[str](), Counter[str]()
    for row in ranges:
        counts.update({"lost": row.lost, "corrupt": row.corrupt})
        problems.update([row.problem] if row.problem else [])
    numbers = [f"{counts[one]:,} {one.upper()}" for one in ("lost", "corrupt") if counts[one]]
    return [
        *numbers,
        *(f"{problem} in {count:,} ranges, see table record_ranges" for problem, count in sorted(problems.items())),
    ]


def read_staged(storage: Storage, url: str, staged: StagedFile) -> bytes | None:
    """The content of a file that waits to be committed; None if it is gone or not as long as it was."""
    if storage.size(url) != staged.size:
        return None
    try:
        return storage.read(url)
    except TableError:
        return None


def _prefix(sequence: int, ingest_id: str) -> str:
    return f"{sequence:012d}-{ingest_id}-"


def _prefix_of(last: LastRun) -> str:
    return _prefix(last.sequence, last.ingest_id)
