"""A user with exactly the permissions of a test, and the output of commands for that user."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.agreement import ask_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS, AclCreation, CreateAclsRequest
from kafka_lagoon.wire.schema import Api
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.secured import PASSWORD, Secured, add_rules, allow
from tests.jobs import commands
from tests.set_options import set_options

LEAST = "least"
_NAMES = ("topic", "partition", "group_id", "resource_name", "name", "transactional_id", "broker_id", "finding", "api")
_KINDS = {
    acls.TOPIC: (ResourceType.TOPIC, acls.WILDCARD),
    acls.GROUP: (ResourceType.GROUP, acls.WILDCARD),
    acls.CLUSTER: (ResourceType.BROKER, acls.CLUSTER_NAME),
    acls.TRANSACTIONAL_ID: (ResourceType.TRANSACTIONAL_ID, acls.WILDCARD),
    acls.DELEGATION_TOKEN: (None, acls.WILDCARD),  # librdkafka has no such type
}
Shape = Counter[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Shown:
    """The result of a run: exit code, subjects and non-null fields of its rows, and its other lines."""

    code: int
    shape: Shape
    lines: frozenset[str]


class Place:
    """A secured broker, and a user with exactly the permissions of a test."""

    def __init__(self, secured: Secured) -> None:
        self.plain = secured.kafka.bootstrap_servers
        self.settings = {**secured.settings("scram-256"), "sasl_username": LEAST, "sasl_password": PASSWORD}
        self.settings_of_owner = secured.settings("scram-256")
        self._kafka = secured.kafka
        self._admin = AdminClient({"bootstrap.servers": self.plain})

    def make_user(self) -> None:
        """Create the user, without permissions."""
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        user = UserScramCredentialUpsertion(LEAST, credential, PASSWORD.encode())
        every_broker.create_users(self.plain, [user])

    @contextmanager
    def granted(self, permissions: Iterable[Permission], topic: str = acls.WILDCARD) -> Iterator[None]:
        """Give the user exactly these permissions until the context ends; those on topics may be for a single topic."""
        permissions = list(permissions)
        rules = [_rule(one, topic) for one in permissions if one.resource_type != acls.DELEGATION_TOKEN]
        if rules:
            add_rules(self._kafka, *rules)
        if len(rules) < len(permissions):
            _show_tokens(self.plain)
        try:
            yield
        finally:
            every_broker.delete_acls(self.plain, _of_user())
            every_broker.knows_acls_of(self.plain, f"User:{LEAST}", [])

    def options(self) -> list[str]:
        """Return options that make a command run as the user."""
        return set_options(self.settings)

    def as_user(self, command: Sequence[str]) -> Shown:
        """Return the output for the user."""
        return _shown([*command, *self.options()])

    def as_super_user(self, command: Sequence[str]) -> Shown:
        """Return the output for a super user."""
        return _shown([*command, "-b", self.plain])


def _rule(permission: Permission, topic: str) -> AclBinding:
    kind, name = _KINDS[permission.resource_type]
    name = topic if kind == ResourceType.TOPIC else name
    return allow(kind, name, AclOperation[acls.OPERATIONS[permission.operation]], user=LEAST)


def _show_tokens(bootstrap_servers: str) -> None:
    """Allow DESCRIBE on every token."""
    rule = AclCreation(
        resource_type=acls.DELEGATION_TOKEN,
        resource_name=acls.WILDCARD,
        principal=f"User:{LEAST}",
        host="*",
        operation=acls.DESCRIBE,
        permission_type=acls.ALLOW,
    )
    answer = answer_to({"bootstrap_servers": bootstrap_servers}, CREATE_ACLS, CreateAclsRequest(creations=(rule,)))
    assert [one.error_code for one in answer.results] == [0]
    token = Acl(acls.DELEGATION_TOKEN, acls.WILDCARD, acls.LITERAL, rule.principal, "*", acls.DESCRIBE, acls.ALLOW)
    every_broker.knows_acls(bootstrap_servers, present=[token])


def answer_to(settings: Mapping[str, str], api: Api[Any, Any], request: object) -> Any:
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(checked(settings), CLOCK, RequestStats(), deadline) as cluster:
        return ask_cluster(cluster, api, request, Scope.cluster(), deadline)


def _of_user() -> AclBindingFilter:
    every = (ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{LEAST}")
    return AclBindingFilter(*every, None, AclOperation.ANY, AclPermissionType.ANY)


def _shown(argv: Sequence[str]) -> Shown:
    ended = commands.here(*argv, "--json")
    printed = [json.loads(line) for line in ended.stdout.splitlines()]
    return Shown(ended.returncode, shape_of(printed), frozenset(ended.stderr.splitlines()))


def shape_of(printed: Iterable[Mapping[str, Any]]) -> Shape:
    """Return rows without values that change between two calls: their subjects, and the names of non-null fields."""
    return Counter(
        (
            row["kind"],
            *(row.get(name) for name in _NAMES),
            frozenset(name for name, value in row.items() if value not in (None, [], ())),
        )
        for row in printed
    )
