"""Staged files that are gone before Spark has written them are read again; the rest is in test_commit.py, for both writers."""

from pathlib import Path

import pytest

from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest.staged_commit import commit_staged, staged_lock
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER
from tests.ingest.writers import Died, Writer, contents, dies, ingest, remove

pytestmark = pytest.mark.spark


def test_staged_files_that_are_gone_are_read_again(warehouse: Warehouse, tmp_path: Path):
    """Where Spark had still to write them: positions go back to those of the run before."""
    writer = Writer(lambda: staged_lock(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)
    with dies(Storage, "write", 3), pytest.raises(Died):
        ingest(writer, 1, 5)
    remove(tmp_path, "0192-0001-0.parquet")
    with writer.lock() as lock:
        assert [report.is_loss for report in lock.reports.values()] == [False]
        assert lock.topics == {}
    ingest(writer, 2, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 9)])
