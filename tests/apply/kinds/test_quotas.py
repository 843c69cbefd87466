"""Actions about quotas."""

from kafka_lagoon.apply.kinds.quotas import alter_quotas, number, quotas_of
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.security_samples import quotas


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
