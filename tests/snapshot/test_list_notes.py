"""A note says that a list may be short, unless ACLs, and what we may do, prove that it is complete."""

from collections.abc import Callable, Sequence

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
    pattern: int = acls.LITERAL,
) -> DescribeAclsResource:
    rule = AclDescription(principal=principal, host=host, operation=operation, permission_type=permission)
    return DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=(rule,))


ALTER = 1 << acls.ALTER
HIDDEN, OURS_ON_SEEN = acl(acls.READ, name="secret", principal=OTHER), acl(acls.READ, name="orders")


def note(
    connect: Callable[..., Cluster], api: str = METADATA.name, operations: int | None = 0, topics: Sequence[str] = ()
) -> str | None:
    """The note after brokers have described these topics."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    if topics:
        cluster.refresh(topics, deadline)
    return list_note(cluster, api, "topics", deadline, operations)


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
        [acl(acls.DESCRIBE, principal="Group:staff")],
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
    state: FakeCluster, connect: Callable[..., Cluster], rules: list[DescribeAclsResource]
) -> None:
    """A denial of one topic hides it, also if it is for a group that we may be in. No topic was described to us here."""
    state.acls = tuple(rules)
    assert note(connect) == PERHAPS


def test_without_an_authorizer_brokers_hide_nothing(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Whatever the settings call us."""
    state.acls = None
    assert note(connect) is None
    assert note(connect, LIST_TRANSACTIONS.name) is None


ON_CLUSTER = {"kind": acls.CLUSTER, "name": acls.CLUSTER_NAME}
SEEN = "orders"  # the topic that brokers describe to us


@pytest.mark.parametrize(
    ("operations", "rules", "is_proven"),
    [
        pytest.param(0, [acl(acls.READ, name=SEEN, principal=OTHER)], True, id="a topic that only others may read"),
        pytest.param(0, [acl(acls.READ, name="*", principal=OTHER)], True, id="all topics are for others"),
        pytest.param(
            0, [acl(acls.READ, name="ord", pattern=acls.PREFIXED, principal=OTHER)], True, id="a prefix of it"
        ),
        pytest.param(0, [acl(acls.WRITE, acls.DENY, name=SEEN)], True, id="no ACL allows anything"),
        pytest.param(0, [acl(acls.ALTER_CONFIGS, name=SEEN)], True, id="no ACL allows this"),
        pytest.param(0, [acl(acls.READ, name=SEEN)], False, id="an ACL of ours"),
        pytest.param(0, [acl(acls.READ, name="ord", pattern=acls.PREFIXED)], False, id="a prefix of ours"),
        pytest.param(0, [acl(acls.READ, name=SEEN, principal="Group:staff")], False, id="perhaps our group"),
        pytest.param(0, [acl(acls.READ, name="other", principal=OTHER)], False, id="without ACLs everybody may"),
        pytest.param(
            0, [acl(acls.READ, name="orders-", pattern=acls.PREFIXED, principal=OTHER)], False, id="no prefix"
        ),
        pytest.param(0, [acl(acls.READ, name="ord", principal=OTHER)], False, id="a whole name is no prefix"),
        pytest.param(
            0, [acl(acls.READ, name="*", pattern=acls.PREFIXED, principal=OTHER)], False, id="names that begin with *"
        ),
        pytest.param(0, [], True, id="a topic without ACLs where no topic has any"),
        pytest.param(
            ALTER, [acl(acls.ALTER, principal=OTHER, **ON_CLUSTER), HIDDEN, OURS_ON_SEEN], True, id="super user"
        ),
        pytest.param(ALTER, [acl(acls.ALL, **ON_CLUSTER), HIDDEN, OURS_ON_SEEN], False, id="ALL on Cluster"),
        pytest.param(ALTER, [HIDDEN, OURS_ON_SEEN], False, id="everybody may on Cluster, or a super user"),
    ],
)
def test_what_no_acl_allows_proves_it(
    state: FakeCluster,
    connect: Callable[..., Cluster],
    operations: int,
    rules: list[DescribeAclsResource],
    *,
    is_proven: bool,
) -> None:
    """On a resource with ACLs only super users may do what none allows; without ACLs a setting may allow it to everybody."""
    state.acls = tuple(rules)
    assert note(connect, operations=operations, topics=[SEEN]) == (None if is_proven else PERHAPS)


def test_an_acl_of_a_later_release_proves_nothing(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """It may be what allows us to see the topic."""
    state.acls = (acl(99, name=SEEN),)
    assert note(connect, topics=[SEEN]) == PERHAPS


def test_resources_without_acls_are_seen_by_whoever_may_use_one(
    state: FakeCluster, connect: Callable[..., Cluster]
) -> None:
    """A topic that we see without an ACL: no ACL at all is about transactional ids, so we see them all."""
    state.acls = (acl(acls.READ, name="other"),)
    assert note(connect, LIST_TRANSACTIONS.name, topics=[SEEN]) is None
    assert note(connect, LIST_TRANSACTIONS.name, topics=["other"]) == PERHAPS


def test_where_the_principal_is_not_known_each_acl_may_be_ours(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from a certificate, a ticket or a token."""
    monkeypatch.setattr(KafkaSettings, "principal", lambda _: None)
    state.acls = (acl(acls.DESCRIBE, principal=acls.EVERYBODY),)
    assert note(connect, topics=[SEEN]) == PERHAPS
    state.acls = (acl(acls.READ, name=SEEN, principal=OTHER),)
    assert note(connect, topics=[SEEN]) == PERHAPS
    state.acls = (acl(acls.WRITE, acls.DENY, principal=OTHER),)
    assert note(connect, topics=[SEEN]) is None


def test_groups_need_no_acls(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """DESCRIBE on the cluster shows all groups; the cluster is asked for the operations if they are not given."""
    state.acls = (acl(acls.DESCRIBE, kind=acls.GROUP),)
    assert note(connect, LIST_GROUPS.name, 1 << acls.DESCRIBE) is None
    assert note(connect, LIST_GROUPS.name, None) is None
    short = "topics: not all of them: brokers leave out those that we may not describe"
    assert note(connect, LIST_GROUPS.name, 0) == short
    assert state.count(DESCRIBE_ACLS.key) == 0
