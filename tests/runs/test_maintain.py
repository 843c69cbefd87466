"""Maintenance of a table makes the commits that dead runs left pending, unless it only looks."""

import pytest

from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.maintain import MaintainOptions
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.runs.maintain import maintain_table
from tests.clock import CLOCK
from tests.ingest.writers import Died, contents, dies, ingest, kernel_writer


@pytest.mark.spark
def test_pending_commits_come_first(warehouse: Warehouse) -> None:
    """A run died between its commits: a dry run leaves its ranges pending, maintenance of any table commits them."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(kernel_writer(warehouse), 1, 5)
    maintain_table(warehouse, "topics", MaintainOptions(dry_run=True), CLOCK)
    assert contents(warehouse) == (list(range(5)), [], [])
    assert maintain_table(warehouse, "topics", MaintainOptions(), CLOCK).table == "topics"
    assert contents(warehouse) == (list(range(5)), [(0, 5)], [0])
