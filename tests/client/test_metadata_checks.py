"""Faulty items in a Metadata response: each is a failure, and hides no other item."""

from typing import Any

import pytest

from kafka_lagoon.client.metadata_checks import checked_metadata
from kafka_lagoon.protocol.messages.metadata import MetadataBroker, MetadataPartition, MetadataResponse, MetadataTopic
from tests.comparisons import Comparisons


def broker(node_id: int = 1, host: str = "a", port: int = 9092) -> MetadataBroker:
    return MetadataBroker(node_id=node_id, host=host, port=port)


def topic(name: str | None = "t", *indexes: int, leader_id: int = 1) -> MetadataTopic:
    partitions = tuple(
        MetadataPartition(error_code=0, partition_index=index, leader_id=leader_id, replica_nodes=(1,), isr_nodes=(1,))
        for index in indexes
    )
    return MetadataTopic(error_code=0, name=name, partitions=partitions)


def checked(*items: Any, requested: set[str] | None = None) -> tuple[MetadataResponse, list[str]]:
    """Return the checked response of these brokers and topics, and the failures as lines."""
    brokers = tuple(one for one in items if isinstance(one, MetadataBroker))
    topics = tuple(one for one in items if isinstance(one, MetadataTopic))
    response, failures = checked_metadata(MetadataResponse(brokers=brokers, topics=topics), requested)
    return response, [f"{one.scope}: {one.name}" for one in failures]


def test_a_plain_response_stays_as_it_is() -> None:
    """Nothing is copied, and there are no failures."""
    plain = broker(1), broker(2), topic("a", 0, 1), topic("b")
    response, lines = checked(*plain)
    assert (*response.brokers, *response.topics) == plain
    assert response.topics[0] is plain[2]
    assert lines == []


def test_requested_topics_are_looked_up() -> None:
    """`--topic` and `subscribe` give lists of names: 10,000 of them took seconds per answer."""
    compared = Comparisons()
    names = [compared.counting(f"t{number}") for number in range(60)]
    answer = MetadataResponse(brokers=(broker(),), topics=tuple(topic(str(name)) for name in names))
    results = list[object]()
    assert compared.during(lambda: results.append(checked_metadata(answer, names))) < 10 * len(names)
    assert results == [(answer, [])]


@pytest.mark.parametrize(
    "odd", [broker(-1), broker(2, ""), broker(2, "a\x1b[2J"), broker(2, port=0), broker(2, port=-1)]
)
def test_an_address_that_cannot_be(odd: MetadataBroker) -> None:
    """The broker is left out, and others stay."""
    response, lines = checked(odd, broker(1))
    assert response.brokers == (broker(1),)
    assert lines == [f"broker {odd.node_id}: ADDRESS_REFUSED"]


def test_the_first_and_the_last_of_what_can_be() -> None:
    """Broker 0 is a broker as any other, and so is one on the highest port; the next port is none."""
    response, lines = checked(broker(0, port=65_535), broker(1, port=1), broker(2, port=65_536))
    assert response.brokers == (broker(0, port=65_535), broker(1, port=1))
    assert lines == ["broker 2: ADDRESS_REFUSED"]


@pytest.mark.parametrize("name", ["../x", "..", "", None, "a\x1b[2J", "a\udcff", "a" * 250])
def test_a_name_that_no_topic_has(name: str | None) -> None:
    """The topic is left out, others stay, and the message can be printed safely."""
    response, lines = checked(topic(name, 0), topic("t", 0))
    assert [one.name for one in response.topics] == ["t"]
    assert len(lines) == 1
    assert lines[0].endswith("NAME_REFUSED")
    assert lines[0].isprintable()


def test_what_is_there_twice() -> None:
    """Equal items are one item; of two different ones the first is kept, with a failure."""
    response, lines = checked(broker(), broker(), topic("t", 0, 0, 1), topic("t", 0, 0, 1))
    assert (len(response.brokers), len(response.topics), len(response.topics[0].partitions)) == (1, 1, 2)
    assert lines == []
    other = topic("t", 0, 1, leader_id=2).partitions
    twice = MetadataTopic(error_code=0, name="t", partitions=(*topic("t", 0, 1).partitions, *other[:1]))
    response, lines = checked(broker(1, "a"), broker(1, "b"), twice, topic("t", 5))
    assert (response.brokers[0].host, [one.leader_id for one in response.topics[0].partitions]) == ("a", [1, 1])
    assert lines == [
        "broker 1: CONTRADICTORY_ANSWER",
        "topic t: CONTRADICTORY_ANSWER",
        "t-0: CONTRADICTORY_ANSWER",
    ]


def test_partitions_without_a_number() -> None:
    """Partitions with negative numbers are left out."""
    response, lines = checked(topic("t", 0, -1))
    assert [one.partition_index for one in response.topics[0].partitions] == [0]
    assert lines == ["t--1: NAME_REFUSED"]


def test_topics_that_are_named() -> None:
    """The response has exactly the requested topics, once each; missing and badly named topics have errors."""
    response, lines = checked(
        topic("a", 0),
        topic("z", 0),
        MetadataTopic(error_code=17, name="b c", partitions=()),
        requested={"a", "b c", "d"},
    )
    assert [(one.name, one.error_code) for one in response.topics] == [("a", 0), ("b c", 17), ("d", -1)]
    assert lines == ["topic d: NOT_RETURNED"]


@pytest.mark.parametrize("name", ["replica_nodes", "isr_nodes"])
def test_a_replica_that_is_listed_twice(name: str) -> None:
    """It is a failure of its partition."""
    odd = MetadataPartition(**{"partition_index": 1, "replica_nodes": (1, 2), "isr_nodes": (1, 2), name: (1, 1)})
    _, lines = checked(MetadataTopic(name="t", partitions=(*topic("t", 0).partitions, odd)))
    assert lines == ["t-1: CONTRADICTORY_ANSWER"]
