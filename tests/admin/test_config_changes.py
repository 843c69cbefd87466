"""Changes of configs of a fake cluster: single configs, or all configs of a resource on old brokers."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.config_changes import WOULD_UNSET_SECRETS, alter_configs
from kafka_lagoon.admin.config_values import ConfigResource
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.alter_configs import ALTER_CONFIGS
from kafka_lagoon.protocol.messages.describe_configs import BROKER, DESCRIBE_CONFIGS, GROUP, TOPIC
from kafka_lagoon.protocol.messages.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from tests.admin.conftest import soon
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

pytestmark = pytest.mark.usefixtures("topic_apis")
ORDERS, ALL_BROKERS, BROKER_2 = ConfigResource(TOPIC, "orders"), ConfigResource(BROKER, ""), ConfigResource(BROKER, "2")


@pytest.fixture
def old_brokers(topic_apis: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  takes from those
    """Brokers before Kafka 2.3."""
    monkeypatch.delitem(SPOKEN, INCREMENTAL_ALTER_CONFIGS.key)


def test_alter_configs(state: FakeCluster, cluster: Cluster) -> None:
    """Configs that are not named stay. A broker's own configs are sent to the broker, all others to the controller."""
    state.configs[TOPIC, "orders"] = {"flush.ms": "5", "segment.ms": "6"}
    changes = {ORDERS: {"flush.ms": None, "retention.ms": "7"}, ALL_BROKERS: {"a": "1"}, BROKER_2: {"b": "2"}}
    assert alter_configs(cluster, changes, soon(), validate_only=True) == {}
    assert state.configs == {(TOPIC, "orders"): {"flush.ms": "5", "segment.ms": "6"}}
    assert alter_configs(cluster, changes, soon()) == {}
    assert state.configs == {
        (TOPIC, "orders"): {"segment.ms": "6", "retention.ms": "7"},
        (BROKER, ""): {"a": "1"},
        (BROKER, "2"): {"b": "2"},
    }
    nodes = {node for node, key, _ in state.requests if key == INCREMENTAL_ALTER_CONFIGS.key}
    assert nodes == {1, 2}


def test_a_request_has_no_more_changes_than_a_controller_takes(state: FakeCluster, cluster: Cluster) -> None:
    """It refuses requests that cause more than 10,000 records, one for each config, as a whole."""
    changes = {ConfigResource(GROUP, f"g{number}"): {f"c{one}": "1" for one in range(30)} for number in range(400)}
    assert alter_configs(cluster, changes, soon()) == {}
    assert len(state.configs) == 400
    assert state.count(INCREMENTAL_ALTER_CONFIGS.key) == 3  # of 166 groups each


def test_a_change_is_sent_once(state: FakeCluster, cluster: Cluster) -> None:
    """After a lost response the request is not repeated, because another client may have changed the config since."""
    state.faults.append(Fault(INCREMENTAL_ALTER_CONFIGS.key, Close()))
    failure = alter_configs(cluster, {ORDERS: {"flush.ms": "1"}}, soon())[ORDERS]
    assert (failure.may_be_done, state.count(INCREMENTAL_ALTER_CONFIGS.key)) == (True, 1)


@pytest.mark.usefixtures("old_brokers")
@pytest.mark.parametrize("version", [0, 4], ids=["without sources", "with sources"])
def test_alter_whole(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """Old brokers unset configs that are missing in a request, so all configs are sent with the change among them.

    Failures of other kinds stay.
    """
    state.highest[DESCRIBE_CONFIGS.key] = version
    for broker in cluster.brokers.values():
        broker.close()
    state.configs[TOPIC, "orders"] = {"flush.ms": "5", "segment.ms": "6"}
    no_broker = ConfigResource(BROKER, "9")
    changes = {ORDERS: {"flush.ms": None, "retention.ms": "7"}, no_broker: {"b": "2"}}
    assert set(alter_configs(cluster, changes, soon())) == {no_broker}
    kept = state.configs[TOPIC, "orders"]
    assert (kept["segment.ms"], kept["retention.ms"], "flush.ms" in kept) == ("6", "7", False)


def test_a_refusal_is_no_old_broker(state: FakeCluster, cluster: Cluster) -> None:
    """A broker that refuses a request with UNSUPPORTED_VERSION knows the API: no request follows that would unset configs."""

    def refused(response: Any) -> Any:
        return replace(response, responses=tuple(replace(one, error_code=35) for one in response.responses))

    state.faults.append(Fault(INCREMENTAL_ALTER_CONFIGS.key, Altered(refused)))
    failure = alter_configs(cluster, {ORDERS: {"flush.ms": "1"}}, soon())[ORDERS]
    assert (failure.name, failure.code) == ("UNSUPPORTED_VERSION", 35)
    assert state.count(ALTER_CONFIGS.key) == 0


@pytest.mark.usefixtures("old_brokers")
def test_a_secret_is_not_unset_by_the_way(state: FakeCluster, cluster: Cluster) -> None:
    """A sensitive value cannot be read and sent again, so the change is refused and the resource keeps its configs."""
    state.configs[TOPIC, "orders"] = {"password": "x"}

    def sensitive(response: Any) -> Any:
        (result,) = response.results
        configs = tuple(replace(one, is_sensitive=one.name == "password") for one in result.configs)
        return replace(response, results=(replace(result, configs=configs),))

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(sensitive)))
    failure = alter_configs(cluster, {ORDERS: {"flush.ms": "1"}}, soon())[ORDERS]
    assert (failure.name, "password" in (failure.message or "")) == (WOULD_UNSET_SECRETS, True)
    assert state.count(ALTER_CONFIGS.key) == 0
