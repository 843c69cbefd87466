"""Compares the topics of a desired state with those of a cluster: what is to be created, extended, moved and deleted."""

from collections.abc import Iterator

from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.desired.state import DesiredState, DesiredTopic
from kafka_lagoon.apply.kinds.partitions import reassign_partition
from kafka_lagoon.apply.kinds.topics import create_topic, delete_topic, extend_topic
from kafka_lagoon.apply.live import Live, LiveTopic
from kafka_lagoon.apply.proposals import Replicas, with_factor
from kafka_lagoon.client.cluster import TopicPartition


def topic_actions(desired: DesiredState, live: Live) -> Iterator[Action]:
    """Actions for the topics that are written, and deletions of those that are owned and not written."""
    for name, topic in desired.topics.items():
        place = desired.document.place(("topics", name))
        if name not in live.topics:
            yield create_topic(
                name,
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=topic.assignments,
                configs=topic.configs,
                source=place,
            )
        else:
            yield from _extended(name, topic, live.topics[name], place)
    for name, live_topic in live.topics.items():
        if name not in desired.topics and not live_topic.is_internal and desired.is_owned("topic", name):
            yield delete_topic(live_topic.metadata, desired.document.place(("owns", "topics")))
    yield from _moved(desired, live)


def _extended(name: str, topic: DesiredTopic, live: LiveTopic, place: str) -> Iterator[Action]:
    before = len(live.partitions)
    if topic.partitions is not None and topic.partitions > before:
        added = {number: brokers for number, brokers in (topic.assignments or {}).items() if number >= before}
        yield extend_topic(name, before, topic.partitions, added, place)


def needs_moves(desired: DesiredState, topics: dict[str, LiveTopic]) -> bool:
    """Whether replicas may have to be moved, so that the moves under way must be known."""
    return any(_wanted_replicas(topic, topics[name]) for name, topic in desired.topics.items() if name in topics)


def _wanted_replicas(topic: DesiredTopic, live: LiveTopic) -> bool:
    if topic.assignments:
        return any(topic.assignments.get(number) != one.replicas for number, one in live.partitions.items())
    return topic.replication_factor not in (None, live.replication_factor)


def _moved(desired: DesiredState, live: Live) -> Iterator[Action]:
    """Moves of partitions that are where nobody wants them; those under way to the right place are not repeated."""
    for name, topic in desired.topics.items():
        if name not in live.topics or not _wanted_replicas(topic, live.topics[name]):
            continue
        place = desired.document.place(("topics", name, "assignments" if topic.assignments else "replication_factor"))
        for partition, replicas in _targets(name, topic, live).items():
            known = live.topics[name].partitions[partition.partition]
            if known.target != replicas:
                yield reassign_partition(partition, known.replicas, replicas, place)


def _targets(name: str, topic: DesiredTopic, live: Live) -> dict[TopicPartition, Replicas]:
    partitions = live.topics[name].partitions
    if topic.assignments:
        return {
            TopicPartition(name, number): topic.assignments[number]
            for number in partitions
            if number in topic.assignments
        }
    chosen = {TopicPartition(name, number) for number in partitions}
    return with_factor(all_targets(live), live.racks, chosen, topic.replication_factor or 0)


def all_targets(live: Live) -> dict[TopicPartition, Replicas]:
    """The replicas of every partition, as they will be when moves under way are done."""
    return {
        TopicPartition(name, number): partition.target
        for name, topic in live.topics.items()
        for number, partition in topic.partitions.items()
    }
