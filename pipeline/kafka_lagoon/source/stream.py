"""Offsets of a stream in, later ones and the tasks between the two out.

Offsets are JSON of the connector's shape, {topic: {partition: next offset}}, with the ids of the topics beside them.
Guards one rule: the offsets of a batch say all that its rows depend on, so that a batch that is planned again reads the
same; what is gone since, or is another topic of the same name, is an error or an event in the log.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LAST_STABLE, LOG_START, list_offsets
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.ranges import LogNow, PlannedRange, limited
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.source.options import LATEST, TOPIC_IDS, Offsets
from kafka_lagoon.source.plan import all_logs, choose, edge_offsets, lose, refuse_failures, require_all, tasks
from kafka_lagoon.source.query import Query

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """How far a stream is: the next offset of every partition, and the ids of their topics where brokers give them."""

    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """As Spark keeps them; in a fixed order, for Spark compares their text."""
        shape: dict[str, Any] = {}
        for at in sorted(self.offsets):
            shape.setdefault(at.topic, {})[str(at.partition)] = self.offsets[at]
        ids = {name: self.topic_ids[name] for name in sorted(shape.keys() & self.topic_ids.keys())}
        return shape | ({TOPIC_IDS: ids} if ids else {})

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> "Marks":
        """What `to_json` gave."""
        offsets = {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in shape.items()
            if topic != TOPIC_IDS
            for partition, offset in partitions.items()
        }
        return cls(offsets=offsets, topic_ids=shape.get(TOPIC_IDS, {}))

    def since(self, before: "Marks") -> tuple["Marks", list[str]]:
        """Where reading goes on for these marks to be reached, and what is lost on the way.

        New partitions begin at 0, so do those of a topic that was created anew; a log that has become shorter goes on
        at its end.
        """
        goes_on: dict[TopicPartition, int] = {}
        lines = [f"{at.topic}:{at.partition} is gone" for at in sorted(before.offsets.keys() - self.offsets.keys())]
        others = [
            topic for topic, topic_id in self.topic_ids.items() if before.topic_ids.get(topic, topic_id) != topic_id
        ]
        lines += [f"topic {topic} was created anew" for topic in sorted(others)]
        for at, end in self.offsets.items():
            start = 0 if at.topic in others else before.offsets.get(at, 0)
            if start > end:
                lines.append(f"{at.topic}:{at.partition} ends at {end}, and was read up to {start}")
            goes_on[at] = min(start, end)
        return replace(self, offsets=goes_on), lines


class LagoonStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what comes. Spark keeps one for a query in a process of its own, and makes others for its tasks."""

    def __init__(self, asked: Query) -> None:
        self._query = asked
        self._cluster: Cluster | None = None
        self._target: Marks | None = None  # with trigger(availableNow=True), where the query ends
        self._known: frozenset[str] = frozenset()  # topics that were there once: they may be deleted
        self._latest: Marks | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Where a query without a checkpoint begins."""
        cluster, deadline = self._connected()
        options = self._query.options
        start = options.start or Offsets(option="startingOffsets", everywhere=LATEST)
        chosen = choose(cluster, options, deadline)
        require_all(start, chosen)
        logs = all_logs(cluster, chosen.partitions, options.isolation_level, deadline)
        offsets = edge_offsets(cluster, options, start, logs, deadline)
        return Marks(offsets=_inside(offsets, logs), topic_ids=_told(chosen.topic_ids)).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """About how many offsets a micro-batch has."""
        most = self._query.options.max_offsets_per_trigger
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Where the next micro-batch ends: at the ends of the logs, or before, each in proportion to its backlog."""
        before = Marks.from_json(start)
        self._known |= {at.topic for at in before.offsets}
        cluster, deadline = self._connected()
        self._latest = self._target or self._ends(cluster, deadline)
        goes_on, lines = self._latest.since(before)
        lose(self._query.options, lines)
        if not isinstance(limit, ReadMaxRows):
            return self._latest.to_json()
        ranges = self._backlog(cluster, goes_on, self._latest, deadline)
        reached = {TopicPartition(one.topic, one.partition): one.to_offset for one in limited(ranges, limit.max_rows)}
        return replace(self._latest, offsets={**goes_on.offsets, **reached}).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802  Spark's name
        """The ends of the logs as they were last seen, for the progress that Spark shows."""
        return self._latest.to_json() if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Keep the ends of the logs: the query goes so far."""
        self._target = self._ends(*self._connected())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What each task of a micro-batch reads."""
        cluster, deadline = self._connected()
        reached = Marks.from_json(end)
        goes_on, _ = reached.since(Marks.from_json(start))
        options = self._query.options
        unread = [at for at, offset in reached.offsets.items() if offset > goes_on.offsets[at]]
        self._known |= {at.topic for at in unread}
        there = set(choose(cluster, options, deadline, self._known).partitions)
        lose(options, [f"{at.topic}:{at.partition} is gone" for at in unread if at not in there])
        logs = all_logs(cluster, [at for at in unread if at in there], options.isolation_level, deadline)
        ranges = [_range(at, goes_on, reached, log) for at, log in logs.items()]
        lose(
            options, [line for one in ranges for line in _outside(one, logs[TopicPartition(one.topic, one.partition)])]
        )
        ranges = [one for one in ranges if one.first_readable < one.to_offset]
        return [InputPartition(task) for task in tasks(cluster, ranges, logs, options, deadline)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task."""
        return self._query.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: Spark's checkpoint says how far the query is."""

    def stop(self) -> None:
        """Close the connections."""
        if self._cluster:
            self._cluster.close()
            self._cluster = None

    def _connected(self) -> tuple[Cluster, Deadline]:
        """The connections are kept: a stream that waits asks a hundred times a second."""
        deadline = self._query.deadline()
        if self._cluster is None:
            self._cluster = self._query.connect(deadline)
        return self._cluster, deadline

    def _ends(self, cluster: Cluster, deadline: Deadline) -> Marks:
        chosen = choose(cluster, self._query.options, deadline, self._known)
        self._known |= set(chosen.topic_ids)
        kind = LAST_STABLE if self._query.options.isolation_level == READ_COMMITTED else HIGH_WATERMARK
        found = list_offsets(cluster, chosen.partitions, [kind], deadline)[kind]
        refuse_failures(found.failures.values())
        offsets = {at: one.offset for at, one in found.answers.items()}
        return Marks(offsets=offsets, topic_ids=_told(chosen.topic_ids))

    def _backlog(self, cluster: Cluster, goes_on: Marks, ends: Marks, deadline: Deadline) -> list[PlannedRange]:
        """What is to be read, in the order of its partitions; what is no longer there counts for nothing."""
        unread = sorted(at for at, end in ends.offsets.items() if end > goes_on.offsets[at])
        found = list_offsets(cluster, unread, [LOG_START], deadline)[LOG_START]
        refuse_failures(found.failures.values())
        logs = {
            at: LogNow(log_start_offset=found.answers[at].offset, high_watermark=end, last_stable_offset=end, end=end)
            for at, end in ((at, ends.offsets[at]) for at in unread)
        }
        return [_range(at, goes_on, ends, logs[at]) for at in unread]


def _told(topic_ids: Mapping[str, str | None]) -> dict[str, str]:
    return {name: topic_id for name, topic_id in topic_ids.items() if topic_id is not None}


def _inside(offsets: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogNow]) -> dict[TopicPartition, int]:
    return {at: max(logs[at].log_start_offset, min(offset, logs[at].end)) for at, offset in offsets.items()}


def _range(at: TopicPartition, start: Marks, end: Marks, log: LogNow) -> PlannedRange:
    return PlannedRange(
        topic=at.topic,
        topic_id=end.topic_ids.get(at.topic),
        partition=at.partition,
        from_offset=start.offsets[at],
        to_offset=end.offsets[at],
        log_start_offset=log.log_start_offset,
        stable_end=log.last_stable_offset,
    )


def _outside(one: PlannedRange, log: LogNow) -> list[str]:
    """What cannot be read any more of a range."""
    where, lines = f"{one.topic}:{one.partition}", []
    if one.from_offset < log.log_start_offset:
        lines.append(f"{where} has offsets from {log.log_start_offset} on, not from {one.from_offset}")
    if one.to_offset > log.high_watermark:
        lines.append(f"{where} ends at {log.high_watermark}, and was to be read up to {one.to_offset}")
    return lines
