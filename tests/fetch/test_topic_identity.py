"""One broker's word against the archive counts only if every live broker gives it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.fetch.topic_identity import (
    BelievedTopics,
    ask_every_broker,
    believed_topics,
    contradicts,
    is_same_id,
    missing_partitions,
    said_by_all,
    same_for_leaders,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

Connect = Callable[..., Cluster]
OLD_ID = (77).to_bytes(16, "big")


def unknown(answer: MetadataResponse) -> MetadataResponse:
    """A broker that knows none of the topics."""
    for topic in answer.topics:
        topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]
    return answer


def of_nothing(answer: MetadataResponse) -> MetadataResponse:
    """A broker that has just started: no brokers, no topics."""
    unknown(answer).brokers = ()  # type: ignore[misc]
    return answer


def older_id(answer: MetadataResponse) -> MetadataResponse:
    """A broker that knows an earlier topic of the name."""
    for topic in answer.topics:
        topic.topic_id = OLD_ID  # type: ignore[misc]
    return answer


def fewer_partitions(answer: MetadataResponse) -> MetadataResponse:
    """A broker that does not know of the last partition yet."""
    for topic in answer.topics:
        topic.partitions = topic.partitions[:-1]  # type: ignore[misc]
    return answer


def earlier_epochs(answer: MetadataResponse) -> MetadataResponse:
    """A broker that knows leaders of before."""
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.leader_epoch = 0  # type: ignore[misc]
    return answer


CONTRADICTIONS = [unknown, of_nothing, older_id, fewer_partitions, earlier_epochs]


@pytest.fixture
def archived(state: FakeCluster) -> Mapping[str, Archived]:
    """Topic u is archived in the id that it has."""
    topic = state.add_topic("u", 3)
    for partition in topic.partitions:
        partition.leader_epoch = 4
    positions = {number: Position(next_offset=50, leader_epoch=4) for number in range(3)}
    return {"u": Archived(topic_id=uuid_text(topic.topic_id), partitions=positions)}


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def believed(cluster: Cluster, archived: Mapping[str, Archived]) -> BelievedTopics:
    """The description that counts after one broker's answer."""
    answer = cluster.refresh({"u"}, soon())
    return believed_topics(cluster, {topic.name or "": topic for topic in answer.topics}, archived, soon())


@pytest.mark.parametrize("change", CONTRADICTIONS)
@pytest.mark.parametrize("stale", [1, 2, 3])
def test_one_broker_that_is_wrong(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived], change: Any, stale: int
):
    """A single wrong broker changes nothing, however it is wrong: the topic stays as it was archived."""
    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(change), node_id=stale, times=1000))
    result = believed(cluster, archived)
    assert not result.unconfirmed
    topic = result.topics["u"]
    assert uuid_text(topic.topic_id) == archived["u"].topic_id
    assert missing_partitions(topic, archived["u"]) == []
    assert [cluster.leader_epoch_of(TopicPartition("u", number)) for number in range(3)] == [4, 4, 4]


def test_what_every_broker_says_is_believed(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """A deletion, and a topic of another id, count if no broker contradicts."""
    del state.topics["u"]
    assert believed(connect(), archived).topics["u"].error_code == 3
    state.add_topic("u", 1).topic_id = OLD_ID
    assert believed(connect(), archived).topics["u"].topic_id == OLD_ID


@pytest.mark.parametrize("gone", [Close(), Altered(of_nothing)])
def test_a_broker_that_does_not_say(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived], gone: Close | Altered
):
    """The broker is listed by the others, so it lives, and a deletion needs its answer."""
    del state.topics["u"]
    cluster = connect()
    state.faults.append(Fault(METADATA.key, gone, node_id=3, times=1000))
    assert said_by_all("u", ask_every_broker(cluster, {"u"}, soon())) is None
    assert believed(cluster, archived).unconfirmed == {"u": "broker 1: no such topic; broker 2: no such topic"}


def test_a_cluster_that_has_just_started(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """Brokers that list no brokers have not answered; a moment later they do."""
    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(of_nothing), times=1000))
    assert ask_every_broker(cluster, {"u"}, soon()) == {}
    state.faults.clear()
    state.faults.append(Fault(METADATA.key, Altered(of_nothing), times=2))
    assert uuid_text(believed(cluster, archived).topics["u"].topic_id) == archived["u"].topic_id


def test_brokers_that_say_different_things(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """No description agrees with the archive: nothing is believed, and the message has every broker's answer."""
    state.topics["u"].topic_id = OLD_ID
    state.faults.append(Fault(METADATA.key, Altered(unknown), node_id=2, times=1000))
    (said,) = believed(connect(), archived).unconfirmed.values()
    assert f"broker 1: id {uuid_text(OLD_ID)}, 3 partitions; broker 2: no such topic" in said


def test_a_topic_that_agrees_costs_no_request(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """A topic archived as deleted, or that we may not see, contradicts nothing."""
    cluster = connect()
    answer = cluster.refresh({"u", "gone"}, soon())
    known = {**archived, "gone": Archived(topic_id="g", partitions={})}
    state.requests.clear()
    believed_topics(cluster, {topic.name or "": topic for topic in answer.topics}, known, soon())
    assert state.count(METADATA.key) == 0
    (topic,) = (topic for topic in answer.topics if topic.name == "u")
    topic.error_code = 29  # type: ignore[misc]
    assert not contradicts(topic, archived["u"])


def test_brokers_without_ids_contradict_nobody():
    """Brokers before Kafka 2.8 have no ids."""
    assert [is_same_id(*pair) for pair in ((None, "a"), ("a", None), ("a", "a"), ("a", "b"))] == [True] * 3 + [False]


def test_leaders_that_have_another_topic(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """The leaders' answers by name are about that topic; a leader that does not answer proves nothing."""
    cluster = connect()
    cluster.refresh({"u"}, soon())
    partitions = [TopicPartition("u", number) for number in range(3)]
    leaders = {partition: cluster.leader_of(partition) for partition in partitions}
    state.faults += [
        Fault(METADATA.key, Altered(older_id), node_id=leaders[partitions[0]], times=1000),
        Fault(METADATA.key, Close(), node_id=leaders[partitions[1]], times=1000),
    ]
    ids = {"u": archived["u"].topic_id}
    assert same_for_leaders(cluster, partitions, ids, soon()) == {partitions[2]}
