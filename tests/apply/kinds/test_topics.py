"""Topics are created, extended and deleted by actions; without a response the topic is described."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.topics import CREATE_TOPIC, DELETE_TOPIC, create_topic, delete_topic, extend_topic
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.protocol.error_codes import INVALID_PARTITIONS, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.create_partitions import CREATE_PARTITIONS
from kafka_lagoon.protocol.messages.create_topics import CREATE_TOPICS
from kafka_lagoon.protocol.messages.delete_topics import DELETE_TOPICS
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from tests.admin.conftest import RequestsOf, soon
from tests.apply.kinds.conftest import CarryOut
from tests.apply.kinds.endings import answered, endings, lost, not_done, right, timed_out
from tests.fake.cluster import FakeCluster


def deletion(cluster: Cluster) -> Action:
    topic = describe_topics(cluster, ["orders"], soon())["orders"]
    assert isinstance(topic, MetadataTopic)
    return delete_topic(topic)


def test_create_extend_delete(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """All three are carried out in one plan, deletions last."""
    actions = [deletion(cluster), create_topic("new", partitions=3, configs={"flush.ms": "5"})]
    assert endings(carry_out(actions)) == [("done", None), ("done", None)]
    assert endings(carry_out([extend_topic("new", 3, 4)])) == [("done", None)]
    assert {name: len(topic.partitions) for name, topic in state.topics.items()} == {"new": 4}


def test_requests_that_a_broker_has_repeated(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """A broker sends a request to the controller twice if it moves: that all is done already is no failure then."""
    state.faults += [right(CREATE_TOPICS.key), answered(CREATE_TOPICS.key, TOPIC_ALREADY_EXISTS)]
    state.faults += [right(CREATE_PARTITIONS.key), answered(CREATE_PARTITIONS.key, INVALID_PARTITIONS)]
    state.faults += [answered(DELETE_TOPICS.key, UNKNOWN_TOPIC_ID)]
    unasked = deletion(cluster)
    assert endings(carry_out([create_topic("new", partitions=3)])) == [("done", "TOPIC_ALREADY_EXISTS")]
    assert endings(carry_out([extend_topic("new", 3, 4)])) == [("done", "INVALID_PARTITIONS")]
    assert endings(carry_out([unasked]))[0][0] == "done"
    assert sorted(state.topics) == ["new"]


def test_everything_about_a_topic_is_sent(
    state: FakeCluster, cluster: Cluster, carry_out: CarryOut, requests_of: RequestsOf
) -> None:
    """Numbers, or none for the brokers' own, and the brokers of new partitions; a deletion names the topic by its id alone."""
    created, extended, deleted = map(requests_of, (CREATE_TOPICS, CREATE_PARTITIONS, DELETE_TOPICS))
    carry_out([create_topic("a", partitions=9, replication_factor=3), create_topic("b")])
    assert [(one.name, one.num_partitions, one.replication_factor) for one in created[-1].topics] == [
        ("a", 9, 3),
        ("b", -1, -1),
    ]
    carry_out([extend_topic("a", 9, 11, {10: [3, 1], 9: [1, 2]})])
    carry_out([extend_topic("b", 1, 2)])
    placed, anywhere = (request.topics[0] for request in extended[1::2])  # each is validated before
    assert (placed.count, [one.broker_ids for one in placed.assignments]) == (11, [(1, 2), (3, 1)])
    assert (anywhere.count, anywhere.assignments) == (2, None)
    topic_id = state.topics["orders"].topic_id
    carry_out([deletion(cluster)])
    assert ([one.topic_id for one in deleted[-1].topics], deleted[-1].topic_names) == ([topic_id], ())


def test_an_extension_that_is_not_there_may_come_later(state: FakeCluster, carry_out: CarryOut) -> None:
    """The topic has as many partitions as before."""
    undo = not_done(CREATE_PARTITIONS.key, state.topics["orders"].partitions.pop)
    state.faults += [right(CREATE_PARTITIONS.key), undo]
    assert endings(carry_out([extend_topic("orders", 6, 7)])) == [("unknown", "REQUEST_TIMED_OUT")]


def test_a_timeout_is_no_failure(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """Topics are described after a timeout: they were created, extended and deleted in spite of the error."""
    creation = create_topic("new", partitions=3, configs={"flush.ms": "5"})
    # Requests of the validation and of the execution.
    state.faults += [right(CREATE_TOPICS.key), timed_out(CREATE_TOPICS.key)]
    state.faults += [right(CREATE_PARTITIONS.key), timed_out(CREATE_PARTITIONS.key), lost(DELETE_TOPICS.key)]
    assert endings(carry_out([creation])) == [("done", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([extend_topic("new", 3, 4)])) == [("done", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([deletion(cluster)])) == [("done", "CONNECTION_LOST")]


def test_what_is_not_there_may_come_later(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The topics are described and have not changed; a frozen broker may still do it. Nothing was sent twice."""
    creation, orders = create_topic("new", partitions=3), state.topics["orders"]
    undo = not_done(CREATE_TOPICS.key, lambda: state.topics.pop("new"))
    state.faults += [right(CREATE_TOPICS.key), undo]
    state.faults.append(not_done(DELETE_TOPICS.key, lambda: state.topics.update(orders=orders)))
    assert endings(carry_out([creation])) == [("unknown", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([deletion(cluster)])) == [("unknown", "REQUEST_TIMED_OUT")]
    assert (state.count(CREATE_TOPICS.key), state.count(DELETE_TOPICS.key)) == (2, 1)


def test_another_topic_of_the_name_is_not_ours() -> None:
    """A topic that another client has created, with other partitions or configs, does not make a creation done."""
    action = create_topic("new", partitions=3, configs={"flush.ms": "5"})
    theirs = {
        "topic_id": "x",
        "partitions": 4,
        "replication_factor": 1,
        "assignments": {},
        "configs": {"flush.ms": "5"},
    }
    assert not CREATE_TOPIC.is_done(action, theirs)
    assert not CREATE_TOPIC.is_done(action, {**theirs, "partitions": 3, "configs": {}})
    assert CREATE_TOPIC.is_done(action, {**theirs, "partitions": 3})
    spaced = create_topic("new", partitions=4, configs={"flush.ms": " 05"})  # as brokers parse it
    assert CREATE_TOPIC.is_done(spaced, theirs)
    placed = create_topic("new", assignments={0: [1, 2]})
    assert CREATE_TOPIC.is_done(placed, {**theirs, "assignments": {"0": [1, 2]}})
    assert not CREATE_TOPIC.is_done(placed, {**theirs, "assignments": {"0": [2, 1]}})


def test_a_topic_that_was_re_created_is_deleted_already(cluster: Cluster, carry_out: CarryOut) -> None:
    """The topic is identified by its id: the new topic stays, and a plan for the old one is refused."""
    action = deletion(cluster)
    assert action.before
    assert DELETE_TOPIC.is_done(action, {**action.before, "topic_id": "another"})
    assert not DELETE_TOPIC.is_done(action, action.before)
    without_id = {**action.before, "topic_id": None}  # brokers are upgraded to Kafka 2.8 meanwhile, or one of them is
    assert not DELETE_TOPIC.is_done(action, without_id)
    assert not DELETE_TOPIC.is_done(replace(action, before=without_id), action.before)
    assert not DELETE_TOPIC.is_done(replace(action, before=without_id), without_id)
    older = Action(kind=action.kind, resource=action.resource, before={**action.before, "topic_id": "old"}, after=None)
    with pytest.raises(PlanOutdated):
        carry_out([older])
