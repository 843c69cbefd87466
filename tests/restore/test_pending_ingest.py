"""A restore makes the commits that an ingest left pending when it died, so that it finds all archived records."""

from functools import partial

import pytest

from kafka_lagoon.delta.kernel import Fence, Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.next_offsets import app_id
from kafka_lagoon.restore.archived import ArchivedTopic, find_archived
from kafka_lagoon.restore.pending_ingest import commit_pending_of, refuse_pending
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER, DAY
from tests.ingest.test_pending_commits import replace_table
from tests.ingest.writers import Died, contents, dies, ingest, kernel_writer

pytestmark = pytest.mark.spark


def find(warehouse: Warehouse, cluster: str) -> ArchivedTopic:
    """Find topic t as a restore does."""
    (topic,) = find_archived(warehouse, cluster, ["t"], {}, partial(refuse_pending, warehouse, cluster))
    return topic


def die(warehouse: Warehouse, number: int, upto: int, after: int) -> None:
    """Let run `number` die after the commit of the records (1) or of the ranges (2)."""
    with dies(Kernel, "append", after), pytest.raises(Died):
        ingest(kernel_writer(warehouse), number, upto)


@pytest.mark.parametrize(("after", "lacking"), [(1, RECORD_RANGES), (2, RECORD_PROBLEMS)])
@pytest.mark.parametrize("cluster", ["name", CLUSTER])
def test_pending_commits(warehouse: Warehouse, after: int, lacking: object, cluster: str) -> None:
    """Without them nothing is planned, and the line names the cure; with them all archived records are found."""
    ingest(kernel_writer(warehouse), 1, 5)
    die(warehouse, 2, 9, after)
    complaint = f"cluster {CLUSTER} .*table {getattr(lacking, 'name', '')} lacks rows.*`lagoon maintain`"
    with pytest.raises(TableError, match=complaint):
        find(warehouse, cluster)
    commit_pending_of(warehouse, cluster, CLOCK)
    commit_pending_of(warehouse, cluster, CLOCK)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
    assert find(warehouse, cluster).partitions[0].to_offset == 9


def test_the_first_ingest_of_a_cluster(warehouse: Warehouse) -> None:
    """It has no ranges, so nothing shows the cluster's name: its pending commits are made for any name."""
    die(warehouse, 1, 5, 1)
    with pytest.raises(TableError, match="lacks rows"):
        find(warehouse, "name")
    commit_pending_of(warehouse, "name", CLOCK)
    assert find(warehouse, "name").records[0] == 5


def test_other_clusters(warehouse: Warehouse) -> None:
    """Pending commits of another cluster are neither made nor refused."""
    ingest(kernel_writer(warehouse), 1, 5)
    die(warehouse, 2, 9, 1)
    refuse_pending(warehouse, "another")
    commit_pending_of(warehouse, "another", CLOCK)
    assert contents(warehouse)[1] == [(0, 5)]


def test_commits_that_cannot_be_made(warehouse: Warehouse) -> None:
    """The rows of a table that was replaced are gone: the restore does not go on without them."""
    ingest(kernel_writer(warehouse), 1, 5)
    ingest(kernel_writer(warehouse), 2, 7)
    die(warehouse, 3, 9, 1)
    replace_table(warehouse, RECORD_RANGES)
    with pytest.raises(
        TableError, match=f"cluster {CLUSTER} .*which cannot be added: table record_ranges does not have"
    ):
        commit_pending_of(warehouse, "name", CLOCK)


def test_next_offsets_elsewhere(warehouse: Warehouse) -> None:
    """Where Spark writes the tables, the numbers of the runs show that ranges are missing."""
    ingest(kernel_writer(warehouse), 1, 5)
    refuse_pending(warehouse, "staged", ("staged",))
    day = (RECORDS.partition_by, DAY)
    warehouse.kernel.append(warehouse.state(RECORDS.name), [], day, fence=Fence(app_id("staged"), 2))
    with pytest.raises(TableError, match=r"cluster staged .*record_ranges"):
        refuse_pending(warehouse, "staged", ("staged",))
    warehouse.kernel.append(warehouse.state(RECORD_RANGES.name), [], day, fence=Fence(app_id("staged"), 2))
    refuse_pending(warehouse, "staged", ("staged",))
