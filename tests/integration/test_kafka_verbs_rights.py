"""Verbs on a broker with an authorizer: rules are those that kafka-acls prints, and what rights hide is said."""

import json
import re
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from pipeline.cli.kafka.run import run
from pipeline.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration.state import commit, create_topics, produce
from tests.integration.test_rights import ANONYMOUS, AUTHORIZER

pytestmark = pytest.mark.kafka
_RESOURCE = re.compile(r"resourceType=(\w+), name=(.*), patternType=(\w+)\)`")
_RULE = re.compile(r"principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One broker with an authorizer, a topic, a group that reads it, and rules of every kind."""
    with LocalKafka(tmp_path_factory.mktemp("guarded-verbs"), properties=AUTHORIZER) as kafka:
        create_topics(kafka.bootstrap_servers, [NewTopic("orders", 1, 1)])
        produce(kafka.bootstrap_servers, "orders", 20)
        commit(kafka.bootstrap_servers, "reader", {("orders", 0): 5})
        _apply(
            kafka,
            _rule(ResourceType.TOPIC, "ord", AclOperation.READ, pattern=ResourcePatternType.PREFIXED),
            _rule(ResourceType.TOPIC, "*", AclOperation.DESCRIBE_CONFIGS, user="User:CN=a, O=b"),
            _rule(ResourceType.TOPIC, "payments", AclOperation.ALL, allow=AclPermissionType.DENY, user="User:mallory"),
            _rule(ResourceType.GROUP, "reader", AclOperation.DESCRIBE, user="User:*", host="10.0.0.1"),
            _rule(ResourceType.TRANSACTIONAL_ID, "pay", AclOperation.WRITE, user="User:mallory"),
        )
        yield kafka


def _rule(
    kind: ResourceType,
    name: str,
    operation: AclOperation,
    *,
    allow: AclPermissionType = AclPermissionType.ALLOW,
    pattern: ResourcePatternType = ResourcePatternType.LITERAL,
    user: str = ANONYMOUS,
    host: str = "*",
) -> AclBinding:
    return AclBinding(kind, name, pattern, user, host, operation, allow)


def _apply(kafka: LocalKafka, *rules: AclBinding) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_acls(list(rules)).values():
        future.result(30)


def _shown(kafka: LocalKafka, capsys: pytest.CaptureFixture[str], *argv: str) -> set[tuple[str, ...]]:
    capsys.readouterr()
    assert run(["acls", "-b", kafka.bootstrap_servers, "--json", *argv], {}, CLOCK) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {tuple(value for name, value in row.items() if name != "kind") for row in rows}


def _printed(kafka: LocalKafka, *argv: str) -> set[tuple[str, ...]]:
    printed = kafka.tool(
        "org.apache.kafka.tools.AclCommand", "--bootstrap-server", kafka.bootstrap_servers, "--list", *argv
    )
    found, resource = set(), ()
    for line in printed.splitlines():
        if told := _RESOURCE.search(line):
            resource = told.groups()
        elif told := _RULE.search(line):
            found.add((*resource, *told.groups()))
    return found


def test_acls_equal_kafka_acls(guarded: LocalKafka, capsys: pytest.CaptureFixture[str]) -> None:
    """Every rule, and those that apply to a name."""
    assert len(_printed(guarded)) == 5
    assert _shown(guarded, capsys) == _printed(guarded)
    matching = ("--topic", "orders", "--resource-pattern-type", "match")
    applying = ("--resource-type", "topic", "--resource-name", "orders", "--pattern-type", "match")
    assert _shown(guarded, capsys, *applying) == _printed(guarded, *matching)
    assert len(_shown(guarded, capsys, "--principal", "User:mallory", "--permission", "deny")) == 1


def test_what_rights_hide_is_said(guarded: LocalKafka, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the right to describe the cluster and the topic, verbs say what is missing, and never that all is well."""
    denied = {"allow": AclPermissionType.DENY}
    kept = (AclOperation.CLUSTER_ACTION, AclOperation.ALTER, AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS)
    _apply(guarded, *(_rule(ResourceType.BROKER, "kafka-cluster", one) for one in kept))
    _apply(guarded, _rule(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE, **denied))
    _apply(guarded, _rule(ResourceType.TOPIC, "orders", AclOperation.DESCRIBE, **denied))
    refused = "CLUSTER_AUTHORIZATION_FAILED"
    for argv, code, line in (
        (("acls",), 3, f"access rules: DescribeAcls: {refused}"),
        (("log-dirs",), 3, f"DescribeLogDirs of broker 1: {refused}"),
        (("quorum",), 3, f"cluster: DescribeQuorum: {refused}"),
        (("metadata", "--topic", "orders"), 3, "topic orders: Metadata: TOPIC_AUTHORIZATION_FAILED"),
        (("offsets",), 0, "topics: perhaps not all of them"),
        (("groups",), 0, "groups: not all of them"),
        (("metadata",), 0, "controller: not known: DescribeQuorum: CLUSTER_AUTHORIZATION_FAILED"),
        (("describe-group", "reader"), 3, "group reader: ListGroups: NOT_LISTED"),
        (("transactions",), 0, "transactions: perhaps not all of them"),
    ):
        capsys.readouterr()
        found = run([*argv, "-b", guarded.bootstrap_servers], {}, CLOCK)
        told = capsys.readouterr()
        assert (argv, found) == (argv, code), told.err
        assert line in told.err
