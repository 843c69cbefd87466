"""Keeps the last known id of each topic, and the last known leader and leader epoch of each partition.

A leader is never replaced by one of an older leader epoch of the same topic. A topic that was re-created has another id
and its epochs begin again at 0, so epochs are compared within one topic id only (KAFKA-12257).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.metadata import NO_LEADER, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

_UNKNOWN = (NO_LEADER, -1)


@dataclass(slots=True)
class _Leaders:
    """Leaders of one topic, by partition: broker and leader epoch (-1 if unknown). `topic_id` is None before Kafka 2.8."""

    topic_id: str | None
    by_partition: dict[int, tuple[int, int]] = field(default_factory=dict)

    def learn(self, topic: MetadataTopic, distinct: dict[tuple[int, int], tuple[int, int]]) -> None:
        """Learn leaders of the known epochs or later ones; leaders without an epoch are always taken, as in Kafka's client.

        Equal values are stored once, in `distinct`.
        """
        known = self.by_partition
        for partition in topic.partitions:
            index, epoch = partition.partition_index, partition.leader_epoch
            if epoch < 0 or epoch >= known.get(index, _UNKNOWN)[1]:
                leader = (partition.leader_id, epoch)
                known[index] = distinct.setdefault(leader, leader)

    def forget_epochs(self) -> None:
        """Accept any epoch from now on."""
        self.by_partition = {partition: (leader_id, -1) for partition, (leader_id, _) in self.by_partition.items()}


class KnownTopics:
    """Topics as brokers have described them, learned as in Kafka's client (Metadata.updateLatestMetadata)."""

    def __init__(self) -> None:
        self.id_changes = 0  # how often a topic got another id than the one it was known by
        self._topics: dict[str, _Leaders] = {}
        self._distinct: dict[tuple[int, int], tuple[int, int]] = {}  # leaders of the last response, each once

    def learn_all(self, topics: Iterable[MetadataTopic]) -> None:
        """Take over the topics of a response."""
        self._distinct = {}
        for topic in topics:
            self.learn(topic)

    def learn(self, topic: MetadataTopic) -> None:
        """Take over a broker's description of a topic.

        Another id is another topic, whatever its epochs. Which of two ids is newer cannot be known, so a broker whose metadata
        is old may bring the old topic back until the next response. Where brokers give no ids (before Kafka 2.8), a response
        that the topic does not exist means the same.
        """
        name, topic_id = topic.name, uuid_text(topic.topic_id)
        known = self._topics.get(name) if name is not None else None
        if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION and known and known.topic_id is None:
            known.forget_epochs()
        if name is None or topic.error_code:
            return
        if known is None or (topic_id is not None and topic_id != known.topic_id):
            self.id_changes += known is not None
            known = self._topics[name] = _Leaders(topic_id)
        known.learn(topic, self._distinct)

    def learn_leader(self, partition: TopicPartition, leader_id: int, leader_epoch: int, topic_id: str | None) -> bool:
        """Take over a leader; False if its epoch is not newer, or if the topic is another one of this name."""
        if not self.may_be(partition.topic, topic_id) or leader_epoch <= self.leader_epoch_of(partition):
            return False
        known = self._topics.setdefault(partition.topic, _Leaders(topic_id))
        known.by_partition[partition.partition] = (leader_id, leader_epoch)
        return True

    def leader_of(self, partition: TopicPartition) -> int:
        """The id of the last known leader, NO_LEADER if it has or had none."""
        return self._leader(partition)[0]

    def leader_epoch_of(self, partition: TopicPartition) -> int:
        """The last known leader epoch, of the last known topic id; -1 before Metadata v7."""
        return self._leader(partition)[1]

    def names(self) -> list[str]:
        """The names of the topics that brokers have described, in their order; some may be gone by now."""
        return list(self._topics)

    def id_of(self, topic: str) -> str | None:
        """The last known id of the topic, None when brokers give none or were not asked yet."""
        return self._topics[topic].topic_id if topic in self._topics else None

    def may_be(self, topic: str, topic_id: str | None) -> bool:
        """True if this may be the topic that is known by this name: same id, or either id is unknown."""
        known = self.id_of(topic)
        return topic_id is None or known is None or known == topic_id

    def _leader(self, partition: TopicPartition) -> tuple[int, int]:
        topic = self._topics.get(partition.topic)
        return topic.by_partition.get(partition.partition, _UNKNOWN) if topic else _UNKNOWN
