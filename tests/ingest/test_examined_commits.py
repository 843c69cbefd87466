"""Foreign commits to the tables of an archive are detected, while a run reads or commits, and after it died."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from kafka_lagoon.delta.kernel import Kernel, State
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest import examined_commits
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import commit, commit_examined
from kafka_lagoon.tables.record_tables import RECORDS
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.record_samples import CLUSTER, run
from tests.effort import first
from tests.ingest.writers import Died, Writer, contents, dies, ingest

pytestmark = pytest.mark.spark

Foreign = Callable[[Warehouse], object]


@pytest.fixture
def archived(by_kernel: Writer, warehouse: Warehouse) -> Warehouse:
    """Two runs: offsets 0 to 5 in version 1, up to 9 in version 2."""
    ingest(by_kernel, 1, 5)
    ingest(by_kernel, 2, 9)
    return warehouse


def restored(table: str = "records", version: int = 1) -> Foreign:
    """Make a RESTORE of a table to its state after the first run."""
    return lambda warehouse: foreign.restore(warehouse, table, version)


@contextmanager
def before_append(warehouse: Warehouse, table: str, operation: Foreign) -> Iterator[None]:
    """Commit to a table between the last check and the commit of a run."""
    real, calls = Kernel.append, [operation]

    def append(kernel: Kernel, state: State, *arguments: Any, **options: Any) -> int:
        if state.location == warehouse.locations[table] and calls:
            calls.pop()(warehouse)
        return real(kernel, state, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "append", append)
        yield
    assert not calls


def refused(warehouse: Warehouse, match: str) -> None:
    """Check that the next two runs refuse."""
    for _ in range(2):
        with pytest.raises(TableError, match=match), archive_lock(warehouse, CLUSTER, CLOCK):
            pass


def go_on(warehouse: Warehouse, number: int, upto: int, after_restore: str | None = None) -> list[str]:
    """Return the notes of a run that commits."""
    with archive_lock(warehouse, CLUSTER, CLOCK, after_restore=after_restore) as lock:
        start = lock.topics["t"].partitions[0].next_offset
        commit(lock, run(lock, number, start, upto, problems=1))
        return list(lock.notes)


def idle(warehouse: Warehouse, after_restore: str | None = None, cluster_id: str = CLUSTER) -> list[str]:
    """Return the notes of a run that finds no new records."""
    with archive_lock(warehouse, cluster_id, CLOCK, after_restore=after_restore) as lock:
        commit_examined(lock, {})
        return list(lock.notes)


def assert_whole(warehouse: Warehouse, upto: int) -> None:
    """Check that every record exists once, and ranges have no gaps."""
    offsets, ranges, _ = contents(warehouse)
    assert offsets == list(range(upto))
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == upto


def refused_then_repeated(warehouse: Warehouse, upto: int) -> None:
    """Check that next runs refuse; with `repeat` a run adds missing records once, and later runs need no option."""
    refused(warehouse, "--after-restore repeat")
    go_on(warehouse, 8, upto, "repeat")
    assert_whole(warehouse, upto)
    assert go_on(warehouse, 9, upto + 1) == []
    assert_whole(warehouse, upto + 1)


class TestRestoreOfRecords:
    """RESTORE rolls back records but not the next offsets: at any time, no run continues at those."""

    @pytest.mark.proof
    def test_while_a_run_reads(self, archived: Warehouse):
        """Nothing is committed, nothing of the run is left, and the message has cause and remedy."""
        with archive_lock(archived, CLUSTER, CLOCK) as lock:
            made = run(lock, 3, 9, 12)
            foreign.restore(archived, "records", 1)
            with pytest.raises(
                TableError, match=r"restored to version 1 \(version 3, RESTORE .*--after-restore repeat"
            ):
                commit(lock, made)
        assert contents(archived)[0] == list(range(5))
        refused_then_repeated(archived, 12)

    def test_in_the_moment_before_the_commit(self, archived: Warehouse):
        """The commit is after the RESTORE, the run reports it, and `repeat` adds no record twice."""
        with archive_lock(archived, CLUSTER, CLOCK) as lock, before_append(archived, "records", restored()):
            made = run(lock, 3, 9, 12)
            with pytest.raises(TableError, match=r"restored to version 1 \(version 3.*version 4 is committed after it"):
                commit(lock, made)
        assert contents(archived)[0] == [*range(5), *range(9, 12)]
        refused_then_repeated(archived, 12)

    @pytest.mark.proof
    def test_in_the_moment_before_a_commit_that_dies(self, archived: Warehouse):
        """The run has not reported it, and the next run detects it."""
        with (
            before_append(archived, "records", restored()),
            dies(Kernel, "append", 1),
            pytest.raises(Died),
            archive_lock(archived, CLUSTER, CLOCK) as lock,
        ):
            commit(lock, run(lock, 3, 9, 12))
        refused_then_repeated(archived, 12)

    @pytest.mark.proof
    def test_between_the_records_and_their_ranges(self, archived: Warehouse):
        """The run ends normally; the next one detects that its records are gone."""
        with archive_lock(archived, CLUSTER, CLOCK) as lock, before_append(archived, "record_ranges", restored()):
            commit(lock, run(lock, 3, 9, 12))
        refused_then_repeated(archived, 12)

    @pytest.mark.proof
    def test_after_a_run_that_died(self, archived: Warehouse):
        """The pending ranges of the dead run are handled by `repeat`."""
        with dies(Kernel, "append", 1), pytest.raises(Died), archive_lock(archived, CLUSTER, CLOCK) as lock:
            commit(lock, run(lock, 3, 9, 12))
        foreign.restore(archived, "records", 1)
        refused_then_repeated(archived, 12)

    @pytest.mark.proof
    def test_twice(self, archived: Warehouse):
        """After a RESTORE of a RESTORE the version whose rows came back decides, with its own next offsets."""
        foreign.restore(archived, "records", 1)
        foreign.restore(archived, "records", 3)
        refused_then_repeated(archived, 12)

    def test_that_takes_nothing_away(self, archived: Warehouse):
        """A RESTORE to the last run's version, after VACUUM and OPTIMIZE by others, removes nothing and is accepted."""
        foreign.vacuum(archived, "records")
        foreign.restore(archived, "records", 2)
        assert go_on(archived, 3, 12) == []
        assert_whole(archived, 12)

    def test_keep(self, archived: Warehouse):
        """By the user's choice the records stay removed, and the next run continues without."""
        foreign.restore(archived, "records", 1)
        go_on(archived, 3, 12, "keep")
        go_on(archived, 4, 14)
        assert contents(archived)[0] == [*range(5), *range(9, 14)]

    def test_before_the_first_run_commits(self, warehouse: Warehouse):
        """Nothing of it can be missing."""
        with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
            foreign.restore(warehouse, "records", 0)
            commit(lock, run(lock, 1, 0, 5))
        go_on(warehouse, 2, 9)
        assert_whole(warehouse, 9)


def test_rows_of_others_that_go_while_a_cluster_is_archived_first(archived: Warehouse):
    """None of its own are missing: the next run of this cluster continues, and only those of the other one are refused."""
    with archive_lock(archived, "new", CLOCK) as lock:
        foreign.overwrite(archived, "records")
        commit(lock, run(lock, 7, 0, 5))
    assert idle(archived, cluster_id="new") == []
    refused(archived, "^table records had rows replaced")


@pytest.mark.parametrize("table", first(["record_ranges", "records", "record_problems"]))
@pytest.mark.parametrize(
    "operation", [foreign.overwrite, lambda warehouse, table: foreign.restore(warehouse, table, 1)]
)
@pytest.mark.parametrize("moment", ["between runs", "while reading"])
def test_rows_that_are_replaced(archived: Warehouse, table: str, operation: Callable[..., None], moment: str):
    """A replacement of any table of the archive is refused, with the statement that undoes it, or can be kept."""
    if moment == "between runs":
        operation(archived, table)
    else:
        with archive_lock(archived, CLUSTER, CLOCK) as lock:
            made = run(lock, 3, 9, 12)
            operation(archived, table)
            with pytest.raises(TableError, match="nothing is committed"):
                commit(lock, made)
    refused(archived, f"^table {table} .*keep to go on without")
    go_on(archived, 3, 12, "keep")
    assert go_on(archived, 4, 14) == []


@pytest.mark.proof
def test_the_statement_that_brings_rows_back(archived: Warehouse):
    """After the RESTORE that a refusal names, nothing is missing and the next run continues."""
    foreign.overwrite(archived, "record_ranges")
    refused(archived, "RESTORE TABLE record_ranges TO VERSION AS OF 2 brings them back")
    archived.spark.sql(f"RESTORE {archived.identifiers['record_ranges']} TO VERSION AS OF 2")
    go_on(archived, 3, 12)
    assert_whole(archived, 12)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("versions", "is_enough"), first([((1, 1, 1), True), ((1, 0, 1), False), ((1, 2, 2), True), ((0, 0, 0), True)], 2)
)
def test_all_tables_restored_together(archived: Warehouse, versions: tuple[int, ...], is_enough: bool):
    """`repeat` goes back to the state of records, if ranges and problems still have all rows up to it."""
    for table, version in zip(("records", "record_ranges", "record_problems"), versions, strict=True):
        foreign.restore(archived, table, version)
    if not is_enough:
        with (
            pytest.raises(TableError, match=r"^table record_ranges was restored to version 0"),
            archive_lock(archived, CLUSTER, CLOCK, after_restore="repeat"),
        ):
            pass
        return
    with archive_lock(archived, CLUSTER, CLOCK, after_restore="repeat") as lock:
        start = lock.topics["t"].partitions[0].next_offset if lock.topics else 0
        commit(lock, run(lock, 3, start, 12))
    assert_whole(archived, 12)
    go_on(archived, 4, 14)
    assert_whole(archived, 14)


@pytest.mark.parametrize("operation", first([foreign.delete, foreign.optimize, foreign.update, foreign.vacuum], 2))
def test_what_goes_on(archived: Warehouse, operation: Callable[..., None]):
    """Deleted and changed rows are reported once; a commit that only moves rows is not."""
    with archive_lock(archived, CLUSTER, CLOCK) as lock, before_append(archived, "records", lambda _: None):
        made = run(lock, 3, 9, 12)
        for table in ("records", "record_ranges"):
            operation(archived, table)
        commit(lock, made)
    notes = go_on(archived, 4, 14)
    is_noted = operation in (foreign.delete, foreign.update)
    assert [note.partition(" (")[0] for note in notes] == [
        f"table {table} had rows changed" for table in ("records", "record_ranges") if is_noted
    ]
    assert go_on(archived, 5, 15) == []
    assert set(range(9, 15)) <= set(contents(archived)[0])


@pytest.mark.proof
def test_ranges_rolled_back_in_the_moment_before_theirs(archived: Warehouse):
    """The run reports it although its own ranges are there, and so does the next one."""
    with (
        archive_lock(archived, CLUSTER, CLOCK) as lock,
        before_append(archived, "record_ranges", restored("record_ranges")),
        pytest.raises(TableError, match=r"^table record_ranges was restored to version 1 \(version 3"),
    ):
        commit(lock, run(lock, 3, 9, 12))
    refused(archived, "^table record_ranges was restored")


def test_a_table_that_is_made_again_while_a_run_reads(archived: Warehouse):
    """Nothing is committed to a new table without the history that the run continues."""
    with archive_lock(archived, CLUSTER, CLOCK) as lock:
        made = run(lock, 3, 9, 12)
        archived.kernel.storage.delete(f"{archived.locations['records']}/_delta_log")
        archived.kernel.create(
            archived.locations["records"], RECORDS.delta_schema(), RECORDS.partition_by, RECORDS.properties
        )
        with pytest.raises(TableError, match="removed and created again"):
            commit(lock, made)


def test_a_table_that_is_made_again_and_written_while_the_second_run_reads(by_kernel: Writer, warehouse: Warehouse):
    """The version of a new table does not tell it from the old one: it lacks the first run, whose records would be missing."""
    ingest(by_kernel, 1, 5)
    with by_kernel.lock() as lock:
        made = run(lock, 2, 5, 9)
        warehouse.kernel.storage.delete(f"{warehouse.locations['records']}/_delta_log")
        warehouse.kernel.create(
            warehouse.locations["records"], RECORDS.delta_schema(), RECORDS.partition_by, RECORDS.properties
        )
        foreign.write(warehouse, "records", "SET TBLPROPERTIES")
        with pytest.raises(TableError, match="removed and created again"):
            by_kernel.commit(lock, made)


class TestLogFilesThatAreGone:
    """After a week commits leave the log: their effect is not ignored."""

    @pytest.fixture
    def forgotten(self, archived: Warehouse) -> Callable[..., None]:
        """Make a checkpoint, and keep only the newest commit, as Delta does."""

        def forget(table: str = "records") -> None:
            foreign.vacuum(archived, table)
            archived.kernel.checkpoint(archived.locations[table])
            for path in foreign.commit_files(archived, table)[:-1]:
                path.unlink()

        return forget

    def test_records_that_are_there(self, archived: Warehouse, forgotten: Callable[..., None]):
        """The last run's records prove that no earlier ones were rolled back."""
        forgotten()
        (note,) = go_on(archived, 3, 12)
        assert note.startswith("table records: its log does not have versions 2 to 3 any more")
        assert_whole(archived, 12)

    @pytest.mark.proof
    def test_records_that_are_not(self, archived: Warehouse, forgotten: Callable[..., None]):
        """The message says that records are gone, but not by which commit."""
        foreign.restore(archived, "records", 1)
        forgotten()
        refused(archived, "--after-restore keep")
        go_on(archived, 3, 12, "keep")
        assert contents(archived)[0] == [*range(5), *range(9, 12)]

    @pytest.mark.proof
    def test_ranges_that_were_restored_with_the_records(self, archived: Warehouse, forgotten: Callable[..., None]):
        """No records of the last run are as many as no ranges of it count, which proves nothing."""
        for table in ("records", "record_ranges"):
            foreign.restore(archived, table, 1)
            forgotten(table)
        refused(archived, "--after-restore keep")

    @pytest.mark.parametrize("is_restored", first([True, False]))
    def test_a_last_run_without_records(
        self, archived: Warehouse, forgotten: Callable[..., None], *, is_restored: bool
    ):
        """The run before it is compared: the last one would have no records in any case."""
        go_on(archived, 3, 9)
        if is_restored:
            foreign.restore(archived, "records", 1)
        forgotten()
        if is_restored:
            refused(archived, "--after-restore keep")
        else:
            go_on(archived, 4, 12)
            assert contents(archived)[0] == [*range(12)]

    @pytest.mark.proof
    @pytest.mark.parametrize("is_restored", [True, False])
    def test_ranges_that_are_pending(self, archived: Warehouse, forgotten: Callable[..., None], *, is_restored: bool):
        """Of a run that died before the commit of its ranges, the pending file says how many records it had."""
        with dies(Kernel, "append", 1), pytest.raises(Died):
            go_on(archived, 3, 12)
        if is_restored:
            foreign.restore(archived, "records", 2)
        forgotten()
        if is_restored:
            refused(archived, "--after-restore keep")
        else:
            go_on(archived, 4, 14)
            assert_whole(archived, 14)

    @pytest.mark.proof
    def test_no_run_that_can_be_compared(self, archived: Warehouse, forgotten: Callable[..., None]):
        """If no run that is left in the ranges had records, the user decides."""
        go_on(archived, 3, 9)
        foreign.delete(archived, "record_ranges")  # of the first run
        foreign.delete(archived, "record_ranges")  # of the second run
        forgotten()
        refused(archived, "--after-restore keep")
        go_on(archived, 4, 12, "keep")
        assert go_on(archived, 5, 14) == []

    def test_a_run_without_records(self, archived: Warehouse, forgotten: Callable[..., None]):
        """It counts rows once and stores that; from then on rows of the last run may be deleted."""
        forgotten()
        assert len(idle(archived)) == 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Warehouse, "spark", None)  # no later run needs it
            assert idle(archived) == []
            foreign.write(archived, "records", "DELETE", *foreign.removes(foreign.live(archived, "records")[-1:]))
            assert idle(archived)[0].startswith("table records had rows changed")
            assert idle(archived) == []


class TestRunsWithoutRecords:
    """They store up to which version they have examined commits of others, if the next run must not do so again."""

    @pytest.fixture
    def other(self, archived: Warehouse) -> Callable[[int, int], None]:
        """Make runs of another cluster that archives into the same tables."""

        def runs(first: int, last: int) -> None:
            for number in range(first, last + 1):
                with archive_lock(archived, "other", CLOCK) as lock:
                    commit(lock, run(lock, 100 + number, number, number + 1))

        return runs

    @pytest.mark.parametrize(
        "operation", first([restored(), lambda warehouse: foreign.overwrite(warehouse, "records")])
    )
    def test_keep(self, archived: Warehouse, operation: Foreign):
        """The choice of the user is final, and the records that come later are archived as usual."""
        operation(archived)
        refused(archived, "keep to go on without")
        idle(archived, "keep")
        version = archived.state("records").version
        assert idle(archived) == []
        assert archived.state("records").version == version
        assert go_on(archived, 3, 12) == []
        assert contents(archived)[0][-3:] == [9, 10, 11]

    @pytest.mark.parametrize("table", first(["record_ranges", "record_problems"]))
    def test_keep_of_accounts(self, archived: Warehouse, table: str):
        """It is the same for the other tables, whose versions are stored with the next offsets."""
        foreign.restore(archived, table, 1)
        refused(archived, "keep to go on without")
        idle(archived, "keep")
        assert idle(archived) == []

    def test_a_note_is_made_once(self, archived: Warehouse):
        """A DELETE is not reported by every run until there are records."""
        foreign.delete(archived, "records")
        assert len(idle(archived)) == 1
        assert idle(archived) == []

    @pytest.mark.parametrize("bound", [("_MOST_COMMITS", 2), ("_LONGEST_MS", -3_600_000)])
    def test_commits_of_another_cluster(
        self,
        archived: Warehouse,
        other: Callable[[int, int], None],
        monkeypatch: pytest.MonkeyPatch,
        bound: tuple[str, int],
    ):
        """They are stored if they are many or old, and not by every run."""
        other(0, 0)
        idle(archived)
        before = archived.state("records").version
        assert before == 3
        monkeypatch.setattr(examined_commits, *bound)
        idle(archived)
        assert archived.state("records").version == before + 1
        monkeypatch.undo()
        with archive_lock(archived, CLUSTER, CLOCK) as lock:
            assert lock.unstored({}) is None
        other(1, 1)
        assert go_on(archived, 3, 12) == []

    def test_two_clusters_do_not_answer_each_other(
        self, archived: Warehouse, other: Callable[[int, int], None], monkeypatch: pytest.MonkeyPatch
    ):
        """A commit that only stores versions is none that another cluster has to store."""
        monkeypatch.setattr(examined_commits, "_MOST_COMMITS", 1)
        other(0, 0)
        foreign.optimize(archived, "records")
        for _ in range(3):
            for cluster_id in (CLUSTER, "other"):
                idle(archived, cluster_id=cluster_id)
        assert archived.state("records").version == 6

    def test_a_restore_after_it(self, archived: Warehouse, other: Callable[[int, int], None]):
        """One that takes away records of another cluster only contradicts that one; one that takes ours is refused."""
        other(0, 1)
        foreign.delete(archived, "record_problems")
        idle(archived)
        for table in ("records", "record_ranges"):
            foreign.restore(archived, table, 3)
        assert idle(archived) == []
        with pytest.raises(TableError, match="restored to version 3"):
            idle(archived, cluster_id="other")
        foreign.restore(archived, "records", 1)
        refused(archived, "--after-restore repeat")

    def test_another_run_commits_meanwhile(self, archived: Warehouse, monkeypatch: pytest.MonkeyPatch):
        """Where no lock keeps them apart, the next offsets of the run that has archived records stay."""
        monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())
        foreign.delete(archived, "record_problems")
        for number, upto in ((3, 12), (4, 14)):
            with archive_lock(archived, CLUSTER, CLOCK) as lock:
                assert lock.unstored({})
                if number == 3:
                    go_on(archived, number, upto)
                    commit_examined(lock, {})
                else:
                    with before_append(archived, "records", lambda warehouse: go_on(warehouse, 4, 14) and None):
                        commit_examined(lock, {})
            foreign.delete(archived, "record_problems")
        go_on(archived, 5, 15)
        assert_whole(archived, 15)

    @pytest.mark.parametrize("moment", [0, 1])
    def test_it_dies(self, archived: Warehouse, moment: int):
        """Before its commit or after it, the next run begins at the same offsets."""
        foreign.delete(archived, "record_problems")
        if moment:
            with dies(Kernel, "append", 1), pytest.raises(Died):
                idle(archived)
        assert len(idle(archived)) == 1 - moment
        assert go_on(archived, 3, 12) == []
        assert_whole(archived, 12)
