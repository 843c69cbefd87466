"""Actions about ACLs, and the line that names one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.acls import (
    CREATABLE,
    CREATE_ACL,
    acl_line,
    acl_of,
    acl_state,
    create_acl,
    delete_acl,
    has_names,
)
from kafka_lagoon.apply.kinds.names import quoted
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol import acls
from tests.admin.conftest import soon
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault

ACL = Acl(acls.TOPIC, "orders", acls.LITERAL, "User:alice", "*", acls.READ, acls.ALLOW)
TEXTS = st.text(min_size=1, max_size=10)
ACLS = st.builds(
    Acl,
    resource_type=st.sampled_from(sorted(CREATABLE["resource_type"].values())),
    resource_name=TEXTS,
    pattern_type=st.sampled_from(sorted(CREATABLE["pattern_type"].values())),
    principal=TEXTS,
    host=TEXTS,
    operation=st.sampled_from(sorted(CREATABLE["operation"].values())),
    permission=st.sampled_from(sorted(CREATABLE["permission"].values())),
)


def test_the_line_of_an_acl() -> None:
    """The line spells an ACL for people."""
    assert acl_line(ACL) == "ALLOW User:alice READ topic LITERAL orders from *"
    spaced = ACL._replace(principal="User:CN=a b,O=c", resource_name="x y")
    assert acl_line(spaced) == 'ALLOW "User:CN=a b,O=c" READ topic LITERAL "x y" from *'


@given(ACLS)
def test_an_acl_is_read_back(acl: Acl) -> None:
    """An ACL is read from its state, with any characters in its names, and its line has all of the state, word by word."""
    state = acl_state(acl)
    assert acl_of(state) == acl
    names = [state["permission"], acl.principal, state["operation"], state["resource_type"].lower()]
    names += [state["pattern_type"], acl.resource_name, "from", acl.host]
    assert acl_line(acl) == " ".join(map(quoted, names))


def test_numbers_of_a_newer_release() -> None:
    """Such numbers have no names here, so there is no action about such an ACL."""
    assert has_names(ACL)
    assert not has_names(ACL._replace(operation=99))
    assert not has_names(ACL._replace(pattern_type=acls.MATCH))


def test_create_and_delete(state: FakeCluster, carry_out: CarryOut) -> None:
    """ACLs are created and deleted by actions of their own, and a deletion needs its guard."""
    state.acls = ()
    other = ACL._replace(operation=acls.WRITE)
    assert [result.outcome for result in carry_out([create_acl(ACL), create_acl(other)]).results] == ["done", "done"]
    with pytest.raises(ConfigError, match="allow-deletions"):
        carry_out([delete_acl(ACL)], allowed=())
    assert len(state.acls) == 2
    assert [result.outcome for result in carry_out([delete_acl(ACL)], allowed=[Guard.DELETIONS]).results] == ["done"]
    assert len(state.acls) == 1


@pytest.mark.usefixtures("altering_apis")
def test_where_acls_cannot_be_read(state: FakeCluster, cluster: Cluster) -> None:
    """The existence of the ACL is unknown, and nothing is decided."""
    (failure,) = CREATE_ACL.read(cluster, [create_acl(ACL)], soon()).values()
    assert isinstance(failure, Failure)
    assert failure.name == "SECURITY_DISABLED"
    state.acls = ()
    assert list(CREATE_ACL.read(cluster, [create_acl(ACL)], soon()).values()) == [None]


def test_a_refused_acl_fails_alone(state: FakeCluster, carry_out: CarryOut) -> None:
    """After a lost response the idempotent request is repeated, so no outcome is unknown."""
    state.acls = ()
    state.faults = [Fault(30, Close())]
    (result,) = carry_out([create_acl(ACL)]).results
    assert (result.outcome, result.failure) == ("done", None)
