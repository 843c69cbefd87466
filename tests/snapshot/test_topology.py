"""Rows of brokers, topics and partitions, from metadata made by hand and of fake brokers."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.topology import Durability, partition_rows, read_topology
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster

NOT_READ = Durability(min_insync_replicas={}, eligible={}, problems={}, eligible_problem=None)


@pytest.mark.parametrize(("version", "offline"), [(4, None), (5, ()), (12, ())])
def test_offline_replicas_that_brokers_do_not_return_are_null(
    state: FakeCluster, connect: Callable[[], Cluster], version: int, offline: tuple[int, ...] | None
) -> None:
    """Metadata before v5 has no such field: an empty list would say that all replicas are online."""
    state.highest[METADATA.key] = version
    topology = read_topology(connect(), None, Deadline.after(CLOCK, 5_000))
    assert {row.offline_replicas for row in partition_rows(topology, NOT_READ)} == {offline}


def test_only_named_topics_are_read(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Others are not in the topology."""
    state.add_topic("other", 1)
    topology = read_topology(connect(), ["other"], Deadline.after(CLOCK, 5_000))
    assert list(topology.partitions) == ["other"]
