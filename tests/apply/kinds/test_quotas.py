"""Actions about quotas, and the names of entities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.quotas import QuotaEntity
from kafka_lagoon.apply.kinds.quotas import alter_quotas, entity, number, parse_quota_name, quota_name, quotas_of
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.security_samples import quotas

NAMES = st.none() | st.text(min_size=1, max_size=8) | st.sampled_from(["<default>", "a, ip=b", 'x"y'])
ENTITIES = st.dictionaries(st.sampled_from(["user", "client-id"]), NAMES, min_size=1) | st.fixed_dictionaries(
    {"ip": NAMES}
)


@given(ENTITIES.map(entity))
def test_an_entity_is_read_back(about: QuotaEntity) -> None:
    """Entities are parsed from their names, with any characters in the names; <default> differs from a user of this name."""
    assert parse_quota_name(quota_name(about)) == about


def test_the_name_of_an_entity() -> None:
    """The name has the user first, and defaults in angle brackets."""
    assert quota_name((("client-id", None), ("user", "alice"))) == "user=alice, client-id=<default>"


@pytest.mark.parametrize(
    "name", ["", "alice", "group=a", "user=a, user=b", "user=a, ip=b", "user=", "user=a client-id=b"]
)
def test_names_that_are_no_entity(name: str) -> None:
    """Names that are no entity are refused."""
    with pytest.raises(ValueError, match=r"is not like|a quota is about"):
        parse_quota_name(name)


def test_only_what_changes_is_an_action() -> None:
    """Keys that have the wanted value already, and removals of missing keys, need no action."""
    user = (("user", "a"),)
    action = alter_quotas(user, {"x": 1, "y": 2.5, "z": 3}, {"x": 1.0, "y": 4, "z": None, "gone": None}, "file:3")
    assert action is not None
    assert (action.before, action.after, action.source) == ({"y": 2.5, "z": 3}, {"y": 4, "z": None}, "file:3")
    assert alter_quotas(user, {"x": 1}, {"x": 1.0}) is None
    assert (number(2.0), number(2.5)) == (2, 2.5)


def test_limits_are_set_and_removed(state: FakeCluster, carry_out: CarryOut) -> None:
    """Planned limits are set and removed, and others stay; a plan with outdated limits is refused by the executor."""
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=1.0, consumer_byte_rate=2.0),)
    action = alter_quotas(
        (("user", "a"),), {"producer_byte_rate": 1}, {"producer_byte_rate": None, "request_percentage": 5}
    )
    assert action is not None
    assert [result.outcome for result in carry_out([action]).results] == ["done"]
    assert quotas_of(state.quotas) == {(("user", "a"),): {"consumer_byte_rate": 2, "request_percentage": 5}}
