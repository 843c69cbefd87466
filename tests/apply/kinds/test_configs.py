"""Actions change only configs that differ; a change that keeps less data has a guard."""

import pytest

from kafka_lagoon.admin.config_values import SENSITIVE, ConfigResource, ConfigValue, config_values
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.configs import (
    ALTER_CONFIGS,
    change_configs,
    config_guards,
    config_resource,
    named_resource,
    resource_with_configs,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kafka_lagoon.protocol.messages.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from kafka_lagoon.secret import Secret
from tests.admin.conftest import soon
from tests.apply.kinds.conftest import CarryOut
from tests.apply.kinds.endings import endings, not_done, right, timed_out
from tests.fake.cluster import FakeCluster

ORDERS = ConfigResource(TOPIC, "orders")
SHRINKING = frozenset({Guard.SHRINKING_RETENTION})


def value(own: str | None, inherited: str | None = None, *, is_sensitive: bool = False) -> ConfigValue:
    return ConfigValue(own, inherited, is_sensitive=is_sensitive, is_read_only=False, config_type=2)


def test_a_timeout_is_no_failure(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The configs are described before the outcome is decided."""
    values = config_values(cluster, [ORDERS], soon())[ORDERS]
    assert not isinstance(values, Failure)
    action = change_configs(ORDERS, values, {"flush.ms": "5"})
    assert action
    key = INCREMENTAL_ALTER_CONFIGS.key
    state.faults += [right(key), not_done(key, state.configs.clear), right(key), timed_out(key)]
    assert endings(carry_out([action])) == [("unknown", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([action])) == [("done", "REQUEST_TIMED_OUT")]
    assert state.count(key) == 4


def test_only_what_differs_is_changed() -> None:
    """Values that are already set or unset need no action; a secret always does."""
    values = {"a": value("1"), "b": value("2"), "p": value(SENSITIVE, is_sensitive=True)}
    assert change_configs(ORDERS, values, {"a": "1", "c": None}) is None
    action = change_configs(ORDERS, values, {"a": "1", "b": None, "c": "3", "p": "open"})
    assert action
    assert action.before == {"b": "2", "c": None, "p": SENSITIVE}
    assert action.after == {"b": None, "c": "3", "p": SENSITIVE}
    assert action.secrets == {"p": Secret("open")}
    assert "open" not in repr(action)


def test_a_secret_is_unset_and_never_shown() -> None:
    """Unsetting a sensitive config is no new secret, and a secret stays one where brokers do not list its config."""
    unset = change_configs(ORDERS, {"p": value(SENSITIVE, is_sensitive=True)}, {"p": None})
    unlisted = change_configs(ORDERS, {}, {"p": Secret("open")})
    assert unset
    assert unlisted
    assert (unset.after, unset.secrets) == ({"p": None}, {})
    assert (unlisted.after, unlisted.secrets) == ({"p": SENSITIVE}, {"p": Secret("open")})


def test_secrets_are_not_decided_by_what_can_be_seen() -> None:
    """A secret that is set proves nothing if a secret was set before, because its value cannot be read."""
    fresh = change_configs(ORDERS, {"p": value(None, is_sensitive=True)}, {"p": "x"})
    again = change_configs(ORDERS, {"p": value(SENSITIVE, is_sensitive=True)}, {"p": "x"})
    assert fresh
    assert again
    assert ALTER_CONFIGS.is_done(fresh, {"p": SENSITIVE})
    assert not ALTER_CONFIGS.is_done(again, {"p": SENSITIVE})


def test_a_change_is_done_as_a_whole() -> None:
    """A secret of several values, and a value that another client has set instead of unsetting it, leave it open."""
    values = {"p": value(SENSITIVE, is_sensitive=True), "a": value("5")}
    both = change_configs(ORDERS, values, {"p": "x", "a": "6"})
    unset = change_configs(ORDERS, values, {"a": None})
    assert both
    assert unset
    assert not ALTER_CONFIGS.is_done(both, {"p": SENSITIVE, "a": "6"})
    assert not ALTER_CONFIGS.is_done(unset, {"a": "7"})
    assert ALTER_CONFIGS.is_done(unset, {"a": None})


def test_what_is_as_before_is_not_done() -> None:
    """Nor is a logger with a third level."""
    unset = change_configs(ORDERS, {"a": value("5")}, {"a": None})
    logger = change_configs(ConfigResource(BROKER_LOGGER, "1"), {"kafka": value("INFO")}, {"kafka": "DEBUG"})
    assert unset
    assert logger
    assert not ALTER_CONFIGS.is_done(unset, {"a": "5"})
    assert not ALTER_CONFIGS.is_done(logger, {"kafka": "WARN"})
    assert not ALTER_CONFIGS.is_done(logger, {"kafka": "INFO"})


@pytest.mark.parametrize(
    ("name", "asked_for", "live", "done"),
    [
        ("cleanup.policy", "compact, delete", "compact,delete", True),
        ("compression.type", "gzip ", "gzip", True),
        ("retention.ms", "0100", "100", True),
        ("preallocate", "TRUE", "true", True),
        ("cleanup.policy", "compact, delete", "compact", False),
        ("retention.ms", "0100", None, False),
    ],
)
def test_brokers_describe_a_value_as_they_parse_it(name: str, asked_for: str, live: str | None, done: bool) -> None:
    """A change whose answer was lost is done, although its value is written in another way."""
    action = change_configs(ORDERS, {}, {name: asked_for})
    assert action
    assert ALTER_CONFIGS.is_done(action, {name: live}) is done


def test_a_logger_that_is_unset_has_another_level() -> None:
    """An unset logger has the level of its parent, which may be any level."""
    of = ConfigResource(BROKER_LOGGER, "1")
    action = change_configs(of, {"kafka": value("TRACE")}, {"kafka": None})
    assert action
    assert ALTER_CONFIGS.is_done(action, {"kafka": "INFO"})
    assert not ALTER_CONFIGS.is_done(action, {"kafka": "TRACE"})


def test_resources_are_named_both_ways() -> None:
    """The resource of all brokers has an empty name in requests, and the name <default> in plans."""
    for of, name in ((ORDERS, "topic orders"), (ConfigResource(BROKER, ""), "broker <default>")):
        assert str(resource_with_configs(of)) == name
        assert config_resource(resource_with_configs(of)) == of


@pytest.mark.parametrize("resource_type", [GROUP, CLIENT_METRICS])
def test_only_brokers_have_a_default(resource_type: int) -> None:
    """A group and a subscription named <default> keep their names."""
    named = named_resource(resource_type, "<default>")
    assert named == ConfigResource(resource_type, "<default>")
    assert config_resource(resource_with_configs(named)) == named


@pytest.mark.parametrize(
    ("name", "old", "new", "guarded"),
    [
        ("retention.ms", "10", "9", True),
        ("retention.ms", "10", "11", False),
        ("retention.ms", "10", "-1", False),
        ("retention.ms", "-1", "11", True),
        ("retention.ms", "-1", "-1", False),
        ("retention.ms", "10", "010", False),
        ("retention.bytes", "5", "4", True),
        ("local.retention.ms", "-2", "100", True),
        ("local.retention.ms", "100", "-2", True),
        ("log.retention.hours", "168", "24", True),
        ("cleanup.policy", "delete", "compact", True),
        ("cleanup.policy", "delete", "delete, compact", True),
        ("cleanup.policy", "compact,delete", "delete", False),
        ("cleanup.policy", "compact,delete", "delete, compact", False),
        ("cleanup.policy", "", "delete", True),
        ("cleanup.policy", "delete", "", False),
        ("segment.ms", "10", "9", False),
        ("retention.ms", "10", "ten", True),
        ("remote.storage.enable", "true", "false", True),
        ("remote.storage.enable", "false", "true", False),
    ],
)
def test_what_keeps_less_is_guarded(name: str, old: str, new: str, *, guarded: bool) -> None:
    """Changes that would delete records need an option; -1 means no limit."""
    assert config_guards("topic", {name: old}, {name: new}) == (SHRINKING if guarded else frozenset())
    assert config_guards("group", {name: old}, {name: new}) == frozenset()


@pytest.mark.parametrize("limit", ["retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"])
def test_every_limit_of_retention_is_guarded(limit: str) -> None:
    """Each limit of topics, that of brokers by which topics without one of their own are kept, and its coarser units."""
    coarser = ["log.retention.minutes", "log.retention.hours"] if limit == "retention.ms" else []
    for resource_type, name in (("topic", limit), *(("broker", name) for name in (f"log.{limit}", *coarser))):
        assert config_guards(resource_type, {name: "10"}, {name: "9"}) == SHRINKING, name
        assert config_guards(resource_type, {name: "10"}, {name: "11"}) == frozenset(), name


def test_what_is_unset_counts_by_what_then_holds() -> None:
    """The guard depends on the value in force afterwards; an unknown value counts as keeping less, except by no limit."""
    change = {"retention.ms": "10"}, {"retention.ms": None}
    assert config_guards("topic", *change) == SHRINKING
    assert config_guards("topic", *change, {"retention.ms": "9"}) == SHRINKING
    assert config_guards("topic", *change, {"retention.ms": "10"}) == frozenset()
    assert config_guards("topic", {"retention.ms": None}, {"retention.ms": "10"}, {"retention.ms": "11"}) == SHRINKING
    assert (
        config_guards("topic", {"local.retention.ms": "-2"}, {"local.retention.ms": None}, {"local.retention.ms": "-2"})
        == frozenset()
    )
    assert config_guards("topic", {"cleanup.policy": "delete"}, {"cleanup.policy": None}) == SHRINKING
    assert config_guards("broker", {"log.retention.ms": None}, {"log.retention.ms": "10"}) == SHRINKING
    assert config_guards("broker", {"log.retention.ms": None}, {"log.retention.ms": "-1"}) == frozenset()


@pytest.mark.parametrize("resource_type", ["topic", "broker"])
def test_elections_that_may_lose_records_are_guarded(resource_type: str) -> None:
    """A change to true, also by unsetting false where true is inherited, and where what is inherited is unknown."""
    name, unclean = "unclean.leader.election.enable", frozenset({Guard.UNCLEAN_ELECTIONS})
    for old, new, inherited, guards in (
        ("false", "true", None, unclean),
        (None, "TRUE", "false", unclean),
        ("false", None, "true", unclean),
        ("false", None, None, unclean),
        ("false", None, "false", frozenset()),
        (None, "true", "true", frozenset()),
        ("true", "false", None, frozenset()),
        ("true", None, "false", frozenset()),
    ):
        assert config_guards(resource_type, {name: old}, {name: new}, {name: inherited}) == guards, (
            old,
            new,
            inherited,
        )
    both = config_guards(resource_type, {name: "false", "retention.ms": "2"}, {name: "true", "retention.ms": "1"})
    assert both == unclean | SHRINKING


def test_the_end_of_tiering_is_guarded() -> None:
    """Unsetting remote.storage.enable deletes the tiered records as setting it to false does (KIP-950)."""
    name = "remote.storage.enable"
    assert config_guards("topic", {name: "true"}, {name: None}, {name: "false"}) == SHRINKING
    assert config_guards("topic", {name: "false"}, {name: None}, {name: "false"}) == frozenset()
    assert config_guards("topic", {name: None}, {name: "true"}) == frozenset()
