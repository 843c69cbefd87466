"""Reads the records of partitions: one partition after the other, by time, or as they are written.

Offsets that were deleted or cannot be decoded are reported beside the records. Offsets of markers, of compacted records and
of aborted transactions are not reported, because no record is lost there.
"""

import heapq
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from threading import Timer
from typing import Any

from kafka_lagoon.cli.kafka.fetch_ranges import FetchRange, Missing, whole_logs
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.cli.terminal import warn
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConnectionFailed
from kafka_lagoon.fetch.ranges import TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import Stalls
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8
from kafka_lagoon.topic_partition import TopicPartition

Row = dict[str, Any]

_POLL_S = 0.25
_QUIET_S = 5
_WHY = {
    TOPIC_RECREATED: "it was deleted and created again meanwhile; fetch it again to read the new topic",
    TOPIC_DELETED: "it was deleted meanwhile",
}


@frozen
class Source:
    """A topic to read, with the client and the options of the reader."""

    topic: str
    topic_id: str | None
    options: ReadOptions

    def split(self, partition: int, offsets: FetchRange, last_epoch: int = -1) -> Split:
        """Make the split that reads these offsets of a partition."""
        return Split(
            topic=self.topic,
            topic_id=self.topic_id,
            partition=partition,
            from_offset=offsets.start,
            to_offset=offsets.end,
            stable_end=offsets.stable_end,
            last_epoch=last_epoch,
        )


def by_partition(
    cluster: Cluster, source: Source, ranges: Mapping[TopicPartition, FetchRange], missing: Missing
) -> Iterator[Row]:
    """Read one partition after the other, each in the order of its offsets.

    A broker that stalls costs the stall timeout once; the timeout is shorter for each of its further partitions.
    """
    stalls = Stalls(cluster.clock, source.options.stall_timeout_ms)
    for partition, offsets in ranges.items():
        reader = SplitReader(cluster, source.split(partition.partition, offsets), source.options, stalls)
        yield from _with_word(_rows_of(reader, missing), partition, source.options)


def _with_word(rows: Iterator[Row], partition: TopicPartition, options: ReadOptions) -> Iterator[Row]:
    """Pass the rows on, and warn if the first row takes long."""
    longest_s = options.stall_timeout_ms // 1000
    line = f"{partition}: nothing was read for {_QUIET_S} s; still trying, for {longest_s} s in all"
    timer = Timer(_QUIET_S, warn, (line,))
    timer.daemon = True
    timer.start()
    try:
        for row in rows:
            timer.cancel()
            yield row
    finally:
        timer.cancel()


def by_time(
    cluster: Cluster, source: Source, ranges: Mapping[TopicPartition, FetchRange], missing: Missing
) -> Iterator[Row]:
    """Read all partitions at once and merge them by timestamp; each partition stays in the order of its offsets.

    Readers do not share connections, so this opens the connections of a client for each partition.
    """
    streams = [
        _with_own_connections(cluster, source, source.split(partition.partition, offsets), missing)
        for partition, offsets in ranges.items()
    ]
    return heapq.merge(*streams, key=lambda row: row["timestamp_ms"])


def _with_own_connections(cluster: Cluster, source: Source, split: Split, missing: Missing) -> Iterator[Row]:
    deadline = Deadline.after(cluster.clock, cluster.settings.default_api_timeout_ms)
    with Cluster.connect(cluster.settings, cluster.clock, RequestStats(), deadline) as own:
        own.refresh({source.topic}, deadline)
        yield from _rows(own, split, source.options, missing)


def following(
    cluster: Cluster,
    source: Source,
    ranges: Mapping[TopicPartition, FetchRange],
    missing: Missing,
    until: Deadline | None,
) -> Iterator[Row]:
    """Read the existing records, then new records until the deadline. Partitions are polled four times a second.

    A partition that cannot be read any more is left out from then on, with a line at once. Reading ends if no partition is
    left, or if the topic was deleted or re-created: a re-created topic has other records at the same offsets.
    """
    unread, reported = {partition: (offsets, -1) for partition, offsets in ranges.items()}, 0
    is_gone = False
    while unread and not (until and until.passed()):
        for partition, (offsets, last_epoch) in list(unread.items()):
            reader = SplitReader(cluster, source.split(partition.partition, offsets, last_epoch), source.options)
            yield from _rows_of(reader, missing)
            outcome = reader.outcome
            unread[partition] = (
                replace(offsets, start=outcome.next_offset),
                max(last_epoch, outcome.leader_epoch),
            )
            if outcome.failure:
                del unread[partition]
                is_gone = is_gone or outcome.failure in {TOPIC_DELETED, TOPIC_RECREATED}
        if is_gone or not unread:
            return
        reported = _tell(missing, reported)
        cluster.clock.sleep(_POLL_S)
        deadline = Deadline.after(cluster.clock, cluster.settings.default_api_timeout_ms)
        later = Missing()
        now = whole_logs(cluster, list(unread), source.options.isolation_level, later, deadline)
        is_odd = any(
            partition not in now or now[partition].end < offsets.start for partition, (offsets, _) in unread.items()
        )
        if is_odd and (problem := _disappearance(cluster, source, deadline)):
            missing.fail(Scope.of_topic(source.topic), problem, _WHY[problem])
            return
        missing.failures += later.failures
        unread = {
            partition: (replace(now[partition], start=offsets.start), epoch)
            for partition, (offsets, epoch) in unread.items()
            if partition in now
        }


def _tell(missing: Missing, reported: int) -> int:
    """Print a line for each failure after the first `reported`; return their number. The last lines have all of them."""
    for line in failure_lines(missing.failures[reported:]):
        warn(line)
    return len(missing.failures)


def _disappearance(cluster: Cluster, source: Source, deadline: Deadline) -> str | None:
    """Return TOPIC_DELETED or TOPIC_RECREATED; None if neither happened, or if no broker answers."""
    try:
        (topic,) = agreed_metadata(cluster, {source.topic}, deadline).topics
    except (BrokerError, ConnectionFailed):
        return None
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return TOPIC_DELETED
    return None if cluster.topics.may_be(source.topic, source.topic_id) else TOPIC_RECREATED


def _rows(cluster: Cluster, split: Split, options: ReadOptions, missing: Missing) -> Iterator[Row]:
    return _rows_of(SplitReader(cluster, split, options), missing)


def _rows_of(reader: SplitReader, missing: Missing) -> Iterator[Row]:
    """Convert to rows column by column, which takes half the time of pyarrow's `to_pylist`."""
    partition = reader.outcome.split.partition
    with closing(reader):
        for batch in reader.batches():
            names = ("partition", *batch.schema.names)
            columns = [column.to_pylist() for column in batch.columns]
            for values in zip([partition] * batch.num_rows, *columns, strict=True):
                yield dict(zip(names, values, strict=True))
    _report(missing, reader.outcome)


def _report(missing: Missing, outcome: SplitOutcome) -> None:
    topic, partition = outcome.split.topic, outcome.split.partition
    name = f"{topic}-{partition}"
    if outcome.failure:
        why = outcome.detail or _WHY.get(outcome.failure)
        missing.fail(Scope.of_partition(topic, partition), outcome.failure, why)
    for problem in outcome.problems:
        if problem.reason == HEADER_KEY_NOT_UTF8:
            missing.notes.append(
                f"{name}: offset {problem.base_offset}: header keys that are not UTF-8 are spelled out"
            )
        else:
            offsets = f"offsets {problem.base_offset} to {problem.last_offset}"
            missing.fail(Scope.of_partition(topic, partition, offsets), problem.reason, problem.detail)
    if outcome.counts.lost:
        missing.notes.append(
            f"{name}: {outcome.counts.lost:,} offsets were deleted before they were read, or are missing in the log"
        )
