"""The pending folder: files of a run until they are committed or reported, and removal of outdated files."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.next_offsets import LastRun, PendingFile
from kafka_lagoon.ingest.pending_files import PendingFiles, Report, missing_in_words, read_pending
from tests.delta.record_samples import range_row

LOST = range_row("run-2", "t", 0, 9)


@dataclass
class Folder:
    """A file system in a dictionary."""

    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, url: str, data: bytes) -> Any:
        self.files[url] = data
        return SimpleNamespace(size=len(data), modified_at_ms=1)

    def write_whole(self, url: str, text: str) -> None:
        self.files[url] = text.encode()

    def read(self, url: str) -> bytes:
        return self.files[url]

    def size(self, url: str) -> int:
        return len(self.files.get(url, b""))

    def delete(self, url: str) -> None:
        del self.files[url]

    def names(self, folder: str) -> list[str]:
        return sorted(url.removeprefix(f"{folder}/") for url in self.files if url.startswith(f"{folder}/"))


def last_run(sequence: int, ingest_id: str) -> LastRun:
    return LastRun(
        ingest_id=ingest_id, sequence=sequence, ingest_date="2026-11-21", base_version=1, ranges=None, problems=None
    )


def pending(folder: Folder) -> PendingFiles:
    return PendingFiles(storage=folder, root="root", cluster_id="c/1")  # type: ignore[arg-type]


def lossy(ingest_id: str) -> Any:
    return replace(LOST, ingest_id=ingest_id, lost=9, records=0, problem="LOST")


def test_losses_are_reported_once_their_run_has_committed() -> None:
    """Reports of uncommitted runs are kept as long as they may commit, and removed when another run has their number."""
    folder = Folder()
    kept = pending(folder)
    kept.write_losses(2, "run-2", [lossy("run-2")])
    assert all(url.startswith("root/_lagoon/c%2F1/") for url in folder.files)
    assert kept.reports(None) == kept.reports(last_run(1, "run-1")) == {}
    assert len(folder.files) == 1
    (report,) = kept.reports(last_run(2, "run-2")).values()
    assert report == Report("run-2", "had 9 LOST, LOST in 1 ranges, see table record_ranges")
    kept.write_losses(2, "run-2b", [lossy("run-2b")])
    assert len(kept.reports(last_run(3, "run-3"))) == 2  # both had the number of a finished run
    kept.remove_losses(2, "run-2")
    kept.remove_losses(2, "run-2b")
    assert folder.files == {}


def test_rows_of_the_last_run_are_removed_when_it_is_asked_for_its_reports() -> None:
    """They are in their table by then; a run that died just before it removed their file has left it."""
    last, next_run = (
        "root/_lagoon/c%2F1/" + name for name in ("000000000002-run-2-0f-x.parquet", "000000000003-run-3-0f-x.parquet")
    )
    folder = Folder({last: b"", next_run: b""})
    assert pending(folder).reports(last_run(2, "run-2")) == {}
    assert list(folder.files) == [next_run]


@dataclass
class Kept(Folder):
    """A file system in which files cannot be removed."""

    def delete(self, url: str) -> None:
        raise TableError(f"{url} cannot be removed: denied")


def test_rows_that_cannot_be_removed() -> None:
    """They are in their table, so nothing waits for it. A report that stays could be taken for one of a committed run later."""
    rows, report = (f"root/_lagoon/c%2F1/000000000002-run-{name}" for name in ("2-0f-x.parquet", "9-0f-report.json"))
    assert pending(Kept({rows: b""})).reports(last_run(2, "run-2")) == {}
    with pytest.raises(TableError, match="denied"):
        pending(Kept({report: b"{}"})).reports(last_run(2, "run-2"))


def test_a_report_that_was_never_complete_is_removed() -> None:
    """A run that died while it wrote a report has left a file without its name."""
    folder = Folder({"root/_lagoon/c%2F1/.000000000000-run-1-0f-report.json.1e.tmp": b""})
    assert pending(folder).reports(last_run(1, "run-1")) == {}
    assert folder.files == {}


def test_files_of_others_stay() -> None:
    """File systems and desktops leave files in any folder."""
    names = (".nfs000000000004", ".DS_Store", "._000000000001-run-1-0f-report.json", "desktop.ini")
    files = {f"root/_lagoon/c%2F1/{name}": b"" for name in names}
    folder = Folder(dict(files))
    assert pending(folder).reports(last_run(1, "run-1")) == pending(folder).reports(None) == {}
    assert folder.files == files


def test_nothing_lost_is_nothing_kept() -> None:
    """A run without losses has no report."""
    folder = Folder()
    pending(folder).write_losses(1, "run", [LOST])
    assert folder.files == {}


def test_a_loss_beside_a_failure_is_kept() -> None:
    """A range that lost offsets and stopped early for another reason is reported, too."""
    folder = Folder()
    pending(folder).write_losses(1, "run", [replace(LOST, lost=2, problem="CONNECTION_LOST")])
    (report,) = pending(folder).reports(last_run(1, "run")).values()
    assert report.text == "had 2 LOST, CONNECTION_LOST in 1 ranges, see table record_ranges"


def test_a_report_of_what_was_removed_waits_for_no_commit() -> None:
    """It is given to the next run, with the information that it is a loss."""
    folder = Folder()
    report = Report("run-1", "had something", is_loss=False)
    pending(folder).write_report(report)
    assert list(pending(folder).reports(None).values()) == [report]


def test_a_pending_file_that_has_changed_is_not_read() -> None:
    """It is detected by its size; an unchanged file is read as it was written."""
    folder = Folder({"a": b"123"})
    file = PendingFile(name="a", size=3, rows=1, modified_at_ms=1)
    assert read_pending(folder, "a", file) == b"123"  # type: ignore[arg-type]
    folder.files["a"] = b"1"
    assert read_pending(folder, "a", file) is None  # type: ignore[arg-type]


def test_a_pending_file_that_cannot_be_read_is_not_gone() -> None:
    """Its rows would be rebuilt without their counts; one that another process removes meanwhile is gone."""

    class Closed(Folder):
        def read(self, url: str) -> bytes:
            raise TableError(f"{url} cannot be read: Permission denied")

    folder, file = Closed({"a": b"123"}), PendingFile(name="a", size=3, rows=1, modified_at_ms=1)
    with pytest.raises(TableError, match="a cannot be read: Permission denied"):
        read_pending(folder, "a", file)  # type: ignore[arg-type]
    sizes = iter([3, 0])
    folder.size = lambda _: next(sizes)  # type: ignore[method-assign]
    assert read_pending(folder, "a", file) is None  # type: ignore[arg-type]


def test_what_is_missing_in_words() -> None:
    """The text has numbers of offsets, then problems with their numbers of ranges."""
    ranges = [lossy("a"), lossy("b")]
    assert missing_in_words(ranges) == ["18 LOST", "LOST in 2 ranges, see table record_ranges"]
    assert missing_in_words([LOST]) == []
