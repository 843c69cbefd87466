"""Fake brokers that can be altered, for the tests of kinds of actions."""

from collections.abc import Callable, Collection, Sequence

import pytest

from kafka_lagoon.apply import outcomes
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.execution import Execution, execute, make_plan
from kafka_lagoon.apply.recording import NoRecorder, Run
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.kafka_settings import KafkaSettings
from tests.admin.conftest import altering_apis, cluster, requests_of, soon, topic_apis

__all__ = ["altering_apis", "cluster", "requests_of", "topic_apis"]  # fixtures of tests/admin

CarryOut = Callable[..., Execution]


@pytest.fixture(autouse=True)
def spoken(altering_apis: None, topic_apis: None) -> None:
    """Offers the APIs that alter a cluster, before anything is connected."""


@pytest.fixture(autouse=True)
def _short_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens waits for state that will not change, which is read once: that may take long on a busy machine."""
    monkeypatch.setattr(outcomes, "DECIDE_MS", 1_000)
    monkeypatch.setattr(outcomes, "_PAUSE_MS", 2_000)
    monkeypatch.setattr(outcomes, "_LONGEST_PAUSE_MS", 2_000)


@pytest.fixture
def carry_out(cluster: Cluster) -> CarryOut:
    """Carries actions out against the fake brokers, by default with all guards allowed."""

    def carried_out(actions: Sequence[Action], allowed: Collection[Guard] = tuple(Guard)) -> Execution:
        plan = make_plan("test", cluster.cluster_id or "", actions)
        run = Run.new("admin", KafkaSettings(bootstrap_servers="fake:1"), cluster.clock.now_ms())
        return execute(cluster, plan, allowed, run, NoRecorder(), soon())

    return carried_out
