"""Bounds of what a snapshot may say about lag, from what the load's consumers and librdkafka have observed.

A snapshot reads at some moment between its start and its end. The high watermark never falls, so it is at least what was answered before that
time, and at most what was answered to a request after it. During a fault a leader that was replaced may answer with what it remembers:
that is a least value, but not a most. A commit that was acknowledged before is the least, and the largest that
was sent until its end is the most; a commit without an answer may still arrive, so for some time it may also be the least.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_lagoon.topic_partition import TopicPartition
from tests.proof.evidence import LagRow

MAY_ARRIVE_WITHIN_MS = 120_000
RECOVERS_WITHIN_MS = 20_000  # after a fault: brokers catch up and learn who leads, and locks of orphans end
_OF_COMMITS = ("committed_offset", "lag")  # null until a group commits


class Span(NamedTuple):
    """The smallest and the largest value that are possible; None for no limit."""

    least: int | None
    most: int | None

    def has(self, value: int) -> bool:
        """Return True if the value is possible."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


class Period(NamedTuple):
    """The time of a snapshot, a run, a request or a fault, in milliseconds."""

    start_ms: int
    end_ms: int

    def is_disturbed(self, faults: Iterable["Period"]) -> bool:
        """Return True if a fault, or what follows it, overlaps with this time."""
        return any(
            fault.start_ms <= self.end_ms and self.start_ms <= fault.end_ms + RECOVERS_WITHIN_MS for fault in faults
        )


class Answer(NamedTuple):
    """An offset that Kafka has returned, and when it was requested and returned."""

    requested_ms: int
    returned_ms: int
    offset: int


@dataclass(slots=True)
class Commit:
    """A commit that a consumer has sent; `returned_ms` is None until it is acknowledged."""

    sent_ms: int
    offset: int
    returned_ms: int | None = None


@dataclass(slots=True)
class Observed:
    """Commits of consumers, answers of Kafka, and faults, each in the order of time. Threads append, and nobody removes."""

    starts: dict[TopicPartition, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[TopicPartition, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    commits: dict[tuple[str, TopicPartition], list[Commit]] = field(default_factory=lambda: defaultdict(list))
    faults: list[Period] = field(default_factory=list)

    def committed(self, group_id: str, partition: TopicPartition, period: Period) -> Span:
        """Bounds of a group's commit."""
        sent = [one for one in self.commits.get((group_id, partition), ()) if one.sent_ms <= period.end_ms]
        before = [one for one in sent if one.returned_ms is not None and one.returned_ms <= period.start_ms]
        if not before:
            return Span(None, max((one.offset for one in sent), default=None))
        arriving = [one.offset for one in sent if _may_arrive(one, period)]
        return Span(min([before[-1].offset, *arriving]), max(one.offset for one in sent))


def _may_arrive(commit: Commit, period: Period) -> bool:
    return commit.returned_ms is None and commit.sent_ms > period.start_ms - MAY_ARRIVE_WITHIN_MS


def between(answers: Sequence[Answer], period: Period, faults: Sequence[Period] = ()) -> Span:
    """Bounds of an offset that never falls."""
    before = [one.offset for one in answers if one.returned_ms <= period.start_ms]
    after = (one for one in answers if one.requested_ms >= period.end_ms)
    most = next(
        (one.offset for one in after if not Period(one.requested_ms, one.returned_ms).is_disturbed(faults)), None
    )
    return Span(max(before, default=None), most)


def wrong_rows(
    rows: Sequence[LagRow], observed: Observed, periods: Mapping[str, Period], complete: Mapping[str, bool]
) -> Iterator[str]:
    """Name rows that say what is not possible, nulls of complete snapshots, and rows that a complete snapshot lacks."""
    for row in rows:
        if period := periods.get(row.snapshot_id):
            yield from _faults(row, observed, period, complete[row.snapshot_id])
    there = {(row.snapshot_id, row.group_id, TopicPartition(row.topic, row.partition)) for row in rows}
    for snapshot_id, is_complete in complete.items():
        if snapshot_id not in periods:
            yield f"snapshot {snapshot_id}: no run has made it"
            continue
        for group_id, partition in observed.commits if is_complete else ():
            is_known = observed.committed(group_id, partition, periods[snapshot_id]).least is not None
            if is_known and (snapshot_id, group_id, partition) not in there:
                yield f"snapshot {snapshot_id} is complete and has no lag of {group_id} in {partition}"


def _faults(row: LagRow, observed: Observed, period: Period, is_complete: bool) -> Iterator[str]:
    partition = TopicPartition(row.topic, row.partition)
    where = f"snapshot {row.snapshot_id}, {row.group_id}, {partition}"
    commit = observed.committed(row.group_id, partition, period)
    start, end = (between(of.get(partition, ()), period, observed.faults) for of in (observed.starts, observed.ends))
    values = {
        "log_start_offset": (row.log_start_offset, start),
        "high_watermark": (row.high_watermark, end),
        "committed_offset": (row.committed_offset, commit),
        "lag": (row.lag, _difference(end, commit)),
    }
    for name, (value, span) in values.items():
        if value is None:
            if is_complete and not (commit.least is None and name in _OF_COMMITS):
                yield f"{where}: no {name} in a complete snapshot"
        elif not span.has(value):
            yield f"{where}: {name} {value} is not between {span.least} and {span.most}"
    high, committed = row.high_watermark, row.committed_offset
    if row.lag is not None and (high is None or committed is None or row.lag != high - committed):
        yield f"{where}: lag {row.lag} is not {high} - {committed}"


def _difference(end: Span, commit: Span) -> Span:
    least = None if end.least is None or commit.most is None else end.least - commit.most
    most = None if end.most is None or commit.least is None else end.most - commit.least
    return Span(least, most)
