"""Describes the input of a run: topics by name or pattern, their first and last offsets, and the isolation level."""

import re
from collections.abc import Iterable

from kafka_lagoon.fetch.offset_specs import LATEST, OffsetSpecs
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.frozen import frozen

_TO_THE_END = OffsetSpecs(name="the end", default=LATEST)


@frozen
class ReadSpec:
    """The topics and offsets that one run reads.

    `start` decides for topics that were never archived. Archived ones continue at their next offsets and their new
    partitions start at the earliest, so that a schedule needs no other arguments for its second run.
    """

    topics: tuple[str, ...]
    pattern: str | None
    start: OffsetSpecs
    end: OffsetSpecs = _TO_THE_END
    isolation_level: str = READ_COMMITTED
    max_offsets: int | None = None

    @property
    def reads_to_the_end(self) -> bool:
        """True if every log is read to its end."""
        return self.end.default == LATEST and not self.end.by_partition

    def select(self, topics: Iterable[str], internal: Iterable[str] = ()) -> list[str]:
        """The named topics, or topics whose whole name matches the pattern and that are not internal."""
        names = set(topics)
        pattern = re.compile(self.pattern) if self.pattern else None
        hidden = set(internal)
        by_pattern = {name for name in names - hidden if pattern and pattern.fullmatch(name)}
        return sorted(by_pattern | names.intersection(self.topics))
