"""A broker that contradicts the archive is believed only if every live broker agrees."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch import topic_identity
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
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.comparisons import Comparisons
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

Connect = Callable[..., Cluster]
OLD_ID = (77).to_bytes(16, "big")


def unknown(answer: MetadataResponse) -> MetadataResponse:
    """Describe none of the topics."""
    for topic in answer.topics:
        topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)  # type: ignore[misc]
    return answer


def of_nothing(answer: MetadataResponse) -> MetadataResponse:
    """Describe neither brokers nor topics, as a broker that has just started."""
    unknown(answer).brokers = ()  # type: ignore[misc]
    return answer


def older_id(answer: MetadataResponse) -> MetadataResponse:
    """Describe an earlier topic with the name."""
    for topic in answer.topics:
        topic.topic_id = OLD_ID  # type: ignore[misc]
    return answer


def fewer_partitions(answer: MetadataResponse) -> MetadataResponse:
    """Describe the topic without its last partition."""
    for topic in answer.topics:
        topic.partitions = topic.partitions[:-1]  # type: ignore[misc]
    return answer


def earlier_epochs(answer: MetadataResponse) -> MetadataResponse:
    """Describe an earlier leader of one partition."""
    for topic in answer.topics:
        for partition in topic.partitions[:1]:
            partition.leader_epoch = 0  # type: ignore[misc]
    return answer


CONTRADICTIONS = [unknown, of_nothing, older_id, fewer_partitions, earlier_epochs]


@pytest.fixture
def archived(state: FakeCluster) -> Mapping[str, Archived]:
    """Return topic u, archived under its id."""
    topic = state.add_topic("u", 3)
    for partition in topic.partitions:
        partition.leader_epoch = 4
    positions = {number: Position(next_offset=50, leader_epoch=4) for number in range(3)}
    return {"u": Archived(topic_id=uuid_text(topic.topic_id), partitions=positions)}


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def believed(cluster: Cluster, archived: Mapping[str, Archived]) -> BelievedTopics:
    """Return the description that is used after one broker's response."""
    answer = cluster.refresh({"u"}, soon())
    return believed_topics(cluster, {topic.name or "": topic for topic in answer.topics}, archived, soon())


@pytest.mark.parametrize("change", CONTRADICTIONS)
@pytest.mark.parametrize("stale", [1, 2, 3])
def test_one_broker_that_is_wrong(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived], change: Any, stale: int
):
    """A single wrong broker changes nothing: the topic stays as it was archived."""
    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(change), node_id=stale, times=1000))
    result = believed(cluster, archived)
    assert not result.unconfirmed
    topic = result.topics["u"]
    assert uuid_text(topic.topic_id) == archived["u"].topic_id
    assert missing_partitions(topic, archived["u"]) == []
    assert [cluster.topics.leader_epoch_of(TopicPartition("u", number)) for number in range(3)] == [4, 4, 4]


def test_what_every_broker_says_is_believed(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """A deletion, or another id, is accepted if no broker contradicts."""
    del state.topics["u"]
    assert believed(connect(), archived).topics["u"].error_code == 3
    state.add_topic("u", 1).topic_id = OLD_ID
    assert believed(connect(), archived).topics["u"].topic_id == OLD_ID


@pytest.mark.parametrize("gone", [Close(), Altered(of_nothing)])
def test_a_broker_that_does_not_say(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived], gone: Close | Altered
):
    """The others list the broker, so it is alive, and a deletion needs its response."""
    del state.topics["u"]
    cluster = connect()
    state.faults.append(Fault(METADATA.key, gone, node_id=3, times=1000))
    assert said_by_all("u", ask_every_broker(cluster, {"u"}, soon())) is None
    assert believed(cluster, archived).unconfirmed == {"u": "broker 1: no such topic; broker 2: no such topic"}


def test_a_cluster_that_has_just_started(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """A response without brokers does not count; a moment later brokers are listed."""
    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(of_nothing), times=1000))
    assert ask_every_broker(cluster, {"u"}, soon()) == {}
    state.faults.clear()
    state.faults.append(Fault(METADATA.key, Altered(of_nothing), times=2))
    assert uuid_text(believed(cluster, archived).topics["u"].topic_id) == archived["u"].topic_id


def test_brokers_that_say_different_things(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """If no description agrees with the archive, none is accepted, and the message has every broker's response."""
    state.topics["u"].topic_id = OLD_ID
    state.faults.append(Fault(METADATA.key, Altered(unknown), node_id=2, times=1000))
    (said,) = believed(connect(), archived).unconfirmed.values()
    assert f"broker 1: id {uuid_text(OLD_ID)}, 3 partitions; broker 2: no such topic" in said


def test_a_broker_that_learns_of_another_id_a_moment_later(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]
):
    """Brokers that do not agree are asked again."""
    state.topics["u"].topic_id = OLD_ID
    state.faults.append(Fault(METADATA.key, Altered(unknown), node_id=2, times=2))
    result = believed(connect(), archived)
    assert (result.unconfirmed, result.topics["u"].topic_id) == ({}, OLD_ID)


def test_a_topic_that_agrees_costs_no_request(state: FakeCluster, connect: Connect, archived: Mapping[str, Archived]):
    """A new topic contradicts nothing, nor does one that is archived as deleted, or that we may not describe."""
    state.add_topic("new", 1)
    cluster = connect()
    answer = cluster.refresh({"u", "gone", "new"}, soon())
    known = {**archived, "gone": Archived(topic_id="g", partitions={})}
    state.requests.clear()
    believed_topics(cluster, {topic.name or "": topic for topic in answer.topics}, known, soon())
    assert state.count(METADATA.key) == 0
    (topic,) = (topic for topic in answer.topics if topic.name == "u")
    topic.error_code = 29  # type: ignore[misc]
    assert not contradicts(topic, archived["u"])


def test_a_deleted_topic_that_only_some_brokers_have_again(state: FakeCluster, connect: Connect):
    """A broker that does not know it yet says what is archived, and hides the new topic from no run: a later run asks again."""
    known = {"u": Archived(topic_id="g", partitions={})}
    state.add_topic("u", 3).topic_id = OLD_ID
    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(unknown), node_id=2, times=1000))
    answer = ask_every_broker(cluster, {"u"}, soon(), [1])[1]
    (said,) = believed_topics(cluster, {"u": answer.topics[0]}, known, soon()).unconfirmed.values()
    assert "broker 2: no such topic" in said


def test_answers_about_many_topics_are_put_in_order_once(connect: Connect):
    """10,000 topics that were deleted were each searched for in all answers, which took minutes for three brokers."""
    compared = Comparisons()
    names = [compared.counting(f"gone-{number}") for number in range(60)]
    known = {name: Archived(topic_id="id", partitions={0: Position(next_offset=1)}) for name in names}
    cluster = connect()
    topics = {name: MetadataTopic(error_code=3, name=name, partitions=()) for name in names}
    results = list[BelievedTopics]()
    answers = {
        node_id: MetadataResponse(
            brokers=tuple(MetadataBroker(node_id=one, host="h", port=1) for one in (1, 2)),
            controller_id=1,
            topics=tuple(topics.values()),
        )
        for node_id in (1, 2)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_identity, "ask_every_broker", lambda *_: answers)
        count = compared.during(lambda: results.append(believed_topics(cluster, topics, known, soon())))
    assert (results[0].topics, results[0].unconfirmed) == (topics, {})
    assert count < 30 * len(names)


def test_brokers_without_ids_contradict_nobody():
    """Brokers before Kafka 2.8 have no ids."""
    assert [is_same_id(*pair) for pair in ((None, "a"), ("a", None), ("a", "a"), ("a", "b"))] == [True] * 3 + [False]


@pytest.mark.parametrize("change", [older_id, unknown])
def test_leaders_that_have_another_topic(
    state: FakeCluster, connect: Connect, archived: Mapping[str, Archived], change: Any
):
    """Their responses by name describe that topic, or none; a leader that does not answer proves nothing."""
    cluster = connect()
    cluster.refresh({"u"}, soon())
    partitions = [TopicPartition("u", number) for number in range(3)]
    leaders = {partition: cluster.leader_of(partition) for partition in partitions}
    state.faults += [
        Fault(METADATA.key, Altered(change), node_id=leaders[partitions[0]], times=1000),
        Fault(METADATA.key, Close(), node_id=leaders[partitions[1]], times=1000),
    ]
    ids = {"u": archived["u"].topic_id}
    assert same_for_leaders(cluster, partitions, ids, soon()) == {partitions[2]}
