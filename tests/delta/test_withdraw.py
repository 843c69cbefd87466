"""Withdrawn rows are in no later version; rows of other writers stay."""

from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.delta.withdraw import withdraw
from tests.clock import CLOCK
from tests.delta import other_run
from tests.delta.test_publish import rows_of


def test_one_file_is_taken_back(warehouse: Warehouse) -> None:
    """The rows of one file are removed; withdrawing a missing file does nothing."""
    with snapshot_lock(warehouse, "default", CLOCK) as lock:
        publish(lock, other_run.attempt(1))
    (url,) = warehouse.kernel.files(warehouse.state("brokers"), {"snapshot_id": "0192-0001-default"})
    withdraw(warehouse, {"brokers": url, "topics": f"{warehouse.locations['topics']}/joined.parquet"}, CLOCK)
    assert rows_of(warehouse, "brokers") == []
    assert len(rows_of(warehouse, "topics")) == 1
    assert warehouse.kernel.storage.size(url)  # readers of the version before may still read it
