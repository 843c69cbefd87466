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
    """The plan of one run of an archive.

    `archived` has the topics and positions that the run continues, `topic_ids` the ids of the topics that it reads, and `sizes`
    the estimated bytes to read of each partition. `unstarted` has the starts of partitions that did not answer, in topics that
    are archived for the first time.
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
        """The estimated bytes of a range."""
        return self.sizes[planned.topic_partition]


@dataclass(slots=True)
class PlanDraft:
    """The parts of a plan that the steps have made so far; the archived positions of a topic are those of its present id."""

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
        """Add failures of partitions that cannot be planned. Partitions that are archived get an event with the reason, too."""
        for partition, failure in failures.items():
            self.failures.append(failure)
            position = self.position(partition)
            if position is not None:
                self.events.append(sequence_event(partition, self.ids[partition.topic], position, failure.name))


def sequence_event(partition: TopicPartition, topic_id: str | None, position: Position, problem: str | None) -> Event:
    """An empty range where a sequence ends or waits, with the problem; without a problem, where a sequence begins."""
    return Event(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=position.next_offset,
        to_offset=position.next_offset,
        problem=problem,
        leader_epoch=position.leader_epoch,
    )
