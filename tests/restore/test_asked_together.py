"""Leaders are asked about all partitions of a task at a time, and no partition waits long for another one's leader."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Session
from kafka_lagoon.client.unreachable import UnreachableBrokers
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.restore.asked_together import AskedTogether, logs_of
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import Hands
from tests.fake.cluster import FakeCluster
from tests.short_timeouts import short_timeouts

A, B, C = (TopicPartition("t", number) for number in range(3))
SILENT = own_failure(LIST_OFFSETS, Scope.of_partition(*B), "REQUEST_TIMED_OUT", "nothing came")


class Leaders:
    """Counts what it is asked; each answer is the number of the request. It does not answer about `silent` in time."""

    def __init__(self, *silent: TopicPartition) -> None:
        self.hands, self.silent = Hands(), silent
        self.asked: list[tuple[TopicPartition, ...]] = []

    def answers(self) -> AskedTogether[int]:
        """Answers about three partitions."""
        cluster = SimpleNamespace(clock=self.hands.clock(), unreachable=UnreachableBrokers(self.hands.clock(), 60_000))
        return AskedTogether(cast("Cluster", cluster), [A, B, C], self._ask)

    def deadline(self) -> Deadline:
        """A minute from now."""
        return Deadline.after(self.hands.clock(), 60_000)

    def _ask(
        self, some: Sequence[TopicPartition], deadline: Deadline
    ) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, Failure]]:
        self.asked.append(tuple(some))
        failures = {partition: SILENT for partition in some if partition in self.silent}
        if failures:
            self.hands.move(deadline.remaining())
        return {partition: len(self.asked) for partition in some if partition not in failures}, failures


def test_all_are_asked_about_together() -> None:
    """One request answers for each of them."""
    leaders = Leaders()
    answers = leaders.answers()
    assert [answers.of(partition, leaders.deadline()) for partition in (A, B, C)] == [1, 1, 1]
    assert leaders.asked == [(A, B, C)]


def test_a_second_answer_is_new() -> None:
    """Who asks again has seen that the first answer was too old."""
    leaders = Leaders()
    answers = leaders.answers()
    assert [answers.of(A, leaders.deadline()), answers.of(A, leaders.deadline())] == [1, 2]
    assert [answers.of(B, leaders.deadline()), answers.afresh(C, leaders.deadline())] == [1, 3]
    assert leaders.asked == [(A, B, C), (A,), (C,)]


def test_answers_are_kept_for_a_second() -> None:
    """After it, those that are left are asked about together."""
    leaders = Leaders()
    answers = leaders.answers()
    assert answers.of(A, leaders.deadline()) == 1
    leaders.hands.move(1.0)
    assert [answers.of(B, leaders.deadline()), answers.of(C, leaders.deadline())] == [2, 2]
    assert leaders.asked == [(A, B, C), (B, C)]


def test_others_do_not_wait_for_a_silent_leader() -> None:
    """They lose two seconds once; its own partition has the time of its deadline."""
    leaders = Leaders(B)
    answers = leaders.answers()
    assert answers.of(A, leaders.deadline()) == 1
    assert leaders.hands.seconds == 2.0
    assert answers.of(C, leaders.deadline()) == 2
    assert leaders.hands.seconds == 2.0
    assert answers.of(B, leaders.deadline()) is SILENT
    assert leaders.hands.seconds == 62.0
    assert leaders.asked == [(A, B, C), (C,), (B,)]


def test_a_partition_of_another_task() -> None:
    """Is asked about alone."""
    leaders = Leaders()
    other = TopicPartition("other", 0)
    assert leaders.answers().of(other, leaders.deadline()) == 1
    assert leaders.asked == [(other,)]


@pytest.mark.usefixtures("brokers")
def test_brokers_that_restart_have_the_time_of_a_partition(state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """That all of them were silent for the first two seconds is no reason to give up at the next refusal."""
    hands, connected = Hands(), Broker._connected
    settings = short_timeouts(state, default_api_timeout_ms=60_000)
    orders = [TopicPartition("orders", number) for number in range(6)]
    deadline = Deadline.after(hands.clock(), 120_000)
    with Cluster.connect(settings, hands.clock(), RequestStats(), deadline, waits=True) as cluster:
        cluster.refresh({"orders"}, deadline)
        back_at = hands.seconds + 20

        def restarting(broker: Broker, within: Deadline) -> Session:
            if hands.seconds < back_at:
                raise ConnectionFailed(broker.address, "connect", "Connection refused")
            return connected(broker, within)

        monkeypatch.setattr(Broker, "_connected", restarting)
        for broker in cluster.brokers.values():
            broker.close()
        logs = logs_of(cluster, orders)
        assert [type(logs.of(one, deadline)) for one in orders] == [LogBounds] * 6
