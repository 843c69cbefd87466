"""Fake brokers that can be altered, for the tests of kinds of actions."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.execution import Execution, execute, make_plan
from kafka_lagoon.apply.recording import NoRecorder, Run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.wire.schema import Api
from tests.admin.conftest import altering_apis, cluster, soon, topic_apis
from tests.fake.answers import SPOKEN

__all__ = ["altering_apis", "cluster", "topic_apis"]  # fixtures of tests/admin

CarryOut = Callable[..., Execution]
RequestsOf = Callable[[Api[Any, Any]], list[Any]]


@pytest.fixture(autouse=True)
def spoken(altering_apis: None, topic_apis: None) -> None:
    """Offers the APIs that alter a cluster, before anything is connected."""


@pytest.fixture
def carry_out(cluster: Cluster) -> CarryOut:
    """Carries actions out against the fake brokers, by default with all guards allowed."""

    def carried_out(actions: Sequence[Action], allowed: Collection[Guard] = tuple(Guard)) -> Execution:
        plan = make_plan("test", cluster.cluster_id or "", actions)
        run = Run.new("admin", KafkaSettings(bootstrap_servers="fake:1"), cluster.clock.now_ms())
        return execute(cluster, plan, allowed, run, NoRecorder(), soon())

    return carried_out


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
