"""Describes where reading starts or ends: earliest, latest, an offset, a time, or a number of offsets before the end.

Jobs, verbs and the data source each parse their own arguments into these values; `fetch/offset_resolution.py` resolves them
to offsets. It imports nothing that takes long to load: Spark starts a Python process for each `load` of the data source.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import field

from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.times import FORMS, parse_time_ms
from kafka_lagoon.topic_partition import TopicPartition

SPELLINGS = (
    f"earliest, latest, latest-N (N offsets before the end), an offset, topic:partition=offset,..., or a time ({FORMS})"
)

_OFFSET_LIMIT = MOST_INT64  # no record can have this offset, because the end of its log would exceed int64
_ASSIGNMENT = re.compile(r"([a-zA-Z0-9._-]{1,249}):(\d{1,10})=(\d{1,19})", re.ASCII)
_OFFSET = re.compile(r"\d{1,19}", re.ASCII)
_BEFORE_END = re.compile(r"latest ?- ?(\d{1,19})", re.ASCII)


@frozen(kw_only=False)
class Earliest:
    """The first offset of the log."""


@frozen(kw_only=False)
class Latest:
    """The end of the log, for readers of committed records the last stable offset."""


@frozen(kw_only=False)
class AtOffset:
    """An offset."""

    offset: int


@frozen(kw_only=False)
class AtTime:
    """The first record with this timestamp (epoch milliseconds) or a later one; the end of the log if there is none."""

    timestamp_ms: int


@frozen(kw_only=False)
class BeforeEnd:
    """A number of offsets before the end of the log, but not before its start.

    With `timestamp_ms` it counts from the first record at or after this time instead of the end, if there is such a record.
    """

    offsets: int
    timestamp_ms: int | None = None


OffsetSpec = Earliest | Latest | AtOffset | AtTime | BeforeEnd
EARLIEST, LATEST = Earliest(), Latest()


@frozen
class OffsetSpecs:
    """Start or end offsets of a read: a partition's own spec, or the default. Without a default all partitions must be named.

    `name` is the argument, option or setting that was given, for messages. `topic_ids`, where given, are the ids of the
    topics that the offsets belong to.
    """

    name: str
    default: OffsetSpec | None = None
    by_partition: Mapping[TopicPartition, OffsetSpec] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def of(self, partition: TopicPartition) -> OffsetSpec:
        """The spec of one partition; KeyError where there is none."""
        return self.by_partition[partition] if self.default is None else self.by_partition.get(partition, self.default)

    def times(self) -> list[int]:
        """All times that are given, in epoch milliseconds."""
        specs = (self.default, *self.by_partition.values())
        return [spec.timestamp_ms for spec in specs if isinstance(spec, AtTime)]

    def problems(self, partitions: Collection[TopicPartition], topic_ids: Mapping[str, str | None]) -> list[str]:
        """Faults of these specs for the partitions that are read: partitions without a spec, and specs of other partitions.

        An id that a broker does not give (before Kafka 2.8) is no other id.
        """
        missing = sorted(set(partitions) - set(self.by_partition)) if self.default is None else []
        unread = sorted(set(self.by_partition) - set(partitions))
        re_created = [name for name, topic_id in self.topic_ids.items() if topic_ids.get(name) not in (None, topic_id)]
        return [
            *(f"{self.name}: no offset for {topic}:{partition}" for topic, partition in missing),
            *(f"{self.name}: {topic}:{partition} is not among the partitions to read" for topic, partition in unread),
            *(f"{self.name}: topic {name} was re-created since" for name in re_created),
        ]


def order_problems(start: OffsetSpecs, end: OffsetSpecs) -> list[str]:
    """The fault of a start for all partitions that is not before their end, if both are offsets or both are times."""
    match start.default, end.default:
        case (AtTime(first), AtTime(last)) | (AtOffset(first), AtOffset(last)) if first >= last:
            return [f"{start.name}: is not before {end.name}"]
    return []


def parse_offset_specs(name: str, text: str, now_ms: int) -> OffsetSpecs:
    """The specs that a text (see SPELLINGS) describes at `now_ms`; ValueError for anything else.

    Partitions that a list of offsets does not name start at the earliest.
    """
    if "=" in text:
        return OffsetSpecs(name=name, default=EARLIEST, by_partition=_assignments(text))
    return OffsetSpecs(name=name, default=_parse(text.strip().lower(), text, now_ms))


def _parse(words: str, text: str, now_ms: int) -> OffsetSpec:
    if words == "earliest":
        return EARLIEST
    if words == "latest":
        return LATEST
    if match := _BEFORE_END.fullmatch(words):
        return BeforeEnd(_offset(match[1]))
    return AtOffset(_offset(words)) if _OFFSET.fullmatch(words) else AtTime(parse_time_ms(text, now_ms))


def _offset(digits: str) -> int:
    offset = int(digits)
    if offset >= _OFFSET_LIMIT:
        raise ValueError(f"{digits} is not an offset: offsets are less than {_OFFSET_LIMIT}")
    return offset


def _assignments(text: str) -> dict[TopicPartition, OffsetSpec]:
    specs: dict[TopicPartition, OffsetSpec] = {}
    for part in text.split(","):
        match = _ASSIGNMENT.fullmatch(part.strip())
        if not match:
            raise ValueError(f"{part.strip()!r} is not topic:partition=offset")
        partition = TopicPartition(match[1], int(match[2]))
        if partition in specs:
            raise ValueError(f"{partition.topic}:{partition.partition} is named twice")
        specs[partition] = AtOffset(_offset(match[3]))
    return specs
