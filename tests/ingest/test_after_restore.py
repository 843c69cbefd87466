"""After a RESTORE of table records nothing is archived until the user has chosen how to continue."""

import pytest

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import commit, commit_examined
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.record_samples import CLUSTER, run
from tests.ingest.writers import Writer, contents, ingest

pytestmark = pytest.mark.spark


class TestRestore:
    """RESTORE brings back old records but not the next offsets: no run continues until the user has chosen."""

    @pytest.fixture(params=["written", pytest.param("Spark", marks=pytest.mark.proof)])
    def turned_back(self, warehouse: Warehouse, request: pytest.FixtureRequest) -> Warehouse:
        """Two runs, then a RESTORE that removes the second's records, and an OPTIMIZE, which makes it harder to see.

        Their commits are written into the log, or made by Spark, which takes ten times as long.
        """
        writer = Writer(lambda: archive_lock(warehouse, CLUSTER, CLOCK), commit)
        ingest(writer, 1, 5)
        version = warehouse.state("records").version
        ingest(writer, 2, 9)
        if request.param == "Spark":
            warehouse.spark.sql(f"RESTORE {warehouse.identifiers['records']} TO VERSION AS OF {version}")
            warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['records']}")
        else:
            foreign.restore(warehouse, "records", version)
            foreign.optimize(warehouse, "records")
        return warehouse

    def test_it_is_refused(self, turned_back: Warehouse):
        """The message names both choices."""
        with pytest.raises(TableError, match="--after-restore repeat"), archive_lock(turned_back, CLUSTER, CLOCK):
            pass

    def test_repeat_reads_again_what_is_missing(self, turned_back: Warehouse):
        """Next offsets, ranges and problems go back to the restored version; the next run needs no option."""
        with archive_lock(turned_back, CLUSTER, CLOCK, after_restore="repeat") as lock:
            assert lock.topics["t"].partitions[0].next_offset == 5
            commit(lock, run(lock, 3, 5, 9, problems=1))
        assert contents(turned_back) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
        with archive_lock(turned_back, CLUSTER, CLOCK) as lock:
            assert lock.topics["t"].partitions[0].next_offset == 9

    def test_repeat_that_archives_nothing(self, turned_back: Warehouse):
        """A run that finds no records stores that it went back: the next run needs no option, and reads what is missing."""
        with archive_lock(turned_back, CLUSTER, CLOCK, after_restore="repeat") as lock:
            commit_examined(lock, lock.topics)
        assert contents(turned_back)[:2] == (list(range(5)), [(0, 5)])
        with archive_lock(turned_back, CLUSTER, CLOCK) as lock:
            assert lock.topics["t"].partitions[0].next_offset == 5
            commit(lock, run(lock, 3, 5, 9, problems=1))
        assert contents(turned_back) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
        with archive_lock(turned_back, CLUSTER, CLOCK) as lock:
            assert lock.topics["t"].partitions[0].next_offset == 9

    def test_keep_goes_on_without(self, turned_back: Warehouse):
        """The records stay removed, by the user's choice."""
        with archive_lock(turned_back, CLUSTER, CLOCK, after_restore="keep") as lock:
            commit(lock, run(lock, 3, 9, 12))
        assert contents(turned_back)[0] == [*range(5), *range(9, 12)]
        with archive_lock(turned_back, CLUSTER, CLOCK):
            pass


@pytest.mark.proof
def test_later_runs_are_those_with_higher_numbers(warehouse: Warehouse):
    """Later runs have higher numbers, not greater ids: the clock of the first run was ahead."""
    writer = Writer(lambda: archive_lock(warehouse, CLUSTER, CLOCK), commit)
    ingest(writer, 7, 5)
    version = warehouse.state("records").version
    ingest(writer, 2, 9)
    foreign.restore(warehouse, "records", version)
    with archive_lock(warehouse, CLUSTER, CLOCK, after_restore="repeat") as lock:
        commit(lock, run(lock, 3, 5, 9))
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 5), (5, 9)])
