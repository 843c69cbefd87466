"""ACLs that are created and deleted on fake brokers."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.acl_changes import create_acls, delete_acls
from kafka_lagoon.admin.acls import Acl, AclFilter, acls_of, describe_acls
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS
from kafka_lagoon.protocol.messages.delete_acls import DELETE_ACLS
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault


def acl(name: str, pattern_type: int = acls.LITERAL) -> Acl:
    return Acl(acls.TOPIC, name, pattern_type, "User:a", "*", acls.READ, acls.ALLOW)


@pytest.mark.usefixtures("altering_apis")
def test_create_acls_and_delete_acls_exactly(state: FakeCluster, cluster: Cluster) -> None:
    """Creating an ACL that exists is a success; a deletion deletes exactly that ACL, and reports if it existed."""
    state.acls = ()
    literal, prefixed = acl("orders"), acl("orders", acls.PREFIXED)
    assert create_acls(cluster, [literal, prefixed, literal], soon()).answers == {literal: None, prefixed: None}
    assert not create_acls(cluster, [literal], soon()).failures
    assert delete_acls(cluster, [prefixed, acl("other")], soon()).answers == {prefixed: 1, acl("other"): 0}
    described = describe_acls(cluster, AclFilter(), soon())
    assert not isinstance(described, Failure)
    assert acls_of(described) == [literal]


@pytest.mark.usefixtures("altering_apis")
def test_a_refused_acl_says_what_the_broker_says(cluster: Cluster) -> None:
    """Each failure names its ACL, and has the broker's own message."""
    failures = create_acls(cluster, [acl("orders"), acl("bills")], soon()).failures
    assert {(str(one.scope), one.name, one.message) for one in failures.values()} == {
        ("ACL ALLOW User:a READ TOPIC orders", "SECURITY_DISABLED", "No Authorizer is configured."),
        ("ACL ALLOW User:a READ TOPIC bills", "SECURITY_DISABLED", "No Authorizer is configured."),
    }


@pytest.mark.usefixtures("altering_apis")
def test_an_acl_that_cannot_be_deleted_fails_alone(state: FakeCluster, cluster: Cluster) -> None:
    """An error of a matching ACL is the failure of that ACL."""
    state.acls = ()
    create_acls(cluster, [acl("a"), acl("b")], soon())

    def refuse(answer: Any) -> Any:
        first, second = answer.filter_results
        match = replace(first.matching_acls[0], error_code=-1, error_message="disk full")
        return replace(answer, filter_results=(replace(first, matching_acls=(match,)), second))

    state.faults = [Fault(DELETE_ACLS.key, Altered(refuse))]
    gathered = delete_acls(cluster, [acl("a"), acl("b")], soon())
    assert gathered.answers == {acl("b"): 1}
    assert gathered.failures[acl("a")].message == "disk full"


@pytest.mark.usefixtures("altering_apis")
def test_acls_are_sent_again(state: FakeCluster, cluster: Cluster) -> None:
    """Both requests have the same effect when they are repeated, so a lost answer costs nothing."""
    state.acls = ()
    state.faults = [Fault(CREATE_ACLS.key, Close())]
    assert not create_acls(cluster, [acl("a")], soon()).failures
    state.faults = [Fault(DELETE_ACLS.key, Close())]
    assert not delete_acls(cluster, [acl("a")], soon()).failures
    assert state.acls == ()
