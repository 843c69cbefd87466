"""A fake cluster with one partition to read."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker, fake_cluster
from tests.fake.cluster import FakeCluster
from tests.short_timeouts import short_timeouts


@pytest.fixture
def state() -> FakeCluster:
    """Three brokers, of which the first leads the only partition of topic t; its log is empty."""
    state = FakeCluster()
    state.add_topic("t", 1, end=0)
    return state


@pytest.fixture
def brokers(state: FakeCluster) -> Iterator[dict[int, FakeBroker]]:
    """The cluster's brokers, running."""
    with fake_cluster(state) as running:
        yield running


@pytest.fixture
def connect(state: FakeCluster, brokers: dict[int, FakeBroker]) -> Iterator[Callable[..., Cluster]]:  # noqa: ARG001
    """Connects to the cluster and learns who leads; closed after the test."""
    with ExitStack() as stack:

        def connected(**settings: int) -> Cluster:
            deadline = Deadline.after(CLOCK, 5_000)
            cluster = Cluster.connect(short_timeouts(state, **settings), CLOCK, RequestStats(), deadline)
            stack.enter_context(cluster)
            cluster.refresh({"t"}, deadline)
            return cluster

        yield connected
