"""Configs of fake brokers."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.admin.configs import (
    describe_broker_configs,
    describe_configs,
    list_config_resources,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages import describe_configs as messages
from kafka_lagoon.protocol.messages.describe_configs import BROKER, DESCRIBE_CONFIGS, TOPIC, DescribeConfigsResponse
from tests.admin.conftest import soon
from tests.clock import Hands
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.protocol.api_lists import recorded

SECRET = "hunter2"  # noqa: S105  it must not come out again


def test_a_topic_that_is_refused_is_a_failure(cluster: Cluster) -> None:
    """The other topic of the same request is described."""
    configs = describe_configs(cluster, TOPIC, ["orders", "gone"], soon())
    assert [result.resource_name for result in configs.results] == ["orders"]
    assert [(str(one.scope), one.name) for one in configs.failures] == [("topic gone", "UNKNOWN_TOPIC_OR_PARTITION")]


def test_many_topics_are_few_requests(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """200 resources share a request."""
    names = [f"t{number:03}" for number in range(401)]
    for name in names:
        state.add_topic(name, 1)
    cluster = connect(request_timeout_ms=30_000)  # none is repeated, however slow the machine is
    configs = describe_configs(cluster, TOPIC, names, soon())
    assert [result.resource_name for result in configs.results] == names
    assert state.count(DESCRIBE_CONFIGS.key) == 3


def test_brokers_before_synonyms_are_asked_without(state: FakeCluster, cluster: Cluster) -> None:
    """DescribeConfigs v0 has neither sources nor synonyms; the values are returned."""
    state.highest[DESCRIBE_CONFIGS.key] = 0
    for broker in cluster.brokers.values():
        broker.close()
    [result] = describe_configs(cluster, TOPIC, ["orders"], soon()).results
    assert [(config.name, config.config_source) for config in result.configs] == [("min.insync.replicas", -1)]


@pytest.fixture
def broker_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers that return their own configs, with a secret that they should not send."""

    def answer(_state: FakeCluster, node: int, version: int, request: Any) -> Any:
        (resource,) = request.resources
        synonym = messages.DescribeConfigsSynonym(name="ssl.key.password", value=SECRET, source=4)
        secret = messages.DescribeConfigsEntry(
            name="ssl.key.password",
            value=SECRET,
            is_sensitive=True,
            config_source=4 if version else -1,
            synonyms=(synonym,) if version else (),
        )
        plain = messages.DescribeConfigsEntry(name="node.id", value=str(node), config_source=4 if version else -1)
        result = messages.DescribeConfigsResult(
            error_code=0 if resource.resource_name == str(node) else 42,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=(secret, plain),
        )
        return messages.DescribeConfigsResponse(results=(result,))

    monkeypatch.setitem(SPOKEN, DESCRIBE_CONFIGS.key, (DESCRIBE_CONFIGS, answer))


@pytest.mark.usefixtures("broker_configs")
@pytest.mark.parametrize("version", [0, 4])
def test_each_broker_answers_for_itself(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """Other brokers answer INVALID_REQUEST, so each request is sent to its own broker; old brokers have no synonyms."""
    state.highest[DESCRIBE_CONFIGS.key] = version
    for broker in cluster.brokers.values():
        broker.close()
    configs = describe_broker_configs(cluster, BROKER, [3, 1], soon())
    assert [(result.resource_name, result.configs[1].value) for result in configs.results] == [("1", "1"), ("3", "3")]
    assert configs.failures == []


@pytest.mark.usefixtures("broker_configs")
def test_no_sensitive_value_comes_out(cluster: Cluster) -> None:
    """Neither a sensitive value nor its synonyms are in the result, even if the broker sends them."""
    configs = describe_broker_configs(cluster, BROKER, [1], soon())
    assert SECRET not in repr(configs)
    [result] = configs.results
    assert [config.name for config in result.configs] == ["ssl.key.password", "node.id"]


def test_a_broker_that_is_not_there(cluster: Cluster) -> None:
    """The failure names the resource."""
    configs = describe_broker_configs(cluster, BROKER, [9], soon())
    assert [(str(one.scope), one.name) for one in configs.failures] == [("broker 9", "BROKER_NOT_AVAILABLE")]


def test_resources_that_brokers_cannot_list(cluster: Cluster) -> None:
    """The result has a failure and is not just an empty list."""
    listed = list_config_resources(cluster, messages.GROUP, soon())
    assert isinstance(listed, Failure)
    assert (str(listed.scope), listed.name) == ("every group", "UNSUPPORTED_VERSION")


@pytest.mark.parametrize("resource_type", [messages.GROUP, messages.CLIENT_METRICS])
@pytest.mark.parametrize(
    ("release", "mode", "explained"),
    [
        ("2.8.2", "zookeeper", {messages.GROUP: "4.0", messages.CLIENT_METRICS: "3.7"}),
        ("3.9.2", "kraft", {messages.GROUP: "4.0"}),
        ("4.4.0", "kraft", {}),
    ],
)
def test_a_type_that_a_release_does_not_know(
    state: FakeCluster,
    connect: Callable[..., Cluster],
    release: str,
    mode: str,
    explained: dict[int, str],
    resource_type: int,
) -> None:
    """The INVALID_REQUEST of an older release is said as what it is; that of one that knows the type stays as it is."""

    def refuse(answer: DescribeConfigsResponse) -> DescribeConfigsResponse:
        for result in answer.results:
            result.error_code, result.error_message, result.configs = 42, "malformed", ()  # type: ignore[misc]
        return answer

    state.offered = recorded()[release, mode]
    state.faults = [Fault(DESCRIBE_CONFIGS.key, Altered(refuse), times=1_000)]
    [failure] = describe_configs(connect(), resource_type, ["orders"], soon()).failures
    if since := explained.get(resource_type):
        assert (failure.name, failure.message) == ("UNSUPPORTED_VERSION", f"needs Kafka {since} or newer")
    else:
        assert (failure.name, failure.message) == ("INVALID_REQUEST", "malformed")


@pytest.mark.parametrize("code", [7, 15])
def test_one_topic_that_is_refused_for_the_moment(
    state: FakeCluster, connect: Callable[..., Cluster], code: int
) -> None:
    """Only the resource with a retriable error is requested again; a lasting refusal is a failure, and hides no other."""
    state.add_topic("other", 1)

    def refuse(answer: DescribeConfigsResponse) -> DescribeConfigsResponse:
        for result in answer.results:
            if result.resource_name == "other":
                result.error_code, result.configs = code, ()
        return answer

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refuse), times=2))
    cluster, clock = connect(), Hands().clock()  # the deadline does not pass on a slow machine
    described = describe_configs(cluster, TOPIC, ["orders", "other"], Deadline.after(clock, 2_000))
    assert ([one.resource_name for one in described.results], described.failures) == (["orders", "other"], [])
    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refuse), times=10_000))
    described = describe_configs(cluster, TOPIC, ["orders", "other"], Deadline.after(clock, 2_000))
    assert [one.resource_name for one in described.results] == ["orders"]
    assert [(one.scope.topic, one.code) for one in described.failures] == [("other", code)]


@pytest.mark.usefixtures("broker_configs")
def test_an_answer_about_another_broker(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """It is no answer about the broker that was asked."""

    def about_another(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        response.results[0].resource_name = "7"  # type: ignore[misc]  frozen to the checker
        return response

    state.faults = [Fault(DESCRIBE_CONFIGS.key, Altered(about_another), node_id=2, times=1_000)]
    configs = describe_broker_configs(connect(default_api_timeout_ms=200), BROKER, [1, 2], soon())
    assert [result.resource_name for result in configs.results] == ["1"]
    assert [str(failure.scope) for failure in configs.failures] == ["broker 2"]


def test_a_synonym_twice_is_a_contradiction(state: FakeCluster, cluster: Cluster) -> None:
    """A config has one synonym of each name and source; nothing of such a topic is believed."""

    def twice(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        for config in response.results[0].configs:
            several = [messages.DescribeConfigsSynonym(name="n", value=value, source=5) for value in ("1", "2")]
            config.synonyms = tuple(several)  # type: ignore[misc]
        return response

    state.faults = [Fault(DESCRIBE_CONFIGS.key, Altered(twice), times=1_000)]
    configs = describe_configs(cluster, TOPIC, ["orders"], soon())
    assert not configs.results
    assert [failure.message for failure in configs.failures] == ["the answer has it twice, and not alike"]
