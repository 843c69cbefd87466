"""Partitions and where to begin in, their records out: one partition after the other, by time, or as they are written.

Guards one rule: what could not be read is told beside the records. Offsets that hold none (markers, compaction, aborted
transactions) are no loss; offsets that were deleted, or cannot be decoded, are named.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.client.cluster import Cluster, TopicPartition
from pipeline.client.deadline import Deadline
from pipeline.client.journal import Journal
from pipeline.client.offsets import HIGH_WATERMARK, LAST_STABLE, LOG_START, Offsets, list_offsets
from pipeline.client.routing import UNSUPPORTED, Failure
from pipeline.fetch.reader import SplitReader
from pipeline.fetch.split import READ_COMMITTED, ReadOptions, Split
from pipeline.records.columns import HEADER_KEY_NOT_UTF8

Row = dict[str, Any]

_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets `start` to `end` (not included); behind `stable_end` transactions may be open."""

    start: int
    end: int
    stable_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A topic that is read, and how."""

    topic: str
    topic_id: str | None
    options: ReadOptions

    def split(self, partition: int, span: Span, last_epoch: int = -1) -> Split:
        """What a reader is told of a span of a partition."""
        return Split(
            topic=self.topic,
            topic_id=self.topic_id,
            partition=partition,
            from_offset=span.start,
            to_offset=span.end,
            stable_end=span.stable_end,
            last_epoch=last_epoch,
        )


@dataclass(slots=True)
class Missing:
    """What was not read, and why."""

    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, reader: SplitReader) -> None:
        """Take over what a reader has to say."""
        outcome = reader.outcome
        name = f"{outcome.split.topic}-{outcome.split.partition}"
        if outcome.failure:
            self.fail(name, outcome.failure, outcome.detail)
        for problem in outcome.problems:
            if problem.reason == HEADER_KEY_NOT_UTF8:
                self.notes.append(
                    f"{name}: offset {problem.base_offset}: header keys that are not UTF-8 are spelled out"
                )
            else:
                self.fail(
                    f"{name} offsets {problem.base_offset} to {problem.last_offset}", problem.reason, problem.detail
                )
        if outcome.counts.lost:
            self.notes.append(f"{name}: {outcome.counts.lost:,} offsets were deleted before they were read")

    def fail(self, scope: str, name: str, message: str | None) -> None:
        """Note something that could not be read."""
        failure = Failure(
            api="Fetch", node_id=None, scope=scope, code=None, name=name, attempts=1, elapsed_ms=0, message=message
        )
        self.failures.append(failure)


def logs(
    cluster: Cluster, partitions: Sequence[TopicPartition], missing: Missing, deadline: Deadline, *, committed: bool
) -> dict[TopicPartition, Span]:
    """Where each log begins and ends for a reader of committed records, or of all; the others are missing."""
    found = list_offsets(cluster, partitions, [LOG_START, HIGH_WATERMARK, LAST_STABLE], deadline)
    spans = dict[TopicPartition, Span]()
    for at in partitions:
        stable = _stable(found, at)
        failure = next(
            (found[kind].failures[at] for kind in (LOG_START, HIGH_WATERMARK) if at in found[kind].failures), None
        )
        if failure or stable is None:
            missing.failures.append(failure or found[LAST_STABLE].failures[at])
            continue
        start, end = (found[kind].answers[at].offset for kind in (LOG_START, HIGH_WATERMARK))
        spans[at] = Span(start, stable if committed else end, stable)
    return spans


def _stable(found: Mapping[Any, Offsets], at: TopicPartition) -> int | None:
    """The last stable offset; brokers before ListOffsets v2 have no transactions, so all that is there is stable."""
    if at in found[LAST_STABLE].answers:
        return found[LAST_STABLE].answers[at].offset
    is_old = found[LAST_STABLE].failures[at].name == UNSUPPORTED and at in found[HIGH_WATERMARK].answers
    return found[HIGH_WATERMARK].answers[at].offset if is_old else None


def by_partition(
    cluster: Cluster, source: Source, spans: Mapping[TopicPartition, Span], missing: Missing
) -> Iterator[Row]:
    """One partition after the other, each in the order of its offsets."""
    for at, span in spans.items():
        yield from _rows(cluster, source.split(at.partition, span), source.options, missing)


def by_time(cluster: Cluster, source: Source, spans: Mapping[TopicPartition, Span], missing: Missing) -> Iterator[Row]:
    """All partitions at once, the earliest of their next records first; each partition in the order of its offsets.

    A reader has its connections for itself, so this opens those of a client for each partition.
    """
    streams = [_alone(cluster, source, source.split(at.partition, span), missing) for at, span in spans.items()]
    return heapq.merge(*streams, key=lambda row: row["timestamp_ms"])


def _alone(cluster: Cluster, source: Source, split: Split, missing: Missing) -> Iterator[Row]:
    deadline = Deadline.after(cluster.clock, cluster.settings.default_api_timeout_ms)
    with Cluster.connect(cluster.settings, cluster.clock, Journal(), deadline) as own:
        own.refresh({source.topic}, deadline)
        yield from _rows(own, split, source.options, missing)


def following(
    cluster: Cluster, source: Source, spans: Mapping[TopicPartition, Span], missing: Missing, until: Deadline | None
) -> Iterator[Row]:
    """What is there, then what is written, until the deadline: asked for every quarter of a second, by partition.

    A partition that cannot be read any more is left out from then on; without any left it ends.
    """
    places = {at: (span, -1) for at, span in spans.items()}
    while places and not (until and until.passed()):
        for at, (span, last_epoch) in list(places.items()):
            reader = SplitReader(cluster, source.split(at.partition, span, last_epoch), source.options)
            yield from _rows_of(reader, missing)
            outcome = reader.outcome
            places[at] = (
                replace(span, start=outcome.next_offset),
                outcome.leader_epoch if outcome.counts.records else last_epoch,
            )
            if outcome.failure:
                del places[at]
        cluster.clock.sleep(_POLL_S)
        deadline = Deadline.after(cluster.clock, cluster.settings.default_api_timeout_ms)
        committed = source.options.isolation_level == READ_COMMITTED
        now = logs(cluster, list(places), missing, deadline, committed=committed)
        places = {at: (replace(now[at], start=span.start), epoch) for at, (span, epoch) in places.items() if at in now}


def _rows(cluster: Cluster, split: Split, options: ReadOptions, missing: Missing) -> Iterator[Row]:
    return _rows_of(SplitReader(cluster, split, options), missing)


def _rows_of(reader: SplitReader, missing: Missing) -> Iterator[Row]:
    partition = reader.outcome.split.partition
    with closing(reader):
        for batch in reader.batches():
            for row in batch.to_pylist():
                row["partition"] = partition
                yield row
    missing.add(reader)
