"""A fake cluster with one partition to read."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster


@pytest.fixture
def state() -> FakeCluster:
    """Three brokers, of which the first leads the only partition of topic t; its log is empty."""
    state = FakeCluster()
    state.add_topic("t", 1, end=0)
    return state


@pytest.fixture
def connect(connect: Callable[..., Cluster]) -> Callable[..., Cluster]:
    """Connects to the cluster and looks up the leader of its partition; closed after the test."""

    def connected(**settings: int) -> Cluster:
        cluster = connect(**settings)
        cluster.refresh({"t"}, Deadline.after(CLOCK, 5_000))
        return cluster

    return connected
