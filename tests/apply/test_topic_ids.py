"""An action is carried out on the topic that it was planned for, and not on another one that has its name now."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_lagoon.admin.config_values import ConfigResource, config_values
from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.apply.action import Action, Plan, Resource
from kafka_lagoon.apply.execution import check, make_plan
from kafka_lagoon.apply.kinds.configs import change_configs
from kafka_lagoon.apply.kinds.groups import alter_offsets_action
from kafka_lagoon.apply.kinds.partitions import delete_records_before
from kafka_lagoon.apply.kinds.registry import KINDS
from kafka_lagoon.apply.kinds.topics import create_topic, extend_topic
from kafka_lagoon.apply.topic_ids import other_topics, with_topic_ids
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import NO_ID, uuid_text
from tests.admin.conftest import altering_apis, cluster, soon, topic_apis
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Fault

__all__ = ["altering_apis", "cluster", "topic_apis"]  # fixtures of tests/admin
pytestmark = pytest.mark.usefixtures("altering_apis", "topic_apis")

OTHER = bytes(15) + b"\7"
NAMES = {  # a resource of each kind that is about a topic which exists, here a-1
    "create_partitions": Resource("topic", "a-1"),
    "alter_configs": Resource("topic", "a-1"),
    "cancel_reassignment": Resource("partition", "a-1-0"),
    "reassign_partition": Resource("partition", "a-1-0"),
    "move_replica": Resource("replica", "a-1-0 on broker 2"),
    "elect_leaders": Resource("partition", "a-1-0"),
    "alter_offsets": Resource("group_partition", "my group a-1-0"),
    "delete_offsets": Resource("group_partition", "my group a-1-0"),
    "alter_share_offsets": Resource("share_group_partition", "my group a-1-0"),
    "delete_share_offsets": Resource("share_group_topic", "my group a-1"),
    "delete_records": Resource("partition", "a-1-0"),
}


def test_kinds_name_their_topics() -> None:
    """Deletions of topics are sent with the id, which is in their state; a hanging transaction is known by its offset."""
    assert {name: kind.topic_of(NAMES[name]) for name, kind in KINDS.items() if name in NAMES} == dict.fromkeys(
        NAMES, "a-1"
    )
    others = KINDS.keys() - NAMES.keys()
    assert {KINDS[name].topic_of(Resource("topic", "a-1-0")) for name in others} == {None}
    assert KINDS["alter_configs"].topic_of(Resource("group", "a-1")) is None


@pytest.fixture
def actions(state: FakeCluster, cluster: Cluster) -> Sequence[Action]:
    """Actions whose resources look the same in a topic that is created again."""
    state.groups = {"billing": FakeGroup(coordinator_id=2)}
    configs = config_values(cluster, [resource := ConfigResource(TOPIC, "orders")], soon())[resource]
    assert not isinstance(configs, Failure)
    planned = [
        alter_offsets_action(GroupPartition("billing", "orders", 0), None, Commit(9)),
        change_configs(resource, configs, {"flush.ms": "5"}),
        delete_records_before(TopicPartition("orders", 1), 0, 7),
        extend_topic("orders", len(state.topics["orders"].partitions), 50),
        create_topic("new", partitions=1),
    ]
    return with_topic_ids(cluster, [action for action in planned if action], soon())


def plan_of(*actions: Action) -> Plan:
    return make_plan("test", "id", actions)


def test_a_topic_that_was_created_again(state: FakeCluster, cluster: Cluster, actions: Sequence[Action]) -> None:
    """Nothing is sent to it, whatever the kind of the action. Offsets and retention of the old one were given to it."""
    topic_id = uuid_text(state.topics["orders"].topic_id)
    assert [action.topic_id for action in actions] == [topic_id, topic_id, topic_id, topic_id, None]
    assert check(cluster, plan_of(*actions), soon()) == {}
    state.topics["orders"].topic_id = OTHER
    for action in actions[:-1]:
        with pytest.raises(PlanOutdated) as raised:
            check(cluster, plan_of(action), soon())
        assert raised.value.changes == ("topic orders was deleted and created again",)
    assert check(cluster, plan_of(actions[-1]), soon()) == {}


def test_the_plan_for_another_topic_has_another_id(
    state: FakeCluster, cluster: Cluster, actions: Sequence[Action]
) -> None:
    """`lagoon apply --plan ID` refuses it then."""
    state.topics["orders"].topic_id = OTHER
    cluster.refresh({"orders"}, soon())
    assert plan_of(*with_topic_ids(cluster, actions, soon())).id != plan_of(*actions).id


def test_a_topic_that_was_not_seen_yet(state: FakeCluster, cluster: Cluster) -> None:
    """It is described for its id. A topic that does not exist has none."""
    state.topics["late"] = state.topics["orders"]
    late, absent = extend_topic("late", 1, 2), extend_topic("absent", 1, 2)
    assert [one.topic_id for one in with_topic_ids(cluster, [late, absent], soon())] == [
        uuid_text(state.topics["late"].topic_id),
        None,
    ]


def test_brokers_that_give_no_ids(state: FakeCluster, cluster: Cluster, actions: Sequence[Action]) -> None:
    """Before Kafka 2.8 nothing tells the two topics apart, and a plan from after an upgrade is carried out before it."""
    state.topics["orders"].topic_id = NO_ID
    assert check(cluster, plan_of(*actions), soon()) == {}


def test_a_topic_that_is_gone(state: FakeCluster, cluster: Cluster, actions: Sequence[Action]) -> None:
    """The states of its resources show that."""
    del state.topics["orders"]
    assert other_topics(cluster, actions, soon()) == {}


def test_a_topic_that_is_not_described(state: FakeCluster, cluster: Cluster, actions: Sequence[Action]) -> None:
    """It is not known whether it is the same one, so its actions fail, and others are carried out."""

    def refused(answer: MetadataResponse) -> MetadataResponse:
        topics = [replace(topic, error_code=29) if topic.name == "orders" else topic for topic in answer.topics]
        return replace(answer, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(refused), times=100))
    commit, *_, created = actions
    failures = check(cluster, plan_of(commit, created), soon())
    assert {(kind, failure.name) for (kind, _), failure in failures.items()} == {
        ("alter_offsets", "TOPIC_AUTHORIZATION_FAILED")
    }
