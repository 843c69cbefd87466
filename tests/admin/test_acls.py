"""Descriptions of the ACLs of fake brokers."""

from collections.abc import Callable

import pytest

from kafka_lagoon.admin.acls import AclFilter, acls_of, describe_acls
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import UNSUPPORTED_VERSION
from kafka_lagoon.protocol.messages.describe_acls import (
    DESCRIBE_ACLS,
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

READ = AclDescription(principal="User:a", host="*", operation=acls.READ, permission_type=acls.ALLOW)


def test_the_filter_reaches_the_broker(state: FakeCluster, cluster: Cluster) -> None:
    """Without a filter all ACLs are described, with a filter only the ACLs that match."""
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
    """SECURITY_DISABLED means that every user may do everything, unlike an empty list."""
    refused = describe_acls(cluster, AclFilter(), soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("SECURITY_DISABLED", "ACLs")
    state.acls = ()
    answer = describe_acls(cluster, AclFilter(), soon())
    assert not isinstance(answer, Failure)
    assert answer.resources == ()


def _rules(name: str) -> DescribeAclsResource:
    rule = AclDescription(principal="User:a", host="*", operation=3, permission_type=3)
    return DescribeAclsResource(resource_type=acls.TOPIC, resource_name=name, pattern_type=acls.LITERAL, acls=(rule,))


@pytest.mark.parametrize("highest", [0, 1])
@pytest.mark.parametrize(
    ("pattern_type", "name", "expected"),
    [
        (acls.ANY, None, {"orders", "*"}),
        (acls.LITERAL, "orders", {"orders"}),
        (acls.MATCH, "orders", {"orders", "*"}),
        (acls.MATCH, None, {"orders", "*"}),
    ],
)
def test_brokers_before_pattern_types(
    state: FakeCluster,
    connect: Callable[..., Cluster],
    highest: int,
    pattern_type: int,
    name: str | None,
    expected: set[str],
) -> None:
    """DescribeAcls v0 knows only literal ACLs: a request for any pattern type returns the same ACLs as newer brokers do."""
    state.acls = (_rules("orders"), _rules("*"))
    state.highest[DESCRIBE_ACLS.key] = highest
    answer = describe_acls(connect(), AclFilter(pattern_type=pattern_type, resource_name=name), soon())
    assert isinstance(answer, DescribeAclsResponse)
    assert {one.resource_name for one in acls_of(answer)} == expected


def test_no_prefixes_before_pattern_types(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Old brokers have no prefixed ACLs."""
    state.acls, state.highest[DESCRIBE_ACLS.key] = (_rules("orders"),), 0
    answer = describe_acls(connect(), AclFilter(pattern_type=acls.PREFIXED), soon())
    assert isinstance(answer, DescribeAclsResponse)
    assert answer.resources == ()


def test_an_answer_that_the_version_is_unsupported(state: FakeCluster, cluster: Cluster) -> None:
    """It is a failure with Kafka's code: only brokers that do not offer the version are asked for literal ACLs instead."""
    state.acls = (_rules("orders"),)
    refused = Altered(lambda _: DescribeAclsResponse(error_code=UNSUPPORTED_VERSION, resources=()))
    state.faults.append(Fault(DESCRIBE_ACLS.key, refused, node_id=1))
    answer = describe_acls(cluster, AclFilter(), soon())
    assert isinstance(answer, Failure)
    assert (answer.code, answer.is_too_old) == (UNSUPPORTED_VERSION, False)
