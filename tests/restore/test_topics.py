"""Topics, configs and ACLs of a snapshot become actions for another cluster; what cannot be transferred is named."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore.topics import SavedAcl, saved_acls, saved_topics, topic_actions
from tests.comparisons import Comparisons
from tests.restore.saved import saved

SNAPSHOT = "s1"


def _topic(name: str, **more: Any) -> dict[str, Any]:
    return {"snapshot_id": SNAPSHOT, "topic": name, "topic_id": "id", "partitions": 4, "replication_factor": 3, **more}


def _config(
    topic: str, name: str, value: str | None, source: str | None = "TOPIC_CONFIG", **more: Any
) -> dict[str, Any]:
    return {
        "snapshot_id": SNAPSHOT,
        "resource_type": "topic",
        "resource_name": topic,
        "name": name,
        "value": value,
        "source": source,
        "is_default": source == "DEFAULT_CONFIG",
        "is_sensitive": value is None,
        **more,
    }


def _acl(
    name: str, pattern_type: str = "LITERAL", resource_type: str = "TOPIC", operation: str = "READ"
) -> dict[str, Any]:
    return {
        "resource_type": resource_type,
        "resource_name": name,
        "pattern_type": pattern_type,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission": "ALLOW",
    }


ACLS = [
    _acl("orders"),
    _acl("orders", operation="WRITE"),
    _acl("ord", "PREFIXED"),
    _acl("*"),
    _acl("other"),
    _acl("billing", resource_type="GROUP"),
    _acl("unrelated", resource_type="GROUP"),
    _acl("kafka-cluster", resource_type="CLUSTER"),
]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """A snapshot with two topics and one that could not be described, and another snapshot in which one of them differs."""
    topics = [
        _topic("orders"),
        _topic("plain", partitions=1, replication_factor=1),
        _topic("hidden", partitions=None, replication_factor=None, problem="TOPIC_AUTHORIZATION_FAILED"),
        _topic("orders", partitions=9, snapshot_id="s2"),
    ]
    configs = [
        _config("orders", "retention.ms", "1000"),
        _config("orders", "cleanup.policy", "delete", "DEFAULT_CONFIG"),
        _config("orders", "min.insync.replicas", "2"),
        _config("orders", "segment.bytes", "4096", "STATIC_BROKER_CONFIG"),
        _config("orders", "follower.replication.throttled.replicas", "0:1"),
        _config("orders", "secret", None),
        _config("plain", "old", "1", None, is_default=False),
        _config("plain", "cleanup.policy", "delete", None, is_default=True),
        _config("orders", "retention.ms", "7", snapshot_id="s2"),
        _config("1", "retention.ms", "8", "DYNAMIC_BROKER_CONFIG", resource_type="broker"),
    ]
    acls = [{"snapshot_id": SNAPSHOT, **acl} for acl in ACLS] + [
        {"snapshot_id": "s2", **_acl("orders", operation="ALL")}
    ]
    with saved(topics_published=topics, configs_published=configs, acls_published=acls) as ask:
        yield ask


def test_topics_of_the_snapshot(ask: Ask) -> None:
    """Topics have their explicit configs; if brokers return no sources, these are all configs that are not defaults."""
    topics = saved_topics(ask, SNAPSHOT, ["orders", "plain"])
    assert {name: (one.partitions, one.replication_factor) for name, one in topics.items()} == {
        "orders": (4, 3),
        "plain": (1, 1),
    }
    assert topics["orders"].configs == {"retention.ms": "1000", "min.insync.replicas": "2"}
    assert topics["orders"].inherited == {"segment.bytes": "4096"}
    assert set(topics["orders"].left_out) == {"secret", "follower.replication.throttled.replicas"}
    assert topics["plain"].configs == {"old": "1"}


def test_topics_that_the_snapshot_lacks(ask: Ask) -> None:
    """All of them are named at once."""
    with pytest.raises(ConfigError) as raised:
        saved_topics(ask, SNAPSHOT, ["orders", "hidden", "none"])
    assert raised.value.problems == (
        "topic none: not in snapshot s1",
        "topic hidden: snapshot s1 does not say its partitions (TOPIC_AUTHORIZATION_FAILED)",
    )


def test_actions_create_topics(ask: Ask) -> None:
    """Topics are created with their new names, with configs or without; notes name what is not transferred."""
    topics = list(saved_topics(ask, SNAPSHOT, ["orders", "plain"]).values())
    names = {"orders": "orders2", "plain": "plain"}
    actions, notes = topic_actions(topics, names, brokers=3, with_configs=True)
    assert [(one.kind, one.resource.name, one.before, one.after) for one in actions] == [
        (
            "create_topic",
            "orders2",
            None,
            {
                "partitions": 4,
                "replication_factor": 3,
                "configs": {"retention.ms": "1000", "min.insync.replicas": "2"},
            },
        ),
        ("create_topic", "plain", None, {"partitions": 1, "replication_factor": 1, "configs": {"old": "1"}}),
    ]
    assert sorted(notes) == [
        "topic orders: segment.bytes=4096 was set on the source's brokers; the target's brokers decide",
        "topic orders: without follower.replication.throttled.replicas: it names brokers of the source",
        "topic orders: without secret: its value is secret and was not stored",
    ]
    actions, notes = topic_actions(topics, names, brokers=3, with_configs=False)
    assert all("configs" not in (action.after or {}) for action in actions)
    assert notes == [
        "topic orders: without its configs min.insync.replicas, retention.ms",
        "topic plain: without its configs old",
    ]


def test_configs_that_the_target_has_no_more(ask: Ask) -> None:
    """Brokers refuse a topic with a config that they do not have, so it is created without it, and a note names that."""
    topics = list(saved_topics(ask, SNAPSHOT, ["orders", "plain"]).values())
    names = {"orders": "orders", "plain": "plain"}
    actions, notes = topic_actions(topics, names, brokers=3, with_configs=True, removed=["old", "retention.ms"])
    shapes = {action.resource.name: action.after or {} for action in actions}
    assert shapes["orders"]["configs"] == {"min.insync.replicas": "2"}
    assert shapes["plain"] == {"partitions": 1, "replication_factor": 1}
    assert "topic plain: without old: brokers of the target do not have it any more" in notes
    assert "topic orders: without retention.ms: brokers of the target do not have it any more" in notes
    _, notes = topic_actions(topics, names, brokers=3, with_configs=False, removed=["old"])
    assert notes[-1] == "topic plain: without its configs old"
    _, notes = topic_actions([replace(topics[1], configs={})], names, brokers=3, with_configs=False)
    assert notes == []


def test_too_few_brokers(ask: Ask) -> None:
    """Fewer replicas than in the source need an option, and a note names the consequences."""
    topics = list(saved_topics(ask, SNAPSHOT, ["orders", "plain"]).values())
    names = {"orders": "orders", "plain": "plain"}
    with pytest.raises(ConfigError, match="topic orders: 3 replicas, and the target has 1 brokers"):
        topic_actions(topics, names, brokers=1, with_configs=True)
    actions, notes = topic_actions(topics, names, brokers=1, with_configs=True, replication_factor=1)
    assert [(action.after or {})["replication_factor"] for action in actions] == [1, 1]
    assert "topic orders: 1 replicas instead of 3" in notes
    assert any(note.startswith("topic orders: min.insync.replicas=2, and it has 1 replica: acks=all") for note in notes)


def test_acls_of_topics_and_groups(ask: Ask) -> None:
    """ACLs of restored topics get the new name; prefixes are kept, and a note names topics that they no longer match."""
    acls, notes = saved_acls(ask, SNAPSHOT, {"orders": "copy"}, ["billing"])
    assert acls == [
        SavedAcl(**_acl("billing", resource_type="GROUP")),
        SavedAcl(**_acl("ord", "PREFIXED")),
        SavedAcl(**_acl("copy")),
        SavedAcl(**_acl("copy", operation="WRITE")),
    ]
    assert notes == [
        "ACL ALLOW User:alice READ topic LITERAL * from *: is about every topic; create it by hand if it is wanted",
        "ACL ALLOW User:alice READ topic PREFIXED ord from *: is not about copy, as the topic is called in the target",
    ]
    assert saved_acls(ask, SNAPSHOT, {"nothing": "nothing"})[0] == []
    _, notes = saved_acls(ask, SNAPSHOT, {"orders": "orders-copy"})
    assert [note for note in notes if "is not about" in note] == []  # the prefix matches it still


def test_a_prefix_of_groups_is_kept() -> None:
    """Groups keep their names, so no note says that a prefix misses them; a prefix of no restored group is left out."""
    several = [_acl(name, "PREFIXED", resource_type="GROUP") for name in ("bill", "other", "billing-2")]
    with saved(acls_published=[{"snapshot_id": SNAPSHOT, **acl} for acl in several]) as ask:
        assert saved_acls(ask, SNAPSHOT, {"orders": "copy"}, ["billing"]) == ([SavedAcl(**several[0])], [])


def test_names_are_looked_up_for_each_acl() -> None:
    """100,000 ACLs were compared with each of 10,000 topics, which took minutes."""
    compared = Comparisons()
    names = {compared.counting(f"t{number:03}"): f"t{number:03}" for number in range(100)}
    several = [_acl(name) for name in names] + [_acl(name[:3], "PREFIXED") for name in names] + [_acl("u", "PREFIXED")]
    with saved(acls_published=[{"snapshot_id": SNAPSHOT, **acl} for acl in several]) as ask:
        results = list[Any]()
        assert compared.during(lambda: results.append(saved_acls(ask, SNAPSHOT, names))) < 20 * len(names)
    assert [(acl.resource_name, acl.pattern_type) for acl in results[0][0]] == sorted(
        (acl["resource_name"], acl["pattern_type"]) for acl in several[:-1]
    )
