"""Compares two topics, in one cluster or two: partition by partition in order, or as multisets if their partitions differ."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import TypeVar

from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.connections import Connections
from kafka_lagoon.compare.in_order import compare_partition
from kafka_lagoon.compare.multisets import BucketSums, fitting, records_in, set_differences
from kafka_lagoon.compare.reading import LOST, Chunk, unread
from kafka_lagoon.compare.result import Comparison, How, failures_of, notes_of
from kafka_lagoon.compare.sequences import Report
from kafka_lagoon.compare.sides import Side, Source, Wanted, of_one_log
from kafka_lagoon.fetch.split import Split, SplitOutcome

DELETED_MEANWHILE = (
    "records were deleted before they were read again: differences may be missing from the list, or be wrong"
)
T = TypeVar("T")


def compare_topics(
    left: Source, right: Source, wanted: Wanted, how: How, clock: Clock, report: Report = lambda _: None
) -> Comparison:
    """Compare the records that both sides have now; ConfigError if a topic or partition does not exist.

    `report` is called with the number of compared records. A side that cannot be reached at all is a ConnectionFailed.
    """
    with Connections(left, right, clock) as connections:
        with connections.lend() as pair:
            sides = of_one_log(pair[0].choose(wanted), pair[1].choose(wanted))
        comparison = _begin(sides, how)
        if comparison.in_order:
            _compare_in_order(connections, sides, how, report, comparison)
        else:
            _compare_sets(connections, sides, how, report, comparison)
        return comparison


def _begin(sides: tuple[Side, Side], how: How) -> Comparison:
    left, right = sides
    is_alike = left.partitions == right.partitions
    notes = [*left.notes, *right.notes]
    if how.in_order and not is_alike:
        notes.append(
            f"{left.of} has {left.partitions} partitions, {right.of} {right.partitions}: compared as a whole, without order"
        )
    return Comparison(
        left=left,
        right=right,
        in_order=how.in_order and is_alike,
        failures=[*left.failures, *right.failures],
        notes=notes,
    )


def _compare_in_order(
    connections: Connections, sides: tuple[Side, Side], how: How, report: Report, comparison: Comparison
) -> None:
    shared = sorted(sides[0].splits.keys() & sides[1].splits.keys())
    with connections.threads() as threads:
        results = threads.map(lambda number: compare_partition(connections, sides, number, how, report), shared)
        for part, failures in results:
            comparison.partitions.append(part)
            comparison.failures += failures
            comparison.notes += part.notes
            comparison.left_records += part.left_records
            comparison.right_records += part.right_records
            comparison.is_whole &= part.gave_up is None


def _compare_sets(
    connections: Connections, sides: tuple[Side, Side], how: How, report: Report, comparison: Comparison
) -> None:
    sums = [_summed(connections, sides[index], index, how, report, comparison) for index in (0, 1)]
    comparison.left_records, comparison.right_records = sums[0].records, sums[1].records
    differing = sums[0].differing(sums[1])
    if not len(differing):
        return
    buckets = fitting(sums[0], sums[1], how.limits.different)
    if len(buckets) < len(differing):
        comparison.is_whole = False
        share = len(buckets) / len(differing)
        comparison.notes.append(
            f"too many differences: those below are a sample, about {share:.1%} of all"
            if len(buckets)
            else "differences are not listed: too many records would have to be kept to find them"
        )
    if not len(buckets):
        return

    (left, of_left), (right, of_right) = (
        _of_each(connections, sides[index], index, how, lambda chunks: records_in(chunks, buckets)) for index in (0, 1)
    )
    comparison.sets = set_differences(left, right)
    if not comparison.failures:  # a second pass would fail, too
        for side, outcomes in zip(sides, (of_left, of_right), strict=True):
            _judge_second_pass(side, outcomes, comparison)


def _judge_second_pass(side: Side, outcomes: Iterable[SplitOutcome], comparison: Comparison) -> None:
    """Add failures and notes about records that were not read again, so that differences may not be listed."""
    for outcome in outcomes:
        reason = unread(outcome)
        comparison.is_whole &= reason is None
        if reason == LOST:
            comparison.notes.append(f"{side.of}, partition {outcome.split.partition}: {DELETED_MEANWHILE}")
        else:
            comparison.failures += failures_of(side.of, outcome)


def _summed(
    connections: Connections, side: Side, index: int, how: How, report: Report, comparison: Comparison
) -> BucketSums:
    total, adding = BucketSums(), Lock()

    def add_partition(chunks: Iterable[Chunk]) -> None:
        sums = BucketSums()
        for chunk in chunks:
            sums.add(chunk.hashes)
            report(len(chunk.offsets))
        with adding:  # not when all are read: each has 1.5 MB of sums
            total.add_all(sums)

    _, outcomes = _of_each(connections, side, index, how, add_partition)
    for outcome in outcomes:
        comparison.failures += failures_of(side.of, outcome)
        comparison.notes += notes_of(side.of, outcome)
    return total


def _of_each(
    connections: Connections, side: Side, index: int, how: How, read: Callable[[Iterable[Chunk]], T]
) -> tuple[dict[int, T], list[SplitOutcome]]:
    """The result of `read` for each partition of a side, several at a time."""

    def of_one(split: Split) -> tuple[T, SplitOutcome]:
        with connections.lend() as pair:
            reader = pair[index].read(split, how.read, how.fields)
            return read(connections.chunks(reader)), reader.outcome

    with connections.threads() as threads:
        done = list(threads.map(of_one, side.splits.values()))
    results = dict(zip(side.splits, (result for result, _ in done), strict=True))
    return results, [outcome for _, outcome in done]
