"""Descriptions of topics are learned by leader epoch within one topic id, as in Kafka's client."""

import pytest

from kafka_lagoon.client.known_topics import KnownTopics
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.metadata import NO_LEADER, MetadataPartition, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

ORDERS_0 = TopicPartition("orders", 0)
OLD, NEW, NO_ID = b"old".zfill(16), b"new".zfill(16), bytes(16)


def orders(leader_id: int, epoch: int, topic_id: bytes = OLD) -> MetadataTopic:
    """Describe the topic, with one partition."""
    partition = MetadataPartition(partition_index=0, leader_id=leader_id, leader_epoch=epoch)
    return MetadataTopic(name="orders", topic_id=topic_id, partitions=(partition,))


def leader(topics: KnownTopics) -> tuple[int, int]:
    """Return the known leader and its epoch."""
    return topics.leader_of(ORDERS_0), topics.leader_epoch_of(ORDERS_0)


def test_a_topic_that_nobody_described() -> None:
    """It has no leader, no epoch and no id, and may be any topic of that name."""
    topics = KnownTopics()
    assert leader(topics) == (NO_LEADER, -1)
    assert topics.id_of("orders") is None
    assert topics.may_be("orders", uuid_text(OLD))


def test_older_news_of_a_leader_is_ignored() -> None:
    """The leader with the highest epoch stays, independent of the order of responses."""
    topics = KnownTopics()
    topics.learn_all([orders(2, 5)])
    topics.learn_all([orders(1, 4)])
    assert leader(topics) == (2, 5)
    topics.learn_all([orders(1, 0)])
    assert leader(topics) == (2, 5)


def test_the_last_of_two_leaders_of_one_epoch() -> None:
    """It is accepted, as in Kafka's client: a leader that fails keeps its epoch until another is elected."""
    topics = KnownTopics()
    for leader_id in (2, NO_LEADER, 3):
        topics.learn(orders(leader_id, 5))
        assert leader(topics) == (leader_id, 5)


def test_a_description_without_an_id() -> None:
    """A broker of an older release gives none: it may describe the topic that is known, whose id and epoch stay."""
    topics = KnownTopics()
    topics.learn(orders(1, 5))
    topics.learn(orders(2, 4, NO_ID))
    assert (leader(topics), topics.id_of("orders")) == ((1, 5), uuid_text(OLD))


@pytest.mark.parametrize(
    ("topic_id", "code"), [(OLD, UNKNOWN_TOPIC_OR_PARTITION), (OLD, 29), (NO_ID, 29), (NO_ID, 5)], ids=str
)
def test_an_error_in_place_of_a_description(topic_id: bytes, code: int) -> None:
    """It adds no topic, and takes nothing from a topic that is known: a leader of an older epoch is ignored after it."""
    topics = KnownTopics()
    refused = MetadataTopic(error_code=code, name="orders", topic_id=NO_ID)
    topics.learn(refused)
    assert topics.names() == []
    topics.learn(orders(1, 5, topic_id))
    topics.learn(refused)
    topics.learn(orders(2, 4, topic_id))
    assert (topics.names(), leader(topics)) == (["orders"], (1, 5))


def test_an_id_that_a_broker_does_not_know() -> None:
    """The description has no name then, and is of no topic."""
    topics = KnownTopics()
    topics.learn_all([MetadataTopic(error_code=UNKNOWN_TOPIC_ID, name=None, topic_id=NEW), orders(1, 5)])
    assert (topics.names(), leader(topics)) == (["orders"], (1, 5))


def test_a_re_created_topic_has_epochs_of_its_own() -> None:
    """Another id is another topic: its leaders are accepted although their epochs begin again, and the old ones are gone."""
    topics = KnownTopics()
    second = MetadataPartition(partition_index=1, leader_id=3, leader_epoch=7)
    before = orders(1, 5)
    topics.learn(MetadataTopic(name="orders", topic_id=OLD, partitions=(*before.partitions, second)))
    assert topics.leader_of(TopicPartition("orders", 1)) == 3
    topics.learn(orders(2, 0, NEW))
    assert leader(topics) == (2, 0)
    assert topics.leader_of(TopicPartition("orders", 1)) == NO_LEADER
    assert topics.id_of("orders") == uuid_text(NEW)
    assert not topics.may_be("orders", uuid_text(OLD))


def test_the_old_topic_from_a_broker_with_old_metadata() -> None:
    """The old topic is accepted, as in Kafka's client, until the next response about the new topic."""
    topics, seen = KnownTopics(), []
    for description in (orders(1, 5), orders(2, 0, NEW)) * 2:
        topics.learn_all([description])
        seen.append((*leader(topics), topics.id_changes))
    assert seen == [(1, 5, 0), (2, 0, 1), (1, 5, 2), (2, 0, 3)]


def test_a_re_created_topic_without_ids() -> None:
    """Before Kafka 2.8 topics have no ids: a topic that was missing in between may begin again at any epoch."""
    topics = KnownTopics()
    topics.learn(orders(1, 5, NO_ID))
    topics.learn(MetadataTopic(error_code=UNKNOWN_TOPIC_OR_PARTITION, name="orders"))
    assert leader(topics) == (1, -1), "a broker may be behind the others"
    topics.learn(orders(2, 0, NO_ID))
    assert leader(topics) == (2, 0)


def test_a_leader_without_an_epoch_is_believed() -> None:
    """A description without epochs does not count as older, as in Kafka's client."""
    topics = KnownTopics()
    topics.learn(orders(1, 5))
    topics.learn(orders(3, -1))
    assert leader(topics) == (3, -1)


def test_a_leader_from_another_response() -> None:
    """It is accepted if its epoch is newer and the topic may be the same."""
    topics = KnownTopics()
    topics.learn(orders(1, 0))
    assert not topics.learn_leader(ORDERS_0, 2, 0, None)
    assert not topics.learn_leader(ORDERS_0, 2, 1, uuid_text(NEW))
    assert topics.learn_leader(ORDERS_0, 2, 1, uuid_text(OLD))
    assert leader(topics) == (2, 1)
    assert topics.learn_leader(ORDERS_0, 3, 2, None), "a version of Fetch without ids may be about this topic"
    assert leader(topics) == (3, 2)
