"""Answers a cluster's requests without sockets and encoding: a request is a function call of microseconds.

For what brokers say, not for how it arrives: thousands of odd answers, a whole snapshot each.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest

from kafka_lagoon.client.broker import Broker, Call, Reply
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.connection import choose_version
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed, UnsupportedVersion
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.wire.schema import Api, Versions
from tests.clock import Hands
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster

Alter = Callable[[Api[Any, Any], Any], Any]  # correct response -> response as received


def unaltered(_api: Api[Any, Any], answer: Any) -> Any:
    """Return the response unchanged."""
    return answer


@contextmanager
def answered_directly(
    state: FakeCluster, alter: Alter = unaltered, nodes: int = 3
) -> Iterator[tuple[Cluster, Deadline]]:
    """Connect a cluster that is answered directly; its deadline has a clock that advances when the client waits."""
    state.addresses = {node: (f"broker-{node}", 9092) for node in range(1, nodes + 1)}
    settings = KafkaSettings(bootstrap_servers="broker-1:9092")
    clock = Hands().clock()
    deadline = Deadline.after(clock, 600_000)

    def versions(broker: Broker) -> Any:
        answer = SPOKEN[API_VERSIONS.key][1](state, _node(broker), API_VERSIONS.versions.highest, None)
        return alter(API_VERSIONS, answer)

    def ask_all(broker: Broker, calls: Sequence[Call], _deadline: Deadline) -> list[Reply]:
        if _node(broker) not in state.addresses:
            refusal = ConnectionFailed(f"{broker.host}:{broker.port}", "resolve", "no such host")
            return [Reply(refusal, 0) for _ in calls]
        keys = versions(broker).api_keys
        offered = {one.api_key: Versions(one.min_version, one.max_version) for one in keys}
        return [Reply(_answer(state, broker, call, offered, alter), 0) for call in calls]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Broker, "open", lambda *_: None)
        patch.setattr(Broker, "ask_all", ask_all)
        patch.setattr(Broker, "versions", property(versions))
        with Cluster.connect(settings, clock, RequestStats(), deadline) as cluster:
            yield cluster, deadline


def _node(broker: Broker) -> int:
    number = broker.host.removeprefix("broker-")
    return int(number) if number.isdigit() else -1


def _answer(state: FakeCluster, broker: Broker, call: Call, offered: dict[int, Versions], alter: Alter) -> Any:
    try:
        version = choose_version(call.api, offered, broker.host, call.within)
    except UnsupportedVersion as error:
        return error
    if call.api.key not in SPOKEN:  # a mutated ApiVersions response may offer this API
        return UnsupportedVersion(call.api.name, (0, 0), None, broker.host, None)
    answer = SPOKEN[call.api.key][1](state, _node(broker), version, call.request)
    return alter(call.api, deepcopy(answer))
