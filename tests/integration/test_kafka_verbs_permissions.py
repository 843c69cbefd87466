"""Verbs on a broker with an authorizer: ACLs equal those of kafka-acls, and missing permissions are reported."""

import json
import re
from dataclasses import astuple

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafka_lagoon.cli.main import run
from kafka_lagoon.tables.security_rows import AclRow
from tests.clock import CLOCK
from tests.integration.secured import GUEST, Secured, add_rules
from tests.integration.state import commit, create_topics
from tests.integration.test_against_kafka_tools import snapshot_of
from tests.set_options import set_options

ORDERS, READER = "ruled-orders", "ruled-reader"
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
RULES = (
    AclBinding(ResourceType.TOPIC, "ruled-ord", PREFIXED, "User:clerk", "*", AclOperation.READ, ALLOW),
    AclBinding(ResourceType.TOPIC, "*", LITERAL, "User:CN=a, O=b", "*", AclOperation.DESCRIBE_CONFIGS, ALLOW),
    AclBinding(ResourceType.TOPIC, "ruled-payments", LITERAL, "User:mallory", "*", AclOperation.ALL, DENY),
    AclBinding(ResourceType.GROUP, READER, LITERAL, "User:*", "10.0.0.1", AclOperation.DESCRIBE, ALLOW),
    AclBinding(ResourceType.TRANSACTIONAL_ID, "pay", LITERAL, "User:mallory", "*", AclOperation.WRITE, ALLOW),
)
_RESOURCE = re.compile(r"resourceType=(\w+), name=(.*), patternType=(\w+)\)`")
_RULE = re.compile(r"principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)")


def _shown(secured: Secured, capsys: pytest.CaptureFixture[str], *argv: str) -> set[tuple[str, ...]]:
    capsys.readouterr()
    assert run(["kafka", "acls", "-b", secured.kafka.bootstrap_servers, "--json", *argv], {}, CLOCK) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {tuple(value for name, value in row.items() if name != "kind") for row in rows}


def _printed(secured: Secured, *argv: str) -> set[tuple[str, ...]]:
    command = ("org.apache.kafka.tools.AclCommand", "--bootstrap-server", secured.kafka.bootstrap_servers, "--list")
    rules, resource = set(), ()
    for line in secured.kafka.tool(*command, *argv).splitlines():
        if match := _RESOURCE.search(line):
            resource = match.groups()
        elif match := _RULE.search(line):
            rules.add((*resource, *match.groups()))
    return rules


def test_acls_equal_kafka_acls(secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
    """Every ACL, and those that apply to a name, are equal."""
    add_rules(secured.kafka, *RULES)
    every = _printed(secured)
    assert len(every) >= len(RULES)
    assert _shown(secured, capsys) == every
    assert {astuple(row) for row in snapshot_of(secured.kafka).of(AclRow)} == every
    matching = ("--topic", ORDERS, "--resource-pattern-type", "match")
    applying = ("--resource-type", "topic", "--resource-name", ORDERS, "--pattern-type", "match")
    expected = _printed(secured, *matching)
    assert {"ruled-ord", "*"} <= {rule[1] for rule in expected}
    assert _shown(secured, capsys, *applying) == expected
    assert len(_shown(secured, capsys, "--principal", "User:mallory", "--permission", "deny")) == 1


def test_what_missing_permissions_hide_is_said(secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any permission verbs name the missing permissions, and never report success."""
    servers = secured.kafka.bootstrap_servers
    create_topics(servers, [NewTopic(ORDERS, 1, 1)])
    commit(servers, READER, {(ORDERS, 0): 5})
    guest = secured.settings("plain-tls") | {"sasl_username": GUEST}
    login = set_options(guest)
    refused = "CLUSTER_AUTHORIZATION_FAILED"
    for argv, code, line in (
        (("acls",), 3, f"ACLs: DescribeAcls: {refused}"),
        (("log-dirs",), 3, f"DescribeLogDirs of broker 1: {refused}"),
        (("quorum",), 3, f"cluster: DescribeQuorum: {refused}"),
        (("metadata", "--topic", ORDERS), 3, f"topic {ORDERS}: Metadata: TOPIC_AUTHORIZATION_FAILED"),
        (("offsets",), 0, "topics: perhaps not all of them"),
        (("groups",), 0, "groups: not all of them"),
        (("metadata",), 0, f"controller: not known: DescribeQuorum: {refused}"),
        (("describe-group", READER), 3, f"group {READER}: ListGroups: NOT_LISTED"),
        (("transactions",), 0, "transactions: perhaps not all of them"),
    ):
        capsys.readouterr()
        exit_code = run(["kafka", *argv, *login], {}, CLOCK)
        output = capsys.readouterr()
        assert (argv, exit_code) == (argv, code), output.err
        assert line in output.err
