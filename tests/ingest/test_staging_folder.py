"""Next offsets, marks and staged files of a staging folder: which are read, written once, and removed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest import staging_folder
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, PendingFile, to_json
from kafka_lagoon.ingest.staging_folder import StagingFolder
from tests.ingest.test_pending_files import Folder, Kept


def test_staged_files_that_cannot_be_removed() -> None:
    """Their rows are committed, so nothing waits for it; the next run tries again."""
    name = "staging/000000000001.ledger.json"  # words: ok, the name of a file
    storage = Kept({name: b""})
    last = LastRun(
        ingest_id="0192-0002", sequence=2, ingest_date="2026-11-21", base_version=0, ranges=None, problems=None
    )
    StagingFolder(storage=storage, root="staging").clear(last)  # type: ignore[arg-type]
    assert storage.files == {name: b""}


class Staged(Folder):
    """A file system of which folders are listed, and in which a commit is written once."""

    def names(self, folder: str) -> list[str]:
        return sorted({name.partition("/")[0] for name in super().names(folder)})

    def write_whole(self, url: str, text: str) -> None:
        if url in self.files:
            raise TableError(f"{url} cannot be written: it exists")
        super().write_whole(url, f"{text}\n")

    def delete(self, url: str) -> None:
        self.files = {name: data for name, data in self.files.items() if not f"{name}/".startswith(f"{url}/")}


def staged_file(name: str) -> PendingFile:
    return PendingFile(name=name, size=1, rows=1, modified_at_ms=1)


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_run_clears_nothing_of_later_runs(is_locked: bool) -> None:
    """It may have been paused since its commit. Where no lock is, later runs may be staging files, and dead ones have left some."""
    last = LastRun(
        ingest_id="run-2",
        sequence=2,
        ingest_date="2026-11-21",
        base_version=0,
        ranges=staged_file("ingest_date=2026-11-21/run-2.parquet"),
        problems=None,
        records=(staged_file("ingest_date=2026-11-21/of-2.parquet"),),
    )
    offsets, mark = staging_folder._NEXT_OFFSETS, staging_folder._COMMITTED
    later = [f"000000000003{offsets}", f"000000000003{mark}", f".000000000003{offsets}.1e.tmp"]
    staged = ["ingest_date=2026-11-21/of-3.parquet", "ranges/ingest_date=2026-11-21/run-3.parquet"]
    left = ["ingest_date=2026-11-13/dead.parquet", "problems/ingest_date=2026-11-13/dead.parquet"]
    own = ["ingest_date=2026-11-21/of-2.parquet", "ranges/ingest_date=2026-11-21/run-2.parquet"]
    earlier = [f"000000000001{offsets}", f"000000000001{mark}"]
    storage = Staged({f"staging/{name}": b"x" for name in (*later, *staged, *left, *own, *earlier)})
    StagingFolder(storage=storage, root="staging", is_locked=is_locked).clear(last)  # type: ignore[arg-type]
    assert storage.files.keys() == {f"staging/{name}" for name in (*later, *(() if is_locked else staged))}


@pytest.mark.parametrize(
    ("meanwhile", "is_written"),
    [
        (lambda folder: folder.storage.write_whole(folder.url(2, staging_folder._NEXT_OFFSETS), "theirs"), False),
        (lambda folder: folder.storage.write_whole(folder.url(2, staging_folder._NEXT_OFFSETS), "ours"), True),
        (lambda folder: folder.storage.write_whole(folder.url(3, staging_folder._NEXT_OFFSETS), "theirs"), False),
        (lambda _: None, True),
    ],
)
def test_one_of_two_runs_writes_its_next_offsets(
    monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[StagingFolder], None], is_written: bool
) -> None:
    """Both have seen that the number is free. The next offsets may be there already: of the other run, or of a lost answer."""
    folder = StagingFolder(storage=Staged(), root="staging", is_locked=False)  # type: ignore[arg-type]

    def newest(self: StagingFolder) -> int:
        monkeypatch.undo()
        meanwhile(self)
        return 1

    monkeypatch.setattr(StagingFolder, "newest", newest)
    assert folder.write_next_offsets(2, "ours") == is_written
    assert folder.newest() == 2 or not is_written
    assert not folder.write_next_offsets(2, "ours")


def test_next_offsets_that_a_later_run_removes() -> None:
    """A run that has listed the folder reads those of the later run; those of a run that is gone are an error."""
    storage = Staged()
    folder = StagingFolder(storage=storage, root="staging", is_locked=False)  # type: ignore[arg-type]
    folder.write_next_offsets(1, to_json(NextOffsets()))
    read = storage.read

    def removed(url: str) -> bytes:
        storage.read = read  # type: ignore[method-assign]
        folder.write_next_offsets(2, to_json(NextOffsets(problems_run=7)))
        storage.delete(url)
        raise TableError(f"{url} cannot be read")

    storage.read = removed  # type: ignore[method-assign]
    assert folder.last() == (2, NextOffsets(problems_run=7))

    def denied(url: str) -> bytes:
        raise TableError(f"{url} cannot be read: denied")

    storage.read = denied  # type: ignore[method-assign]
    with pytest.raises(TableError, match="denied"):
        folder.last()


@pytest.mark.spark
def test_files_of_others_in_the_staging_folder(warehouse: Warehouse, tmp_path: Path):
    """They are no next offsets of a run."""
    folder = StagingFolder(storage=warehouse.kernel.storage, root=f"file:{tmp_path}/staging")
    folder.storage.write(folder.url(3, staging_folder._NEXT_OFFSETS), b"")
    folder.storage.write(f"{folder.root}/._000000000004{staging_folder._NEXT_OFFSETS}", b"")
    assert folder.newest() == 3


@pytest.mark.spark
def test_what_an_earlier_release_has_examined(warehouse: Warehouse, tmp_path: Path):
    """Its file has the versions and no next offsets, which are those of the run."""
    folder = StagingFolder(storage=warehouse.kernel.storage, root=f"file:{tmp_path}/staging")
    offsets = NextOffsets(topics={"t": Archived(topic_id="id", partitions={0: Position(next_offset=5)})})
    folder.storage.write_whole(folder.url(1, staging_folder._NEXT_OFFSETS), to_json(offsets))
    folder.storage.write_whole(
        folder.url(1, staging_folder._EXAMINED), '{"examined": {"records": 7}, "problems_run": 1}'
    )
    assert folder.next_offsets(1) == replace(offsets, examined={"records": 7}, problems_run=1)
    folder.write_examined(1, replace(offsets, examined={"records": 8}))
    assert folder.next_offsets(1) == replace(offsets, examined={"records": 8})
