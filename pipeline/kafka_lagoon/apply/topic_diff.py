"""Compares the topics of a desired state with those of a cluster: what is to be created, extended and deleted."""

from collections.abc import Iterator

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.desired.model import DesiredTopic
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.kinds.topics import create_topic, delete_topic, extend_topic
from kafka_lagoon.apply.live import Live, LiveTopic


def topic_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    """Actions for the topics that are written, and deletions of those that are owned and not written."""
    for name, topic in desired.topics.items():
        if name in live.hidden_topics:
            continue
        place = desired.document.place(("topics", name))
        if name in live.topics:
            yield from _extended(name, topic, live.topics[name], place)
            continue
        yield create_topic(
            name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            assignments=topic.assignments,
            configs=topic.configs,
            source=place,
        )
    for name, live_topic in live.topics.items():
        if is_to_be_deleted(desired, name, live_topic):
            yield delete_topic(live_topic.metadata, desired.document.place(("owns", "topics")))


def is_to_be_deleted(desired: DesiredState, name: str, live: LiveTopic) -> bool:
    """True if the topic is owned and not written; never for a topic in which brokers keep their own state."""
    return name not in desired.topics and not live.is_internal and desired.owns.is_owned("topic", name)


def _extended(name: str, topic: DesiredTopic, live: LiveTopic, place: str) -> Iterator[Action]:
    before = len(live.partitions)
    if topic.partitions is not None and topic.partitions > before:
        added = {number: brokers for number, brokers in (topic.assignments or {}).items() if number >= before}
        yield extend_topic(name, before, topic.partitions, added, place)
