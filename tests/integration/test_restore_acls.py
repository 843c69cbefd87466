"""ACLs that a restore creates in a cluster with an authorizer, as kafka-acls lists them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.integration import every_broker
from tests.integration.administered import Administered
from tests.integration.state import commit, create_topics, produce
from tests.integration.test_admin_security import ACLS, wait_for_acls
from tests.jobs.commands import here, rows

pytestmark = pytest.mark.timeout(300)
OLD, NEW, GROUP, PRINCIPAL = "with-acls", "with-acls-again", "reads-with-acls", "User:restored"
THERE = ("--topic", "with-", "--resource-pattern-type", "prefixed", "--operation", "DescribeConfigs")
GIVEN = (
    ("--topic", OLD, "--operation", "Read", "--operation", "Write", "--allow-host", "10.0.0.1"),
    THERE,
    ("--topic", "another", "--operation", "Read"),
    ("--group", GROUP, "--operation", "Read"),
    ("--group", "another", "--operation", "Read"),
    ("--topic", "*", "--operation", "Describe"),
)
LISTED = {
    ("ALLOW", "READ", "TOPIC", "LITERAL", OLD, "10.0.0.1"),
    ("ALLOW", "WRITE", "TOPIC", "LITERAL", OLD, "10.0.0.1"),
    ("ALLOW", "DESCRIBE_CONFIGS", "TOPIC", "PREFIXED", "with-", "*"),
    ("ALLOW", "READ", "TOPIC", "LITERAL", "another", "*"),
    ("ALLOW", "READ", "GROUP", "LITERAL", GROUP, "*"),
    ("ALLOW", "READ", "GROUP", "LITERAL", "another", "*"),
    ("ALLOW", "DESCRIBE", "TOPIC", "LITERAL", "*", "*"),
}
RESTORED = {
    ("ALLOW", "READ", "TOPIC", "LITERAL", NEW, "10.0.0.1"),
    ("ALLOW", "WRITE", "TOPIC", "LITERAL", NEW, "10.0.0.1"),
    ("ALLOW", "DESCRIBE_CONFIGS", "TOPIC", "PREFIXED", "with-", "*"),
    ("ALLOW", "READ", "GROUP", "LITERAL", GROUP, "*"),
}


def add_acls(administered: Administered, *some: Sequence[str]) -> None:
    """Add ACLs of the principal with kafka-acls."""
    for about in some:
        administered.tool(ACLS, "--add", "--allow-principal", PRINCIPAL, *about)


def delete_acls(administered: Administered) -> None:
    """Delete all ACLs of the principal."""
    of_principal = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, PRINCIPAL, None, AclOperation.ANY, AclPermissionType.ANY
    )
    every_broker.delete_acls(administered.bootstrap_servers, of_principal)


@pytest.fixture
def no_acls(administered: Administered) -> Iterator[None]:
    """Deletes the ACLs of the test."""
    yield
    delete_acls(administered)


@pytest.mark.proof
@pytest.mark.usefixtures("spark", "no_acls")
def test_acls_come_along(administered: Administered, tmp_path: Path) -> None:
    """ACLs of topics, under their new names, of prefixes, and of groups with offsets are created; general ones are named.

    What the target has is left, and each that is created is a row of admin_actions.
    """
    create_topics(administered.bootstrap_servers, [NewTopic(OLD, 1, 1)])
    produce(administered.bootstrap_servers, OLD, 10)
    commit(administered.bootstrap_servers, GROUP, {(OLD, 0): 4})
    add_acls(administered, *GIVEN)
    wait_for_acls(administered, PRINCIPAL, LISTED)
    to_cluster = ["--warehouse", str(tmp_path), *administered.arguments()]
    assert here("ingest", "--topics", OLD, *to_cluster).returncode == 0
    assert here("snapshot", *to_cluster).returncode == 0
    delete_acls(administered)
    add_acls(administered, THERE)
    wait_for_acls(administered, PRINCIPAL, {("ALLOW", "DESCRIBE_CONFIGS", "TOPIC", "PREFIXED", "with-", "*")})
    options = ["--from-cluster", "default", "--to-cluster", "default", "--topics", OLD, "--rename", f"{OLD}={NEW}"]
    done = here("restore", "--yes", *options, "--with-acls", "--with-offsets", *to_cluster)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is about every topic" in done.stdout + done.stderr
    wait_for_acls(administered, PRINCIPAL, RESTORED)
    created = [row for row in rows(tmp_path, "admin_actions") if row["kind"] == "create_acl"]
    assert [row["outcome"] for row in created if row["event"] == "finished"] == ["done"] * 3
