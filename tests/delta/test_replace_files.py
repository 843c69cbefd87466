"""Files are replaced in one commit, which may have no answer; a file that no version of the table names does not stay."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.delta.files import DataFile, LiveFile, Statistics
from kafka_lagoon.delta.kernel_errors import Conflict
from kafka_lagoon.delta.replace_files import ATTEMPTS, Replacement, replace_files
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.tables.schema import STORED_CHANGES
from tests.clock import CLOCK

TABLE, LOCATION, DAY, NEXT_DAY = STORED_CHANGES, "file:/lake/stored changes", date(2026, 11, 27), date(2026, 11, 28)
OLD = [f"snapshot_date={DAY}/old.parquet", f"snapshot_date={NEXT_DAY}/old.parquet"]


class _Lake:
    """Stands for a warehouse with a table of two files, whose commits fail with `faults`, one after the other.

    With `is_committed` they are made all the same.
    """

    def __init__(self, *faults: Exception, is_committed: bool = False, is_local: bool = True) -> None:
        self.faults, self.is_committed = list(faults), is_committed
        self.locations = {TABLE.name: LOCATION}
        self.live = [LiveFile(path=path, day=DAY, size=1, modified_at_ms=1, rows=1) for path in OLD]
        self.files = {file.url(LOCATION) for file in self.live}
        local = Path if is_local else lambda _: None
        self.kernel = SimpleNamespace(
            storage=SimpleNamespace(delete=self.files.discard, local=local, size=lambda _: 1, read=self._commit),
            live_files=self._live_files,
            replace=self._replace,
        )
        self.added: list[str] = []
        self.commits = 0

    def _commit(self, _: str) -> bytes:
        """Return the commit of the new files, as the log has it."""
        return b"\n".join(json.dumps({"add": {"path": url}}).encode() for url in self.added)

    def exclusively(self, *_: Any) -> Any:
        if self.faults and isinstance(self.faults[0], LockHeld):
            raise self.faults.pop(0)
        return nullcontext()

    def state(self, _: Any) -> None:
        """Return no state, which nobody looks at."""

    state_to_read = state

    def _live_files(self, _: Any, wanted: Mapping[str, date] = {}) -> list[LiveFile]:
        days = set(wanted.values())
        return [
            file
            for file in self.live
            if not days or file.path.split("/")[0] in {f"snapshot_date={day}" for day in days}
        ]

    def _replace(
        self, _: Any, old: Sequence[LiveFile], new: Mapping[date, Sequence[DataFile]], *__: Any, **rows: bool
    ) -> int:
        assert rows == {"removes_rows": True, "adds_rows": False}
        self.commits += 1
        if self.is_committed or not self.faults:
            self.added = [file.url for of_day in new.values() for file in of_day]
            paths = [url.removeprefix(f"{LOCATION}/") for url in self.added]
            self.live = [file for file in self.live if file not in old]
            self.live += [LiveFile(path=path, day=DAY, size=1, modified_at_ms=1, rows=1) for path in paths]
        if self.faults:
            raise self.faults.pop(0)
        return 7

    def replaced(self, *days: date) -> bool:
        """Replace the files of the days by new ones."""
        new = {day: [written(f"{LOCATION}/snapshot_date={day}/new.parquet")] for day in days}
        self.files |= {file.url for of_day in new.values() for file in of_day}
        replacement = Replacement(old=self._old, new=new, removes_rows=True)
        return replace_files(self, TABLE, replacement, CLOCK)  # type: ignore[arg-type]

    def _old(self, _: Any) -> Sequence[LiveFile] | None:
        old = [file for file in self.live if file.path in OLD]
        return old if len(old) == len(OLD) else None

    @property
    def named(self) -> set[str]:
        """URLs of the files that the table names."""
        return {file.url(LOCATION) for file in self.live}


def written(url: str) -> DataFile:
    """Return a file as the storage describes it."""
    return DataFile(url=url, size=1, modified_at_ms=1, statistics=Statistics(rows=1, least={}, greatest={}, nulls={}))


@pytest.mark.parametrize("days", [(DAY,), (DAY, NEXT_DAY), ()])
def test_old_files_make_room_for_new_ones(days: Sequence[date]) -> None:
    """After a conflict with others, too, and if no row is kept: then no new file shows that the commit was made."""
    lake = _Lake(Conflict("lake"))
    assert lake.replaced(*days)
    assert lake.commits == 2
    assert lake.named == {f"{LOCATION}/snapshot_date={day}/new.parquet" for day in days}


@pytest.mark.parametrize("days", [(DAY,), (DAY, NEXT_DAY)])
def test_a_commit_whose_answer_was_lost(days: Sequence[date]) -> None:
    """A log store may refuse the repeated request for a commit that it has made: that is not made again, and its files stay."""
    lake = _Lake(Conflict("lake"), is_committed=True)
    assert lake.replaced(*days)
    assert lake.commits == 1
    assert len(lake.named & lake.files) == len(days)


def test_files_that_others_have_removed() -> None:
    """Nothing is committed, and the new file does not stay."""
    lake = _Lake()
    del lake.live[0]
    before = lake.files.copy()
    assert not lake.replaced(DAY)
    assert (lake.commits, lake.files) == (0, before)


def test_others_that_always_commit() -> None:
    """After some attempts it is given up; the new file does not stay."""
    lake = _Lake(*[Conflict("lake")] * ATTEMPTS)
    before = lake.files.copy()
    assert not lake.replaced(DAY)
    assert (lake.commits, lake.files) == (ATTEMPTS, before)


@pytest.mark.parametrize("fault", [TableError("No space left on device"), LockHeld("commit", "another run")])
def test_a_commit_that_fails_leaves_no_file(fault: Exception) -> None:
    """A full disk would have less room for every further attempt."""
    lake = _Lake(fault)
    with pytest.raises(type(fault)):
        lake.replaced(DAY)
    assert lake.files == lake.named


@pytest.mark.parametrize(("is_committed", "is_local"), [(True, True), (False, False), (True, False)])
def test_a_commit_that_may_have_failed_keeps_its_file(is_committed: bool, is_local: bool) -> None:
    """The request may have been carried out, or on an object store may still be."""
    lake = _Lake(TableError("no answer"), is_committed=is_committed, is_local=is_local)
    with pytest.raises(TableError, match="no answer"):
        lake.replaced(DAY)
    assert f"{LOCATION}/snapshot_date={DAY}/new.parquet" in lake.files


def test_a_file_that_cannot_be_looked_for() -> None:
    """The first failure is reported, and the file stays."""
    lake = _Lake(TableError("no answer"))
    lake.state = lambda _: (_ for _ in ()).throw(TableError("no log"))  # type: ignore[method-assign]
    with pytest.raises(TableError, match="no answer"):
        lake.replaced(DAY)
    assert f"{LOCATION}/snapshot_date={DAY}/new.parquet" in lake.files


def test_a_version_that_is_another_commit() -> None:
    """Of two writers that a log store does not keep apart one fails."""
    lake = _Lake()
    lake.kernel.storage.read = lambda _: json.dumps({"add": {"path": f"{LOCATION}/theirs.parquet"}}).encode()
    with pytest.raises(TableError, match=r"version 7 of table stored_changes is not what was committed"):
        lake.replaced(DAY)
