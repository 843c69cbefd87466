"""Lends connections to both clusters of a comparison to one thread at a time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from typing import Self

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.compare.sides import TopicOfCluster


class Connections:
    """Pairs of clients that know the leaders of their topics; as many as are used at once. Use as a context manager."""

    def __init__(self, left: TopicOfCluster, right: TopicOfCluster, clock: Clock) -> None:
        self.topics, self._clock = (left, right), clock
        self._stack = ExitStack()
        self._idle: SimpleQueue[tuple[Cluster, Cluster]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def deadline(self, of: TopicOfCluster) -> Deadline:
        """The end of a call to this side from now on."""
        return Deadline.after(self._clock, of.kafka.default_api_timeout_ms)

    @contextmanager
    def lend(self) -> Iterator[tuple[Cluster, Cluster]]:
        """A client of the left and one of the right side, for the caller alone."""
        try:
            pair = self._idle.get_nowait()
        except Empty:
            left, right = self.topics
            pair = self._connect(left), self._connect(right)
        try:
            yield pair
        finally:
            self._idle.put(pair)

    def _connect(self, of: TopicOfCluster) -> Cluster:
        deadline = self.deadline(of)
        cluster = self._stack.enter_context(Cluster.connect(of.kafka, self._clock, RequestStats(), deadline))
        cluster.refresh({of.topic}, deadline)
        return cluster
