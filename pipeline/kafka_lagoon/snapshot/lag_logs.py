"""Keeps the offsets of each partition's log by column, so that all groups that read a partition share them.

A slot is the number of a partition. Slots of existing partitions are in the order of topic and partition. Partitions that
groups have committed or are assigned but that do not exist come after them.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import lt

from kafka_lagoon.admin.offsets import NOT_RETURNED, Offsets, columns_of
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.row_columns import Column, column_of, or_none
from kafka_lagoon.topic_partition import TopicPartition

_NO_SUCH_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"


class OffsetsBySlot:
    """An offset of each slot: 0 or larger, and without a meaning in the slots where it is `unknown`."""

    __slots__ = ("unknown", "values")

    def __init__(self) -> None:
        self.values, self.unknown = array("q"), set[int]()

    def __getitem__(self, slot: int) -> int | None:
        return None if slot in self.unknown else self.values[slot]

    def append(self, offset: int | None) -> None:
        """Add the offset of the next slot."""
        if offset is None:
            self.unknown.add(len(self.values))
        self.values.append(offset or 0)

    def extend(self, offsets: Column) -> None:
        """Add the offsets of the next slots."""
        if isinstance(offsets, array):
            self.values.extend(offsets)
        else:
            for offset in offsets:
                self.append(offset)


class _Slots(dict[int, int]):
    """The slots of a topic by partition; an unknown partition gets a slot when it is looked up."""

    __slots__ = ("_logs", "_topic")

    def __init__(self, logs: "PartitionLogs", topic: str) -> None:
        super().__init__()
        self._logs, self._topic = logs, topic

    def __missing__(self, partition: int) -> int:
        return self._logs.add(self._topic, partition)


class PartitionLogs:
    """Columns of the logs of partitions, by slot. An attribute with the name of an offset of consumer_lag holds that offset.

    `before` are the end offsets read before the commits; `after` are the rows of offsets, whose ends were read after them, one
    for each partition of the topology, in its order.
    """

    def __init__(self, topology: Topology, before: Offsets, after: Sequence[PartitionOffsetsRow]) -> None:
        self._topology = topology
        self.topics = sorted(topology.partitions)
        self._topic_places = {topic: place for place, topic in enumerate(self.topics)}
        self.topic_ids = [topology.topic_ids.get(topic) for topic in self.topics]
        self.topic_of = array("i")  # index into `topics`
        self.partition = array("i")
        self.log_start_offset = OffsetsBySlot()
        self.high_watermark = OffsetsBySlot()
        self.last_stable_offset = OffsetsBySlot()
        self.end_before = OffsetsBySlot()
        self.problems: dict[int, str] = {}  # why an offset of the slot is unknown
        self.changed: set[int] = set()  # slots that existed of topics that were deleted or re-created since
        self.known = 0  # slots below are in the order of topic and partition
        self._slots: dict[str, _Slots] = {}
        self._existing: dict[str, frozenset[int]] = {}
        self._in_order: dict[str, Sequence[int]] = {}
        self._add_existing(before, after)

    def slots(self, topic: str) -> Mapping[int, int]:
        """The slots of a topic by partition; the topic need not exist."""
        slots = self._slots.get(topic)
        if slots is None:
            slots = self._slots[topic] = _Slots(self, topic)
        return slots

    def existing(self, topic: str) -> frozenset[int]:
        """The slots of all partitions that a topic has."""
        known = self._existing.get(topic)
        if known is None:
            partitions = self._topology.partitions.get(topic, ())
            known = self._existing[topic] = frozenset(map(self.slots(topic).__getitem__, partitions))
        return known

    def existing_in_order(self, topic: str) -> Sequence[int]:
        """The slots of all partitions that a topic has, in the order of the partitions."""
        known = self._in_order.get(topic)
        if known is None:
            known = self._in_order[topic] = self.order(self.existing(topic))
        return known

    def are_in_order(self, slots: Sequence[int]) -> bool:
        """True if slots of existing partitions are in the order of topic and partition, each once."""
        return not slots or (slots[-1] < self.known and all(map(lt, slots, slots[1:])))

    def order(self, slots: Iterable[int]) -> list[int]:
        """Sort slots by topic and partition."""
        ordered = sorted(slots)
        if ordered and ordered[-1] >= self.known:
            ordered.sort(key=lambda slot: (self.topics[self.topic_of[slot]], self.partition[slot]))
        return ordered

    def add(self, topic: str, partition: int) -> int:
        """Add a slot for a partition that the topology does not have: nothing of its log is known."""
        slot = len(self.partition)
        if topic not in self._topic_places:
            self._topic_places[topic] = len(self.topics)
            self.topics.append(topic)
            self.topic_ids.append(self._topology.topic_ids.get(topic))
        self.topic_of.append(self._topic_places[topic])
        self.partition.append(partition)
        for offsets in (self.log_start_offset, self.high_watermark, self.last_stable_offset, self.end_before):
            offsets.append(None)
        self.slots(topic)[partition] = slot  # type: ignore[index]  # ours
        change = self._topology.changed.get(topic)
        self.problems[slot] = change or self._topology.hidden.get(topic, _NO_SUCH_PARTITION)
        return slot

    def _add_existing(self, before: Offsets, after: Sequence[PartitionOffsetsRow]) -> None:
        everywhere = self._topology.every_partition()
        ends = columns_of(before.answers, before.sources, everywhere).offsets
        names = ("log_start_offset", "high_watermark", "last_stable_offset", "problem")
        starts, highs, stables, problems = (column_of(after, name) for name in names)
        first: dict[str, int] = {}
        for place, (topic, _) in enumerate(everywhere):
            first.setdefault(topic, place)
        for place, topic in enumerate(self.topics):
            partitions = self._topology.partitions[topic]
            rows = slice(first.get(topic, 0), first.get(topic, 0) + len(partitions))
            slot = len(self.partition)
            self._slots[topic] = slots = _Slots(self, topic)
            slots.update(zip(partitions, range(slot, slot + len(partitions)), strict=True))
            self.topic_of += array("i", (place,)) * len(partitions)
            self.partition.extend(partitions)
            self.log_start_offset.extend(starts[rows])
            self.high_watermark.extend(highs[rows])
            self.last_stable_offset.extend(stables[rows])
            self.end_before.extend(or_none(ends[rows]))
            self._name_problems(topic, slot, problems[rows], before)
        self.known = len(self.partition)

    def _name_problems(self, topic: str, first: int, problems: Column, before: Offsets) -> None:
        change = self._topology.changed.get(topic)
        if change:
            self.changed.update(range(first, first + len(problems)))
            self.problems |= dict.fromkeys(range(first, first + len(problems)), change)
            return
        for slot, problem in enumerate(problems, first):
            if problem and None in (
                self.log_start_offset[slot],
                self.high_watermark[slot],
                self.last_stable_offset[slot],
            ):
                self.problems[slot] = problem
            elif self.end_before[slot] is None:
                failure = before.failures.get(TopicPartition(topic, self.partition[slot]))
                self.problems[slot] = failure.name if failure else NOT_RETURNED
