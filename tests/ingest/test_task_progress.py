"""The driver sees the counts of tasks that still run."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.archive_task import archive
from kafka_lagoon.ingest.task_progress import TaskProgress, progress_folder, totals_in
from kafka_lagoon.records.decoding import Counts
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.ingest.test_archive_task import state, task, task_settings  # noqa: F401  a fixture

COUNTS = [Counts(records=5, aborted=2, bytes_fetched=100), Counts(records=1, lost=3, bytes_fetched=10)]


def test_tasks_are_added_up_while_they_run(tmp_path: Path) -> None:
    """Counts of a task are at most a second old, whether it has ended or not."""
    now = 100.0
    clock = replace(CLOCK, monotonic=lambda: now)
    first, second = (TaskProgress(str(tmp_path), clock) for _ in range(2))
    assert totals_in(str(tmp_path)) == (0, 0, 0)
    first.report(lambda: COUNTS[:1])
    assert totals_in(str(tmp_path)) == (0, 0, 0)
    now = 101.0
    first.report(lambda: COUNTS[:1])
    assert totals_in(str(tmp_path)) == (7, 5, 100)
    first.report(lambda: COUNTS, is_last=True)
    second.report(lambda: COUNTS[1:])
    assert totals_in(str(tmp_path)) == (11 + 4, 6 + 1, 110 + 10)
    first.close()
    second.close()


def test_a_task_that_begins_while_the_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that Spark has given up makes its file then: the run has its own result or error all the same."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove = os.rmdir

    def late_task(path: str, **options: Any) -> None:
        TaskProgress(folder, CLOCK).close()
        remove(path, **options)

    with pytest.raises(TableError), progress_folder("local[2]") as folder:  # noqa: PT012  the end of the block is tested
        assert folder is not None
        monkeypatch.setattr(os, "rmdir", late_task)
        raise TableError("a task failed")


def test_a_full_disk_fails_no_task(tmp_path: Path) -> None:
    """Without a file the task is counted when it has ended, as on other machines."""
    for folder in (str(tmp_path / "gone"), None):
        progress = TaskProgress(folder, CLOCK)
        progress.report(lambda: COUNTS, is_last=True)
        progress.close()


def test_only_on_one_machine() -> None:
    """Executors of a local master can write to a folder of the driver, which is removed after the run."""
    for master in ("local[4]", "local-cluster[2,1,1024]"):
        with progress_folder(master) as folder:
            assert folder
            assert Path(folder).stat().st_mode & 0o777 == 0o700
        assert not Path(folder).exists()
    with progress_folder("spark://elsewhere:7077") as folder:
        assert folder is None


def test_a_task_reports_all_its_splits(state: FakeCluster, tmp_path: Path) -> None:  # noqa: F811
    """Those that are read together and those that are read alone; a task that fails reports no end."""
    folder = tmp_path / "progress"
    folder.mkdir()
    settings = replace(task_settings(state, tmp_path / "files"), progress_folder=str(folder))
    results = [archive(settings, task(state, 0, 1)), archive(settings, task(state, 2, expected_bytes=1 << 30))]
    offsets, records, size = totals_in(str(folder))
    assert (offsets, records) == (12, 12)
    assert size == sum(one.counts.bytes_fetched for result in results for one in result.outcome.outcomes)


def test_a_run_without_temporary_files_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The counts are for people: nothing fails if their folder cannot be made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with progress_folder("local[4]") as folder:
        assert folder is None
