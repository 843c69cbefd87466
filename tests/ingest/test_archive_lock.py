"""One run at a time archives a cluster, and losses are reported until a run has succeeded in doing so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import commit
from kafka_lagoon.tables.record_tables import RECORD_TABLES
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER, run
from tests.ingest.writers import Died, Writer, contents, dies, ingest, lossy, reports
from tests.warehouses import open_at

pytestmark = pytest.mark.spark


def test_two_runs_at_once(warehouse: Warehouse):
    """The second does not get the cluster's lock, and writes nothing; another cluster's lock is free."""
    with archive_lock(warehouse, CLUSTER, CLOCK):
        with pytest.raises(LockHeld), archive_lock(warehouse, CLUSTER, CLOCK):
            pass
        with archive_lock(warehouse, "other", CLOCK):
            pass


@pytest.mark.parametrize("table", RECORD_TABLES, ids=lambda table: table.name)
def test_a_table_with_a_check_constraint(warehouse: Warehouse, table):
    """A table with a feature that Delta Kernel does not write is refused with the lock, before Kafka is asked for records."""
    warehouse.spark.sql(f"ALTER TABLE {warehouse.identifiers[table.name]} ADD CONSTRAINT c CHECK (`partition` >= 0)")
    opened = open_at(warehouse.spark, Path(warehouse.name.removeprefix("file:")))
    refused = pytest.raises(TableError, match=rf"{table.name} cannot be appended to: .*checkConstraints")
    with refused, archive_lock(opened, CLUSTER, CLOCK):
        pytest.fail("the lock was taken")


def test_the_fence_behind_the_lock(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """Without a lock, one of two runs from the same offset commits; nothing of the other is visible."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: _no_lock())
    with archive_lock(warehouse, CLUSTER, CLOCK) as first, archive_lock(warehouse, CLUSTER, CLOCK) as other:
        commit(first, run(first, 1, 0, 5))
        with pytest.raises(LockHeld):
            commit(other, run(other, 2, 0, 7))
    assert contents(warehouse)[:2] == (list(range(5)), [(0, 5)])


@contextmanager
def _no_lock() -> Iterator[None]:
    yield


def test_a_loss_is_reported_until_somebody_said_it(by_kernel: Writer):
    """If a run dies at its report or between two commits, and the next one, too, the loss is still reported, once."""
    with by_kernel.lock() as lock:
        by_kernel.commit(lock, lossy(run(lock, 1, 0, 0)))
    assert reports(by_kernel) == ["had 7 LOST, LOST in 1 ranges, see table record_ranges"]
    ingest(by_kernel, 2, 5)
    with by_kernel.lock() as lock:
        assert len(lock.reports) == 1
        by_kernel.commit(lock, lossy(run(lock, 3, 5, 5)))
        lock.remove_reports("0192-0003")
    assert reports(by_kernel) == []


def test_losses_of_a_run_that_did_not_commit_are_not_reported(by_kernel: Writer):
    """The next run finds them again."""
    with dies(Storage, "write_whole", 1), pytest.raises(Died), by_kernel.lock() as lock:
        by_kernel.commit(lock, lossy(run(lock, 1, 0, 0)))
    ingest(by_kernel, 2, 5)
    ingest(by_kernel, 3, 9)
    assert reports(by_kernel) == []
