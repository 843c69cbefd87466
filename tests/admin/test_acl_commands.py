"""Permissions become the ACLs that grant them; integration/test_grants.py runs the commands."""

from kafka_lagoon.admin.acl_commands import grants
from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol import acls

LAGOON = "User:lagoon"


def test_implied_operations_are_left_out() -> None:
    """READ brings DESCRIBE, so one ACL grants both; DESCRIBE_CONFIGS is another operation."""
    permissions = [
        Permission(operation, acls.TOPIC, "") for operation in (acls.DESCRIBE, acls.READ, acls.DESCRIBE_CONFIGS)
    ]
    (grant,) = grants(LAGOON, permissions)
    assert list(grant.acls()) == [
        Acl(acls.TOPIC, "*", acls.LITERAL, LAGOON, "*", operation, acls.ALLOW)
        for operation in (acls.READ, acls.DESCRIBE_CONFIGS)
    ]
    assert grant.command() == (
        "kafka-acls.sh --add --allow-principal User:lagoon --operation Read --operation DescribeConfigs --topic '*'"
    )


def test_names_and_prefixes() -> None:
    """Names and prefixes need commands of their own; types without names, and the cluster, mean all."""
    permissions = [Permission(acls.READ, kind, "") for kind in (acls.TOPIC, acls.GROUP)]
    permissions.append(Permission(acls.DESCRIBE, acls.CLUSTER, ""))
    names = {acls.TOPIC: ["orders", "pay-*", "it's", "orders"]}
    commands = [grant.command("--bootstrap-server", "a:1") for grant in grants("User:a b", permissions, names)]
    head = "kafka-acls.sh --bootstrap-server a:1 --add --allow-principal 'User:a b' --operation"
    assert commands == [
        f"""{head} Read --topic orders --topic 'it'"'"'s'""",
        f"{head} Read --topic pay- --resource-pattern-type prefixed",
        f"{head} Read --group '*'",
        f"{head} Describe --cluster",
    ]
