"""What a stream's offsets say of each other."""

import json

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.source.stream import Marks

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def marks(offsets: dict[TopicPartition, int], **topic_ids: str) -> Marks:
    """Marks of topics that all have ids."""
    return Marks(offsets=offsets, topic_ids={at.topic: "id" for at in offsets} | topic_ids)


def test_json_has_the_connectors_shape():
    """Topics, in them partitions, in them the next offset; in a fixed order, because Spark compares the text."""
    found = marks({B0: 3, TopicPartition("a", 10): 2, A0: 1}).to_json()
    assert json.dumps(found) == '{"a": {"0": 1, "10": 2}, "b": {"0": 3}, "#topic_ids": {"a": "id", "b": "id"}}'
    assert Marks.from_json(found) == marks({B0: 3, TopicPartition("a", 10): 2, A0: 1})


def test_without_ids_it_is_the_connectors_json():
    """Brokers before Kafka 2.8 give no ids, and the connector's own offsets have none."""
    connectors = {"a": {"0": 1, "1": 5}}
    assert Marks.from_json(connectors).to_json() == connectors
    goes_on, lines = marks({A0: 7, A1: 7}).since(Marks.from_json(connectors))
    assert goes_on.offsets == {A0: 1, A1: 5}
    assert lines == []


def test_new_partitions_begin_at_the_beginning():
    """A partition, or a topic, that was not there before is read from offset 0."""
    goes_on, lines = marks({A0: 7, A1: 4, B0: 2}).since(marks({A0: 5}))
    assert goes_on.offsets == {A0: 5, A1: 0, B0: 0}
    assert lines == []


def test_what_is_gone_is_said():
    """A partition that is not there any more is a loss."""
    assert marks({A0: 7}).since(marks({A0: 5, B0: 2}))[1] == ["b:0 is gone"]


def test_a_topic_that_was_created_anew_is_another():
    """Its old offsets mean nothing: reading begins at 0, and the loss is said."""
    goes_on, lines = marks({A0: 7}, a="new").since(marks({A0: 5}))
    assert goes_on.offsets == {A0: 0}
    assert lines == ["topic a was created anew"]


def test_a_log_that_was_cut_off():
    """Where a log is shorter than what was read of it, the loss is said, and reading goes on at its end."""
    goes_on, lines = marks({A0: 4}).since(marks({A0: 5}))
    assert goes_on.offsets == {A0: 4}
    assert lines == ["a:0 ends at 4, and was read up to 5"]
