"""Each record is archived once, with its counts and next offsets, for a death of the run at any step."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, RangesPending, TableError
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest import commit as ingest_commit
from kafka_lagoon.ingest import pending_commits
from kafka_lagoon.ingest.commit import commit, commit_examined
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, from_json, to_json, with_examined
from kafka_lagoon.ingest.pending_files import PendingFiles
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.record_samples import run
from tests.ingest.writers import STEPS, Died, Writer, contents, dies, folder, ingest, remove

pytestmark = pytest.mark.spark


def test_runs_go_on_where_the_last_one_ended(writer: Writer, warehouse: Warehouse):
    """Each record exists once, ranges have no gaps, and the next offset is stored."""
    ingest(writer, 1, 5)
    ingest(writer, 2, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
    with writer.lock() as lock:
        assert lock.topics["t"].partitions[0] == Position(next_offset=9)


def test_a_run_without_records_moves_positions(by_kernel: Writer, warehouse: Warehouse):
    """If all records are lost or aborted, the range has a row, and no run reads it again."""
    writer = by_kernel
    ingest(writer, 1, 5)
    with writer.lock() as lock:
        writer.commit(lock, run(lock, 2, 5, 5))
    assert contents(warehouse)[:2] == (list(range(5)), [(0, 5), (5, 5)])


def test_death_at_every_step_of_a_commit(writer: Writer, warehouse: Warehouse):
    """After a death at any write or commit the next run completes or repeats it, with the same tables in the end."""
    upto = 0
    for number, (where, what, call) in enumerate(STEPS["kernel" if writer.commit is commit else "spark"]):
        upto += 3
        with dies(where, what, call), pytest.raises(Died):
            ingest(writer, 2 * number, upto)
        ingest(writer, 2 * number + 1, upto)  # adds the records that the dead run did not, which may be none
        offsets, ranges, problems = contents(warehouse)
        assert offsets == list(range(upto)), (what, call)
        joined = [one for one in ranges if one[0] != one[1]]
        assert [joined[0][0], *(one[1] for one in joined)] == [0, *(one[0] for one in joined[1:]), upto], (what, call)
        assert len(problems) == len(ranges), (what, call)


@contextmanager
def fails_at(where: type, what: str, call: int, error: Exception) -> Iterator[None]:
    """Raise an error in place of the n-th call of a method."""
    real, calls = getattr(where, what), count(1)

    def called(*arguments: Any, **options: Any) -> Any:
        if next(calls) == call:
            raise error
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, what, called)
        yield


def fails(*_: object) -> None:
    raise TableError("no space is left")


def test_ranges_that_cannot_be_committed(by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """The error says that the records are committed; the next run adds the ranges, and no record twice."""
    with monkeypatch.context() as patch:
        patch.setattr(pending_commits, "_append", fails)
        with pytest.raises(RangesPending, match=r"^the records of ingest 0192-0001 are committed, .*no space is left$"):
            ingest(by_kernel, 1, 5)
    assert contents(warehouse) == (list(range(5)), [], [])
    ingest(by_kernel, 2, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])


def test_others_cannot_commit_between_records_and_ranges(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
):
    """The lock of commits is held until the ranges are committed: somebody who took it in between could keep it for long."""
    real = ingest_commit._check

    def check(*arguments: Any) -> None:
        with pytest.raises(LockHeld), locked(folder(warehouse) / ".lagoon-commit.lock", CLOCK):
            pass
        real(*arguments)

    monkeypatch.setattr(ingest_commit, "_check", check)
    ingest(by_kernel, 1, 5)
    assert contents(warehouse)[:2] == (list(range(5)), [(0, 5)])


def test_data_files_that_are_gone_are_not_committed(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """Files are checked before they are committed: if one is missing, a run commits nothing."""
    with by_kernel.lock() as lock:
        made = run(lock, 1, 0, 5)
        remove(tmp_path, "0192-0001-0.parquet")
        with pytest.raises(TableError, match="1 of 1 data files were removed"):
            by_kernel.commit(lock, made)
    ingest(by_kernel, 2, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 9)])


def test_compaction_between_two_runs(by_kernel: Writer, warehouse: Warehouse):
    """OPTIMIZE rewrites the files and keeps next offsets and the number of the last run."""
    writer = by_kernel
    ingest(writer, 1, 5)
    ingest(writer, 2, 9)
    foreign.optimize(warehouse, "records")
    ingest(writer, 3, 12)
    assert contents(warehouse)[:2] == (list(range(12)), [(0, 5), (5, 9), (9, 12)])


def test_what_an_overtaken_run_wrote_is_removed(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
):
    """Without a lock the first commit wins; data files and pending files of the other run are removed."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())
    with by_kernel.lock() as slow:
        ingest(by_kernel, 1, 5)
        made = run(slow, 2, 0, 7, problems=1)
        assert list(folder(warehouse).rglob("*0192-0002*"))
        with pytest.raises(LockHeld, match="it committed in the meantime"):
            by_kernel.commit(slow, made)
    assert contents(warehouse)[:2] == (list(range(5)), [(0, 5)])
    assert list(folder(warehouse).rglob("*0192-0002*")) == []


@pytest.mark.parametrize(
    ("where", "what", "call"), [(PendingFiles, "write", 2), (Kernel, "append", 1), (Warehouse, "exclusively", 1)]
)
def test_a_run_that_fails_leaves_no_files(by_kernel: Writer, warehouse: Warehouse, where: type, what: str, call: int):
    """Its data files and pending files are removed: on a full disk each attempt would need as much again."""
    ingest(by_kernel, 1, 5)
    with by_kernel.lock() as lock:
        made = run(lock, 2, 5, 9, problems=1)
        assert list(folder(warehouse).rglob("*0192-0002*"))
        error = LockHeld("the lock of commits", "maintain") if where is Warehouse else TableError("no space is left")
        with fails_at(where, what, call, error), pytest.raises(type(error)):
            by_kernel.commit(lock, made)
    assert list(folder(warehouse).rglob("*0192-0002*")) == []
    ingest(by_kernel, 3, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])


@pytest.mark.parametrize("upto", [5, 9])
def test_files_of_a_commit_that_seems_to_have_failed_stay(by_kernel: Writer, warehouse: Warehouse, upto: int):
    """If the log has the commit in spite of the error, its data files and pending rows are needed, with and without records."""
    ingest(by_kernel, 1, 5)
    real = Kernel.append

    def append(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise TableError("the answer was lost")

    with by_kernel.lock() as lock, pytest.MonkeyPatch.context() as patch:
        made = run(lock, 2, 5, upto)
        patch.setattr(Kernel, "append", append)
        with pytest.raises(TableError, match="the answer was lost"):
            by_kernel.commit(lock, made)
    with by_kernel.lock() as lock:
        assert (lock.topics["t"].partitions[0].next_offset, lock.reports) == (upto, {})
    assert contents(warehouse)[:2] == (list(range(upto)), [(0, 5), (5, upto)])


@pytest.mark.parametrize("upto", [5, 9])
def test_files_of_a_commit_that_cannot_be_looked_for_at_once(by_kernel: Writer, warehouse: Warehouse, upto: int):
    """The answer is lost and the table cannot be read for a moment: before files are removed, it is read again."""
    ingest(by_kernel, 1, 5)
    real = Kernel.append

    def append(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        failing.enter_context(fails_at(Warehouse, "state", 1, TableError("records cannot be read")))
        raise TableError("the answer was lost")

    with by_kernel.lock() as lock, ExitStack() as failing, pytest.MonkeyPatch.context() as patch:
        made = run(lock, 2, 5, upto, problems=1)
        patch.setattr(Kernel, "append", append)
        with pytest.raises(TableError, match="the answer was lost"):
            by_kernel.commit(lock, made)
    with by_kernel.lock() as lock:
        assert (lock.topics["t"].partitions[0].next_offset, lock.reports) == (upto, {})
    assert contents(warehouse) == (list(range(upto)), [(0, 5), (5, upto)], [0, 5])


def test_files_stay_where_a_commit_that_failed_may_still_be_made(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
):
    """An object store may carry out a request after the run has given up: the table then names files that must be there."""
    monkeypatch.setattr(Storage, "local", lambda *_: None)
    late: list[Any] = []

    def append(*arguments: Any, **options: Any) -> int:
        late.append((arguments, options))
        raise TableError("no answer")

    with by_kernel.lock() as lock, monkeypatch.context() as patch:
        patch.setattr(Kernel, "append", append)
        with pytest.raises(TableError, match="no answer"):
            by_kernel.commit(lock, run(lock, 1, 0, 5, problems=1))
    ((arguments, options),) = late
    Kernel.append(*arguments, **options)
    ingest(by_kernel, 2, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])


def test_committed_files_stay_whatever_the_answer_was(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
):
    """If the response to a commit was lost and its repetition refused, the run continues and keeps its files."""
    real = Kernel.append

    def repeated(*arguments: Any, **options: Any) -> int:
        real(*arguments, **options)
        return real(*arguments, **options)

    with by_kernel.lock() as lock, monkeypatch.context() as patch:
        patch.setattr(Kernel, "append", repeated)
        by_kernel.commit(lock, run(lock, 1, 0, 5, problems=1))
    ingest(by_kernel, 2, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 5), (5, 9)])


def test_a_commit_that_another_one_overwrote(by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """A log store that does not keep writers apart loses a commit: the run fails, adds no ranges, and the next one repeats it."""
    ingest(by_kernel, 1, 5)
    real = Kernel.append

    def overwritten(*arguments: Any, **options: Any) -> int:
        version = real(*arguments, **options)
        foreign.commit_files(warehouse, "records")[-1].unlink()
        foreign.write(warehouse, "records", "SET TBLPROPERTIES")
        return version

    with by_kernel.lock() as lock, monkeypatch.context() as patch:
        patch.setattr(Kernel, "append", overwritten)
        with pytest.raises(ChecksFailed, match="records does not hold what was committed"):
            by_kernel.commit(lock, run(lock, 2, 5, 9))
    assert contents(warehouse)[:2] == (list(range(5)), [(0, 5)])
    ingest(by_kernel, 3, 12)
    assert contents(warehouse)[:2] == (list(range(12)), [(0, 5), (5, 12)])


def test_a_commit_that_the_next_run_follows_at_once(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
):
    """Without a lock another run may commit before this one has read back its own: both are there, each once."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())
    real = Kernel.append

    def followed(*arguments: Any, **options: Any) -> int:
        version = real(*arguments, **options)
        patch.undo()
        ingest(by_kernel, 2, 9)
        return version

    with by_kernel.lock() as lock, monkeypatch.context() as patch:
        patch.setattr(Kernel, "append", followed)
        by_kernel.commit(lock, run(lock, 1, 0, 5, problems=1))
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])


class _Lost:
    """Stands for a warehouse that makes a commit, and whose file system then refuses the repeated request for it."""

    def __init__(self, stored: NextOffsets, *, is_committed: bool) -> None:
        self.stored, self.is_committed, self.kernel = to_json(stored), is_committed, self

    def exclusively(self, *_: object) -> Any:
        return nullcontext()

    def state(self, _: str) -> Any:
        return None

    def domain(self, *_: object) -> str:
        return self.stored

    def append(self, *_: object, domains: dict[str, str]) -> int:
        if self.is_committed:
            (self.stored,) = domains.values()
        raise TableError("records cannot be appended to: both set the same domain")


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_was_examined_is_stored_though_the_answer_is_lost(*, is_committed: bool):
    """The run ends as if it had the answer; a commit that was not made is an error."""
    last = LastRun(ingest_id="a", sequence=3, ingest_date="2026-11-21", base_version=1, ranges=None, problems=None)
    stored = NextOffsets(topics={}, last_run=last, examined={"records": 4}, problems_run=0)
    warehouse: Any = _Lost(stored, is_committed=is_committed)
    lock: Any = SimpleNamespace(
        warehouse=warehouse,
        cluster_id="c",
        clock=CLOCK,
        topics={},
        stored_topics={},
        unstored=lambda _: with_examined(stored, {"records": 9}, 0),
    )
    with nullcontext() if is_committed else pytest.raises(TableError, match="same domain"):
        commit_examined(lock, {})
    assert from_json(warehouse.stored).examined_records == (9 if is_committed else 4)


@pytest.mark.parametrize("error", [Fenced("records"), TableError("records cannot be appended to: unknown outcome")])
@pytest.mark.parametrize("is_committed", [True, False])
def test_records_that_are_committed_though_the_answer_is_lost(error: Exception, *, is_committed: bool):
    """The Kernel meets its own commit when it repeats a request; the run goes on with its ranges."""
    stored = ["before"]

    def append(*_: object, domains: dict[str, str], **__: object) -> int:
        if is_committed:
            stored[:] = domains.values()
        raise error

    state: Any = SimpleNamespace(version=8)
    storage = SimpleNamespace(local=lambda _: None)
    kernel = SimpleNamespace(append=append, domain=lambda *_: stored[0], storage=storage)
    warehouse: Any = SimpleNamespace(kernel=kernel, state=lambda _: state)
    lock: Any = SimpleNamespace(warehouse=warehouse, cluster_id="c", root="r", fence=None)
    output: Any = SimpleNamespace(files=[], ingest_date=None)
    if is_committed:
        assert ingest_commit._append(lock, output, state, "after") == state.version
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest_commit, "_remove", lambda *_: None)
        with pytest.raises(LockHeld if isinstance(error, Fenced) else TableError):
            ingest_commit._append(lock, output, state, "after")
