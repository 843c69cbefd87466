"""Clients of fake brokers, with patience for tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Deadline
from pipeline.client.journal import Journal
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker, fake_cluster
from tests.fake.cluster import FakeCluster
from tests.impatient import impatient


@pytest.fixture
def state() -> FakeCluster:
    """A cluster with one topic of six partitions on three brokers."""
    state = FakeCluster()
    state.add_topic("orders", 6)
    return state


@pytest.fixture
def brokers(state: FakeCluster) -> Iterator[dict[int, FakeBroker]]:
    """The cluster's brokers, running."""
    with fake_cluster(state) as running:
        yield running


@pytest.fixture
def connect(state: FakeCluster, brokers: dict[int, FakeBroker]) -> Iterator[Callable[[], Cluster]]:  # noqa: ARG001
    """Connects to the cluster; closed after the test."""
    with ExitStack() as stack:

        def connected() -> Cluster:
            deadline = Deadline.after(CLOCK, 5_000)
            return stack.enter_context(Cluster.connect(impatient(state), CLOCK, Journal(), deadline))

        yield connected
