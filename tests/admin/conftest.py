"""A cluster object for the tests of admin/, connected to fake brokers."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.wire.schema import Api
from tests.clock import CLOCK
from tests.fake import group_changes, quorum, security, security_changes, topic_changes
from tests.fake.answers import SPOKEN

RequestsOf = Callable[[Api[Any, Any]], list[Any]]


@pytest.fixture
def kraft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that offer DescribeQuorum."""
    for api, answer in quorum.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


@pytest.fixture
def security_apis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that offer the APIs of quotas, SCRAM users and delegation tokens."""
    for api, answer in security.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


@pytest.fixture
def altering_apis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that offer the APIs that alter ACLs, quotas, users, tokens, group offsets and transactions."""
    for api, answer in (*security.ANSWERS, *security_changes.ANSWERS, *group_changes.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


@pytest.fixture
def topic_apis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that offer the APIs that alter topics, configs, leaders, replicas, voters and features."""
    for api, answer in (*topic_changes.ANSWERS, *quorum.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


@pytest.fixture
def cluster(connect: Callable[[], Cluster]) -> Cluster:
    """A cluster that knows the leaders of all partitions."""
    connected = connect()
    connected.refresh(None, soon())
    return connected


@pytest.fixture
def requests_of(monkeypatch: pytest.MonkeyPatch) -> RequestsOf:
    """Keeps the requests of an API that brokers get from now on."""

    def kept(api: Api[Any, Any]) -> list[Any]:
        requests, (_, answer) = list[Any](), SPOKEN[api.key]

        def keep(state: Any, node: int, version: int, request: Any) -> Any:
            requests.append(request)
            return answer(state, node, version, request)

        monkeypatch.setitem(SPOKEN, api.key, (api, keep))
        return requests

    return kept


def soon() -> Deadline:
    """A deadline that passes only if the code under test is broken."""
    return Deadline.after(CLOCK, 30_000)
