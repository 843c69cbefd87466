"""Asks the leaders about all partitions of a task at a time: a request for each would take longer than a few records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.topic_partition import TopicPartition

_KEPT_S = 1.0
_ALL_WITHIN_MS = 2_000
T = TypeVar("T")
Ask = Callable[
    [Sequence[TopicPartition], Deadline], tuple[Mapping[TopicPartition, T], Mapping[TopicPartition, Failure]]
]


class AskedTogether(Generic[T]):
    """Answers about the partitions of a task. The first answer about each may be a second old; those that follow are new.

    A leader that refuses, or does not answer within two seconds, is asked again for each of its partitions in turn, with the
    time of that partition: others do not wait for it.
    """

    def __init__(self, cluster: Cluster, partitions: Iterable[TopicPartition], ask: Ask[T]) -> None:
        self._cluster, self._clock, self._ask = cluster, cluster.clock, ask
        self._left = dict.fromkeys(partitions)  # those to ask about together; the caller has not asked about them yet
        self._known: Mapping[TopicPartition, T] = {}
        self._known_until_s = float("-inf")

    def of(self, partition: TopicPartition, deadline: Deadline) -> T | Failure:
        """The answer about a partition, or why there is none."""
        if partition in self._left:
            if self._clock.monotonic() >= self._known_until_s:
                self._ask_about_all(deadline)
            self._left.pop(partition, None)
            if partition in self._known:
                return self._known[partition]
        return self.afresh(partition, deadline)

    def afresh(self, partition: TopicPartition, deadline: Deadline) -> T | Failure:
        """The answer about a partition from now on."""
        answers, failures = self._ask([partition], deadline)
        return answers[partition] if partition in answers else failures[partition]

    def _ask_about_all(self, deadline: Deadline) -> None:
        self._known_until_s = self._clock.monotonic() + _KEPT_S
        with self._cluster.unreachable.unchanged():
            self._known, failures = self._ask(list(self._left), deadline.within(_ALL_WITHIN_MS))
        for partition in failures:
            del self._left[partition]


def logs_of(cluster: Cluster, partitions: Iterable[TopicPartition]) -> AskedTogether[LogBounds]:
    """Where the logs of partitions start and end."""
    return AskedTogether(
        cluster, partitions, lambda some, deadline: ask_log_bounds(cluster, some, READ_COMMITTED, deadline)
    )
