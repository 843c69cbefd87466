"""Declares the options and the result of a comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.compare.differences import NOT_COMPARED, Difference, Kind
from kafka_lagoon.compare.multisets import SetDifference
from kafka_lagoon.compare.reading import unread
from kafka_lagoon.compare.sequences import CompareLimits
from kafka_lagoon.compare.sides import Side, Source
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.records.digests import ALL_FIELDS

PARTITIONS_AT_ONCE = 4
# Bytes of one answer: two answers of each side of a partition are in memory, and two Arrow batches made of them.
_FETCH_BYTES = 2 << 20


@frozen
class How:
    """Options of a comparison: the compared fields, and whether order counts if both topics have as many partitions."""

    fields: frozenset[str] = ALL_FIELDS
    in_order: bool = True
    limits: CompareLimits = field(default_factory=CompareLimits)
    read: ReadOptions = field(
        default_factory=lambda: ReadOptions(
            fetch_bytes=_FETCH_BYTES, decoding=DecodeOptions(expanded_bytes=2 * _FETCH_BYTES)
        )
    )


@frozen
class ComparedPartition:
    """The comparison of a partition in order. `gave_up` says why it stopped early; the records are those until then."""

    partition: int
    left: Split
    right: Split
    left_records: int
    right_records: int
    equal: int
    differences: Sequence[Difference]
    gave_up: str | None
    notes: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class Comparison:
    """The result: `partitions` if they were compared in order, else `sets` for the topics as a whole.

    `is_whole`: the differences are all that there are between what was read.
    """

    left: Side
    right: Side
    in_order: bool
    partitions: list[ComparedPartition] = field(default_factory=list)
    sets: list[SetDifference] = field(default_factory=list)
    left_records: int = 0
    right_records: int = 0
    is_whole: bool = True
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def counts(self) -> dict[Kind, int]:
        """The number of records of each kind that occurs."""
        counts: Counter[Kind] = Counter()
        for part in self.partitions:
            for difference in part.differences:
                counts[difference.kind] += difference.records
        for of_set in self.sets:
            counts[of_set.kind] += of_set.records
        return {kind: counts[kind] for kind in Kind if counts[kind]}

    def is_equal(self) -> bool:
        """True if nothing differs in what could be compared."""
        return self.is_whole and not self.counts().keys() - NOT_COMPARED


def failures_of(of: Source, outcome: SplitOutcome) -> list[Failure]:
    """Failures that kept a split from being read completely."""
    name = unread(outcome)
    if name is None:
        return []
    scope = Scope.of_partition(outcome.split.topic, outcome.split.partition)
    detail = outcome.detail or next((problem.detail for problem in outcome.problems if problem.reason == name), None)
    return [own_failure(FETCH, scope, name, f"{of.cluster}: {detail or 'not all of it could be read'}")]


def notes_of(of: Source, outcome: SplitOutcome) -> list[str]:
    """Notes about a split that was read."""
    escaped = sum(problem.reason == HEADER_KEY_NOT_UTF8 for problem in outcome.problems)
    if not escaped:
        return []
    name = f"{of}, partition {outcome.split.partition}"
    return [
        f"{name}: {escaped:,} records have header keys that are not UTF-8; they are compared as they are spelled out"
    ]
