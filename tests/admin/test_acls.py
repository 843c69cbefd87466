"""ACLs of fake brokers."""

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, AclDescription, DescribeAclsResource
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

READ = AclDescription(principal="User:a", host="*", operation=acls.READ, permission_type=acls.ALLOW)


def test_the_filter_reaches_the_broker(state: FakeCluster, cluster: Cluster) -> None:
    """Without a filter all ACLs are described, with one only those that match."""
    resources = tuple(
        DescribeAclsResource(resource_type=resource_type, resource_name="orders", acls=(READ,))
        for resource_type in (acls.TOPIC, acls.GROUP)
    )
    state.acls = resources
    every, groups = (
        describe_acls(cluster, acl_filter, soon()) for acl_filter in (AclFilter(), AclFilter(resource_type=acls.GROUP))
    )
    assert not isinstance(every, Failure)
    assert every.resources == resources
    assert not isinstance(groups, Failure)
    assert groups.resources == resources[1:]


def test_no_acls_is_an_answer_and_no_authorizer_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """SECURITY_DISABLED says that everybody may do everything, which an empty list does not."""
    refused = describe_acls(cluster, AclFilter(), soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("SECURITY_DISABLED", "ACLs")
    state.acls = ()
    answer = describe_acls(cluster, AclFilter(), soon())
    assert not isinstance(answer, Failure)
    assert answer.resources == ()


def test_brokers_without_pattern_types_are_too_old(state: FakeCluster, cluster: Cluster) -> None:
    """DescribeAcls v0 would leave prefixed ACLs out without saying so, so it is not used."""
    state.highest[DESCRIBE_ACLS.key] = 0
    for broker in cluster.brokers.values():
        broker.close()
    refused = describe_acls(cluster, AclFilter(), soon())
    assert isinstance(refused, Failure)
    assert refused.name == "UNSUPPORTED_VERSION"
    assert state.count(DESCRIBE_ACLS.key) == 0
