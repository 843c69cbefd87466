"""The values set on a resource itself, and the values in force without them."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.config_values import SENSITIVE, ConfigResource, ConfigValue, config_values, is_sensitive
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    DESCRIBE_CONFIGS,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsSynonym,
)
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

OWN, STATIC, DEFAULT = 1, 4, 5
ORDERS = ConfigResource(TOPIC, "orders")


def entry(name: str, value: str | None, source: int, *synonyms: tuple[str, str | None, int]) -> DescribeConfigsEntry:
    return DescribeConfigsEntry(
        name=name,
        value=value,
        read_only=False,
        config_source=source,
        is_sensitive=name.endswith("password"),
        synonyms=tuple(DescribeConfigsSynonym(name=one, value=text, source=of) for one, text, of in synonyms),
        config_type=5,
    )


def answer_with(state: FakeCluster, *entries: DescribeConfigsEntry) -> None:
    def change(response: Any) -> Any:
        return replace(response, results=(replace(response.results[0], configs=entries),))

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(change)))


def test_own_and_inherited_values(state: FakeCluster, cluster: Cluster) -> None:
    """The first value of another source is inherited, in the unit of the config; of secrets only their presence is known."""
    answer_with(
        state,
        entry("retention.ms", "5", OWN, ("retention.ms", "5", OWN), ("log.retention.hours", "168", STATIC)),
        entry("segment.ms", "60000", DEFAULT),
        entry("flush.ms", "1", OWN),
        entry("ssl.key.password", None, OWN),
        entry("other.password", None, DEFAULT),
    )
    values = config_values(cluster, [ORDERS], soon())[ORDERS]
    assert not isinstance(values, Failure)
    assert {name: (value.own, value.inherited) for name, value in values.items()} == {
        "retention.ms": ("5", "604800000"),
        "segment.ms": (None, "60000"),
        "flush.ms": ("1", None),
        "ssl.key.password": (SENSITIVE, None),
        "other.password": (None, None),
    }


def test_brokers_without_sources_tell_what_is_set(state: FakeCluster, cluster: Cluster) -> None:
    """DescribeConfigs v0 (Kafka 0.11 and 1.0) only says of a topic's config whether it is set on the topic."""
    state.highest[DESCRIBE_CONFIGS.key] = 0
    for broker in cluster.brokers.values():
        broker.close()
    unknown = [replace(entry(name, "5", -1), config_type=0) for name in ("retention.ms", "segment.ms")]
    answer_with(state, unknown[0], replace(unknown[1], is_default=True))
    values = config_values(cluster, [ORDERS], soon())[ORDERS]
    assert not isinstance(values, Failure)
    own = {name: (value.own, value.inherited) for name, value in values.items()}
    assert own == {"retention.ms": ("5", None), "segment.ms": (None, "5")}


def test_failures_are_of_each_resource(state: FakeCluster, cluster: Cluster) -> None:
    """A missing topic is a failure; without a response each resource of a request has a failure."""
    absent = ConfigResource(TOPIC, "absent")
    known = config_values(cluster, [ORDERS, absent, ConfigResource(BROKER, "9"), ConfigResource(BROKER, "")], soon())
    failures = {str(one): value.name for one, value in known.items() if isinstance(value, Failure)}
    assert failures == {"topic absent": "UNKNOWN_TOPIC_OR_PARTITION", "broker 9": "BROKER_NOT_AVAILABLE"}
    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Close(), times=100))
    lost = config_values(cluster, [ORDERS, absent], soon())
    assert all(isinstance(value, Failure) for value in lost.values())
    assert set(lost) == {ORDERS, absent}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("listener.name.a.ssl.key.password", "sasl.jaas.config", "listed")),
        *((name, True) for name in ("plugin.auth.token", "plugin.api.key", "Plugin.Credentials", "plugin.access_key")),
        *((name, False) for name in ("retention.ms", "log.cleaner.threads", "listener.name.a.max.connections")),
        *((name, False) for name in ("delegation.token.max.lifetime.ms", "leader.replication.throttled.rate")),
    ],
)
def test_secrets_by_their_names(name: str, *, expected: bool) -> None:
    """Listed configs are secrets if the broker marks them so; unlisted configs are secrets by their names."""
    values = {"listed": ConfigValue(None, None, is_sensitive=True, is_read_only=False, config_type=2)}
    assert is_sensitive(values, name) is expected
