"""The plan of one run of an archive, and its draft, to which each step of fetch/planning.py adds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import OffsetSpec
from kafka_lagoon.fetch.ranges import Event, PlannedRange, Position
from kafka_lagoon.frozen import frozen
from kafka_lagoon.topic_partition import TopicPartition


@frozen
class Plan:
    """The plan of one run: `archived` is where it starts from, `topic_ids` those of its topics, `sizes` bytes by partition.

    `unstarted` has the starts of partitions that did not answer, of topics that are archived for the first time.
    """

    archived: Mapping[str, Archived]
    topic_ids: Mapping[str, str | None]
    ranges: Sequence[PlannedRange]
    events: Sequence[Event]
    failures: Sequence[Failure]
    sizes: Mapping[TopicPartition, int]
    planned_at_ms: int
    unstarted: Mapping[str, Mapping[int, OffsetSpec]] = field(default_factory=dict)

    def bytes_of(self, planned: PlannedRange) -> int:
        """About how many bytes a range has on its leader's disk."""
        return self.sizes[TopicPartition(planned.topic, planned.partition)]


@dataclass(slots=True)
class PlanDraft:
    """A plan in the making; the archived positions of a topic are those of its present id."""

    archived: dict[str, Archived]
    ids: dict[str, str | None] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def position(self, partition: TopicPartition) -> Position | None:
        """The next offset of a partition, None if it is not archived."""
        known = self.archived.get(partition.topic)
        return known.partitions.get(partition.partition) if known else None

    def fail(self, failures: Mapping[TopicPartition, Failure]) -> None:
        """Record the reason why partitions cannot be planned, in their ranges, too, if they have any."""
        for partition, failure in failures.items():
            self.failures.append(failure)
            position = self.position(partition)
            if position is not None:
                self.events.append(sequence_event(partition, self.ids[partition.topic], position, failure.name))


def sequence_event(partition: TopicPartition, topic_id: str | None, position: Position, problem: str | None) -> Event:
    """A range of no length where a sequence ends or waits; without a problem, where it begins."""
    return Event(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=position.next_offset,
        to_offset=position.next_offset,
        problem=problem,
        leader_epoch=position.leader_epoch,
    )
