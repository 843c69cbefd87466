"""Next offsets of an archived topic, by topic id. A topic that is deleted or re-created keeps the offsets of its former id.

Brokers may be wrong about a topic for a while, so offsets are never dropped: an id that returns continues at its offsets.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from kafka_lagoon.fetch.offset_specs import OffsetSpec
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.frozen import frozen


@frozen
class Archived:
    """An archived topic: its id, the next position of each partition, and the positions of its former ids.

    `partitions` is empty after the topic was deleted, and before any of its partitions has answered. `topic_id` is None where
    brokers give no ids (before Kafka 2.8); a topic without an id that returns after its deletion counts as a new one.
    `unstarted` has the starts of partitions that did not answer in the topic's first run; a partition that is in neither was
    added later.
    """

    topic_id: str | None
    partitions: Mapping[int, Position]
    former: Mapping[str, Mapping[int, Position]] = field(default_factory=dict)
    unstarted: Mapping[int, OffsetSpec] = field(default_factory=dict)

    def deleted(self) -> "Archived":
        """The topic without partitions to continue; their positions are kept under its id."""
        if self.topic_id is None:
            return replace(self, partitions={}, unstarted={})
        if not self.partitions:
            return self
        return replace(self, partitions={}, former={**self.former, self.topic_id: self.partitions})

    def re_created(self, topic_id: str | None) -> "Archived":
        """The topic under another id, at the positions that this id had reached before, if it was archived."""
        former = dict(self.deleted().former)
        partitions = former.pop(topic_id, {}) if topic_id is not None else {}
        unstarted = self.unstarted if self.topic_id in {topic_id, None} else {}
        return Archived(topic_id=topic_id, partitions=partitions, former=former, unstarted=unstarted)
