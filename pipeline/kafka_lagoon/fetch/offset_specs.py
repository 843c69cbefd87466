"""Topics by name or pattern, and from where to where, in; what is chosen of a cluster out.

Guards one rule: `start` decides for topics that were never archived; those that were go on where they ended, and their
new partitions begin at the beginning, so that a schedule needs no other arguments for its second run.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.times import parse_time_ms

_ASSIGNMENT = re.compile(r"([a-zA-Z0-9._-]{1,249}):(\d{1,10})=(\d{1,19})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a topic begins: its earliest or latest offset, the first record at a time, or offsets by partition.

    Partitions that `offsets` does not name begin at the earliest.
    """

    latest: bool = False
    timestamp_ms: int | None = None
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What one run is to read. `until_ms` ends it before the first record at or behind that time (epoch milliseconds)."""

    topics: tuple[str, ...]
    pattern: str | None
    start: Start
    until_ms: int | None
    read_committed: bool
    most_offsets: int | None

    def matching(self, topics: Iterable[str], internal: Iterable[str] = ()) -> list[str]:
        """The topics that are named, or whose whole name matches the pattern and that are not internal."""
        names = set(topics)
        pattern = re.compile(self.pattern) if self.pattern else None
        hidden = set(internal)
        by_pattern = {name for name in names - hidden if pattern and pattern.fullmatch(name)}
        return sorted(by_pattern | names.intersection(self.topics))


def parse_start(text: str, now_ms: int) -> Start:
    """A start as settings spell it, if it is `now_ms`; ValueError for anything else."""
    match text.strip().lower():
        case "earliest":
            return Start()
        case "latest":
            return Start(latest=True)
        case _ if "=" in text:
            return Start(offsets=_offsets(text))
        case _:
            return Start(timestamp_ms=parse_time_ms(text, now_ms))


def _offsets(text: str) -> dict[TopicPartition, int]:
    found = {}
    for part in text.split(","):
        match = _ASSIGNMENT.fullmatch(part.strip())
        if not match:
            raise ValueError(f"{part.strip()!r} is not topic:partition=offset")
        found[TopicPartition(match[1], int(match[2]))] = int(match[3])
    return found
