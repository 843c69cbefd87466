"""The permissions in docs/permissions.md for verbs of `lagoon admin` are sufficient and necessary.

Here are the verbs about ACLs, quotas, users, groups and transactions; those about topics, configs and brokers are tried where
they are tested. What is refused changes nothing, so a verb is tried with one permission less first, and with all of them then.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.admin.acl_changes import create_acls, delete_acls
from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol import acls
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.admin_verbs import admin
from tests.integration.administered import Administered, soon
from tests.integration.hanging import hang, unverified
from tests.integration.kafka_tools import CONFIGS
from tests.integration.secured import LIMITED
from tests.integration.state import commit, create_topics, produce
from tests.permissions import REQUIRED_PERMISSIONS

pytestmark = pytest.mark.timeout(300)
TOPIC, GROUP, ID = "permitted", "permitted-group", "permitted-id"
_NAMES = {acls.TOPIC: TOPIC, acls.GROUP: GROUP, acls.TRANSACTIONAL_ID: ID, acls.CLUSTER: acls.CLUSTER_NAME}
_RULE = ("--principal", "User:somebody", "--resource-type", "topic", "--resource-name", TOPIC, "--operation", "read")
# Verb -> arguments. Each leaves the state that the next one needs.
RUN: Mapping[str, Sequence[str]] = {
    "admin create-acl": _RULE,
    "admin delete-acl": ("--principal", "User:somebody", "--allow-deletions"),
    "admin alter-quotas": ("--user", "somebody", "request_percentage=50"),
    "admin alter-scram": ("somebody", "--password", "env:PERMITTED_PASSWORD"),
    "admin delete-scram": ("somebody", "--allow-deletions"),
    "admin create-token": (),
    "admin reset-offsets": (GROUP, "--topic", TOPIC, "--to", "earliest"),
    "admin delete-offsets": (GROUP, "--topic", TOPIC, "--allow-deletions"),
    "admin delete-group": (GROUP, "--allow-deletions"),
    "admin abort-transaction": (f"{TOPIC}-0",),
    "admin fence-producer": (ID,),
}


@pytest.fixture(scope="module", autouse=True)
def resources(administered: Administered) -> Iterator[None]:
    """A topic with records and a hanging transaction, a group and a transactional id."""
    servers = administered.bootstrap_servers
    create_topics(servers, [NewTopic(TOPIC, 1, 3)])
    produce(servers, TOPIC, 10)
    commit(servers, GROUP, {(TOPIC, 0): 5})
    producer = Producer({"bootstrap.servers": servers, "transactional.id": ID})
    producer.init_transactions(60)
    with unverified(administered.kafka), administered.cluster() as cluster:
        hang(cluster, TopicPartition(TOPIC, 0), None, CLOCK.now_ms() - 3_600_000, soon())
    yield
    administered.tool(
        CONFIGS,
        *("--alter", "--entity-type", "users", "--entity-name", "somebody"),
        "--delete-config",
        "request_percentage",
    )


@contextmanager
def granted(
    administered: Administered, permissions: Sequence[Permission], names: Mapping[int, str] = _NAMES
) -> Iterator[None]:
    """Give the user `limited` these permissions at every broker until the context ends."""
    rules = [
        Acl(
            one.resource_type,
            names[one.resource_type],
            acls.LITERAL,
            f"User:{LIMITED}",
            "*",
            one.operation,
            acls.ALLOW,
        )
        for one in permissions
    ]
    with administered.cluster() as cluster:
        assert not create_acls(cluster, rules, soon()).failures
        every_broker.knows_acls(administered.bootstrap_servers, present=rules)
        try:
            yield
        finally:
            assert not delete_acls(cluster, rules, soon()).failures
            every_broker.knows_acls(administered.bootstrap_servers, absent=rules)


@pytest.mark.parametrize("name", RUN)
def test_permissions_are_enough_and_least(
    administered: Administered, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With one permission less the exit code shows it; with all of them the verb is carried out."""
    monkeypatch.setenv("PERMITTED_PASSWORD", "Yx3-of-a-minute")
    command, permissions = [name.split()[1], *RUN[name]], REQUIRED_PERMISSIONS[name].permissions
    for permission in permissions:
        if (name, permission.resource_type) == ("admin abort-transaction", acls.TRANSACTIONAL_ID):
            continue  # without it a line says that some may be hidden, and the verb does more instead of less
        with granted(administered, [one for one in permissions if one is not permission]):
            lacking = admin(administered, capsys, *command, user=LIMITED)
        assert lacking.exit_code in (1, 3), f"{permission} is not needed"
    with granted(administered, permissions):
        whole = admin(administered, capsys, *command, user=LIMITED)
    assert whole.exit_code == 0, whole.lines
    assert set(whole.outcomes().values()) == {"done"}
    assert ("make sure that this user may describe all" in whole.lines) == (name == "admin abort-transaction")
