"""A note says that a list may be short, unless permissions or ACLs prove that it is complete."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, AclDescription, DescribeAclsResource
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.list_notes import list_note
from tests.clock import CLOCK
from tests.fake import acls as fake_acls
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster

OURS, OTHER = "User:lagoon", "User:other"
PERHAPS = "topics: perhaps not all of them: brokers leave out those that we may not describe"


@pytest.fixture(autouse=True)
def _user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaSettings, "principal", lambda _: OURS)
    for api, answer in fake_acls.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


def acl(
    operation: int,
    permission: int = acls.ALLOW,
    *,
    principal: str = OURS,
    host: str = "*",
    name: str = "*",
    kind: int = acls.TOPIC,
) -> DescribeAclsResource:
    rule = AclDescription(principal=principal, host=host, operation=operation, permission_type=permission)
    return DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=acls.LITERAL, acls=(rule,))


def note(connect: Callable[..., Cluster], api: str = METADATA.name, operations: int | None = 0) -> str | None:
    return list_note(connect(), api, "topics", Deadline.after(CLOCK, 5_000), operations)


@pytest.mark.parametrize(
    "rules",
    [
        [acl(acls.DESCRIBE)],
        [acl(acls.READ)],
        [acl(acls.ALL, principal=acls.EVERYBODY)],
        [acl(acls.DESCRIBE), acl(acls.WRITE, acls.DENY)],
        [acl(acls.DESCRIBE), acl(acls.DESCRIBE, acls.DENY, kind=acls.GROUP)],
        [acl(acls.DESCRIBE), acl(acls.DESCRIBE, acls.DENY, name="secret", principal=OTHER)],
    ],
)
def test_acls_on_all_topics_prove_it(
    state: FakeCluster, connect: Callable[..., Cluster], rules: list[DescribeAclsResource]
) -> None:
    """READ implies DESCRIBE; who may not write sees the topic nevertheless, and so do we if it is hidden from another user."""
    state.acls = tuple(rules)
    assert note(connect) is None
    assert note(connect, LIST_TRANSACTIONS.name) == PERHAPS  # these are other resources


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [],
        [acl(acls.DESCRIBE, name="orders")],
        [acl(acls.DESCRIBE_CONFIGS)],
        [acl(acls.DESCRIBE, principal=OTHER)],
        [acl(acls.DESCRIBE, host="10.0.0.1")],
        [acl(acls.DESCRIBE, acls.DENY)],
        [acl(acls.DESCRIBE), acl(acls.DESCRIBE, acls.DENY, name="secret")],
        [acl(acls.DESCRIBE), acl(acls.DESCRIBE, acls.DENY, name="secret", principal=acls.EVERYBODY)],
        [acl(acls.DESCRIBE), acl(acls.ALL, acls.DENY, name="secret", principal="Group:staff")],
    ],
)
def test_other_acls_prove_nothing(
    state: FakeCluster, connect: Callable[..., Cluster], rules: list[DescribeAclsResource] | None
) -> None:
    """A denial of one topic hides it, also if it is for a group that we may be in; without an authorizer nothing is known."""
    state.acls = None if rules is None else tuple(rules)
    assert note(connect) == PERHAPS


def test_a_principal_that_is_not_known_proves_nothing(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from a certificate, a ticket or a token: ACLs are not read then."""
    monkeypatch.setattr(KafkaSettings, "principal", lambda _: None)
    state.acls = (acl(acls.DESCRIBE, principal=acls.EVERYBODY),)
    assert note(connect) == PERHAPS
    assert state.count(DESCRIBE_ACLS.key) == 0


def test_permissions_on_the_cluster_prove_it(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The cluster is asked for them if they are not given; no ACL is read, and DESCRIBE shows all groups."""
    assert note(connect, operations=None) is None
    assert note(connect, LIST_GROUPS.name, 1 << acls.DESCRIBE) is None
    short = "topics: not all of them: brokers leave out those that we may not describe"
    state.acls = (acl(acls.DESCRIBE, kind=acls.GROUP),)
    assert note(connect, LIST_GROUPS.name, 0) == short
    assert state.count(DESCRIBE_ACLS.key) == 0
