"""A real cluster that hides a part of its state: missing parts are reported, and the others are complete."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclOperation, AclPermissionType, AdminClient, NewTopic, ResourceType

from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.cluster_rows import TopicRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot
from tests.integration import every_broker
from tests.integration.secured import add_rules, allow
from tests.integration.state import commit, create_topics, produce
from tests.integration.test_against_kafka_tools import snapshot_of

pytestmark = pytest.mark.kafka
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One broker with an authorizer, two topics, and a group that reads both."""
    with LocalKafka(tmp_path_factory.mktemp("guarded"), properties=AUTHORIZER) as kafka:
        servers = kafka.bootstrap_servers
        create_topics(servers, [NewTopic("seen", 1, 1), NewTopic("hidden", 1, 1)])
        for topic in ("seen", "hidden"):
            produce(servers, topic, 20)
        commit(servers, "reader", {("seen", 0): 5, ("hidden", 0): 5})
        yield kafka


def trusted(snapshot: Snapshot) -> dict[str, str | None]:
    return {row.api: row.visibility for row in snapshot.of(CoverageRow)}


@pytest.mark.proof
def test_what_permissions_hide_is_not_taken_for_absent(guarded: LocalKafka) -> None:
    """At first everything is proven complete. Then a topic is hidden, once because only another user may read it, and once
    with the cluster's description: the lists are shorter without any error, and they are not called complete any more.
    """
    before = snapshot_of(guarded)
    assert {row.topic for row in before.of(TopicRow)} >= {"seen", "hidden"}
    assert (trusted(before)["ListGroups"], trusted(before)["Metadata"]) == ("complete", "complete")

    add_rules(guarded, allow(ResourceType.TOPIC, "hidden", AclOperation.READ, user="other"))
    without = snapshot_of(guarded)
    assert {row.topic for row in without.of(TopicRow)} & {"seen", "hidden"} == {"seen"}
    assert (trusted(without)["ListGroups"], trusted(without)["Metadata"]) == ("complete", "unknown")

    us, deny = "ANONYMOUS", AclPermissionType.DENY
    needed = (AclOperation.CLUSTER_ACTION, AclOperation.ALTER, AclOperation.CREATE, AclOperation.ALTER_CONFIGS)
    add_rules(guarded, *(allow(ResourceType.BROKER, "kafka-cluster", one, user=us) for one in needed))
    denied = allow(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE, user=us, permission=deny)
    hidden = allow(ResourceType.TOPIC, "hidden", AclOperation.DESCRIBE, user=us, permission=deny)
    add_rules(guarded, hidden)
    admin = AdminClient({"bootstrap.servers": guarded.bootstrap_servers})  # its requests end with it
    (creation,) = admin.create_acls([denied]).values()
    creation.result(30)
    every_broker.have_applied_changes(guarded.bootstrap_servers)  # we may not read ACLs any more

    after = snapshot_of(guarded)
    assert {row.topic for row in after.of(TopicRow)} & {"seen", "hidden"} == {"seen"}
    assert trusted(after)["Metadata"] == "unknown"
    assert trusted(after)["OffsetFetch"] == "unknown"
    assert trusted(after)["ListGroups"] == "filtered"
    lag = {(row.topic, row.partition): row.lag for row in after.of(ConsumerLagRow) if row.group_id == "reader"}
    assert lag == {("seen", 0): 15}
    refused = {(row.api, row.error_name) for row in after.of(CollectionFailureRow)}
    described = ("DescribeAcls", "DescribeLogDirs", "DescribeQuorum", "DescribeUserScramCredentials")
    assert refused == {(api, "CLUSTER_AUTHORIZATION_FAILED") for api in (*described, "ListPartitionReassignments")}
    assert after.published.status == "partial"
