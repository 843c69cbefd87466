"""kafka-acls.sh takes what `lagoon permissions` prints, and makes of it the ACLs that are meant."""

import shlex

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka_lagoon.admin.acl_commands import grants
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.required_permissions import OF_JOBS
from kafka_lagoon.protocol import acls
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration import every_broker
from tests.integration.secured import Secured

ACLS, GRANTED = "org.apache.kafka.tools.AclCommand", "User:granted"
ACLS_BEFORE_4 = "kafka.admin.AclCommand"


@pytest.mark.kafka
def test_kafka_acls_creates_them(secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
    """Every type of resources that a snapshot needs, and prefixes."""
    servers = secured.kafka.bootstrap_servers
    assert main(["permissions", "--for", "snapshot", "--principal", GRANTED, "-b", servers, "--topics", "a,b-*"]) == 0
    commands = [shlex.split(line, comments=True) for line in capsys.readouterr().out.splitlines()]
    permissions: list[Permission] = [*OF_JOBS["snapshot"].permissions]
    wanted = [acl for grant in grants(GRANTED, permissions, {acls.TOPIC: ["a", "b-*"]}) for acl in grant.acls()]
    any_name = (ResourceType.ANY, None, ResourcePatternType.ANY)
    of_principal = AclBindingFilter(*any_name, GRANTED, None, AclOperation.ANY, AclPermissionType.ANY)
    try:
        for program, *arguments in filter(None, commands):
            assert program == "kafka-acls.sh"
            secured.kafka.tool(ACLS, *arguments)
        every_broker.knows_acls_of(servers, GRANTED, wanted)
    finally:
        every_broker.delete_acls(servers, of_principal)


@pytest.mark.smoke
@pytest.mark.kafka
def test_an_older_kafka_acls_refuses_only_configs_of_groups(
    kafka_392: LocalKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    """That command is apart, so that the user gets DESCRIBE on groups. Where nothing is refused the brokers have no authorizer."""
    servers = kafka_392.bootstrap_servers
    assert main(["permissions", "--for", "snapshot,ingest", "--principal", GRANTED, "-b", servers]) == 0
    lines = capsys.readouterr().out.splitlines()
    refused = []
    for line in lines:
        for _, *arguments in filter(None, [shlex.split(line, comments=True)]):
            with pytest.raises(AssertionError) as failed:
                kafka_392.tool(ACLS_BEFORE_4, *arguments)
            if "only supports operations" in str(failed.value):
                refused.append(line)
            else:
                assert "No Authorizer is configured" in str(failed.value)
    assert [line.rpartition(" --operation ")[2] for line in refused] == ["DescribeConfigs --group '*'"]
    assert lines[lines.index(refused[0]) - 1].startswith("# From Kafka 4.0 on, ")
