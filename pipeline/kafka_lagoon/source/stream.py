"""Plans the micro-batches of a stream: the offsets that it reaches next, and the tasks between two offsets.

Offsets are JSON of the connector's shape, {topic: {partition: next offset}}, with the ids of the topics beside them. They
contain all that a batch's rows depend on, so that a batch that is planned again reads the same. What was deleted since, or is
another topic of the same name, is an error or an event in the log.

Spark stores where a micro-batch ends, and asks for the start of the first one again whenever it plans it. So the end of the
first micro-batch also has its start, as Spark's connector keeps it in a file of the checkpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LAST_STABLE, LOG_START, Kind, list_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.fetch.offset_specs import LATEST, OffsetSpecs
from kafka_lagoon.fetch.ranges import LogBounds, PlannedRange, limited
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.source.options import STARTED_AT, TOPIC_IDS
from kafka_lagoon.source.plan import (
    log_bounds,
    lose,
    refuse_failures,
    require_fitting,
    select_partitions,
    starting_offsets,
    tasks,
)
from kafka_lagoon.source.query import Query
from kafka_lagoon.topic_partition import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

Value = TypeVar("Value", int, str)
_START = OffsetSpecs(name="startingOffsets", default=LATEST)


@frozen
class StreamOffsets:
    """The position of a stream: the next offset of every partition, and the ids of their topics if brokers return them."""

    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The form that Spark stores; in a fixed order, because Spark compares the text."""
        shape: dict[str, Any] = {}
        for partition in sorted(self.offsets):
            shape.setdefault(partition.topic, {})[str(partition.partition)] = self.offsets[partition]
        ids = {name: self.topic_ids[name] for name in sorted(shape.keys() & self.topic_ids.keys())}
        return shape | ({TOPIC_IDS: ids} if ids else {})

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> "StreamOffsets":
        """Parse the result of `to_json`; TableError for JSON of another shape."""
        with reading("the offsets in the checkpoint of the stream"):
            offsets = {
                TopicPartition(topic, int(partition)): _of_type(int, offset)
                for topic, partitions in shape.items()
                if topic not in (TOPIC_IDS, STARTED_AT)
                for partition, offset in partitions.items()
            }
            topic_ids = {topic: _of_type(str, topic_id) for topic, topic_id in shape.get(TOPIC_IDS, {}).items()}
        return cls(offsets=offsets, topic_ids=topic_ids)

    def since(self, before: "StreamOffsets") -> tuple["StreamOffsets", list[str]]:
        """The ranges between earlier offsets and these, and what is lost in between.

        New partitions start at 0, and so do those of a re-created topic; a log that was truncated continues at its end.
        """
        starts: dict[TopicPartition, int] = {}
        gone = sorted(before.offsets.keys() - self.offsets.keys())
        lines = [f"{partition.topic}:{partition.partition} is gone" for partition in gone]
        re_created = {topic for topic in self.topic_ids if self.is_re_created(topic, before)}
        lines += [f"topic {topic} was re-created" for topic in sorted(re_created)]
        for partition, end in self.offsets.items():
            start = 0 if partition.topic in re_created else before.offsets.get(partition, 0)
            if start > end:
                lines.append(f"{partition.topic}:{partition.partition} ends at {end}, and was read up to {start}")
            starts[partition] = min(start, end)
        return replace(self, offsets=starts), lines

    def is_re_created(self, topic: str, before: "StreamOffsets") -> bool:
        """True if the topic is another one of the same name than at earlier offsets."""
        topic_id = self.topic_ids.get(topic)
        return topic_id is not None and before.topic_ids.get(topic, topic_id) != topic_id


def _of_type(kind: type[Value], stored: Any) -> Value:
    if type(stored) is not kind:  # True is an int, too
        raise TypeError(f"{stored!r} is no {kind.__name__}")
    return stored


class LagoonStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads records as they are written. Spark keeps one stream for a query in a process, and makes others for its tasks."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._cluster: Cluster | None = None
        self._ends_once = False  # true with trigger(availableNow=True)
        self._target: StreamOffsets | None = None  # where a query with this trigger ends
        self._known: frozenset[str] = frozenset()  # topics that existed once and may have been deleted since
        self._latest: StreamOffsets | None = None
        # The last initial offset that Spark was given.
        self._initial: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """The start of a query without a checkpoint."""
        cluster, deadline = self._connected()
        options = self._query.options
        start = options.start or _START
        selected = select_partitions(cluster, options, deadline)
        require_fitting(start, selected)
        logs = log_bounds(cluster, selected.partitions, options.isolation_level, deadline)
        offsets = starting_offsets(cluster, options, start, logs, deadline)
        initial = StreamOffsets(offsets=_inside(offsets, logs), topic_ids=_known_ids(selected.topic_ids))
        self._initial = initial.to_json()
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """The approximate number of offsets of a micro-batch."""
        most = self._query.options.max_offsets_per_trigger
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  Spark's name
        """The end of the next micro-batch: the ends of the logs, or earlier, each in proportion to its backlog."""
        before = StreamOffsets.from_json(start)
        self._known |= {partition.topic for partition in before.offsets}
        cluster, deadline = self._connected()
        self._latest = self._target or self._ends(cluster, before, deadline)
        self._target = self._latest if self._ends_once else None
        starts, lines = self._latest.since(before)
        lose(self._query.options, lines)
        if not isinstance(limit, ReadMaxRows):
            return self._end(start, self._latest)
        ranges = limited(self._backlog(cluster, starts, self._latest, deadline), limit.max_rows)
        reached = {planned.topic_partition: planned.to_offset for planned in ranges}
        return self._end(start, replace(self._latest, offsets={**starts.offsets, **reached}))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802  Spark's name
        """The ends of the logs as last seen, for Spark's progress."""
        return self._latest.to_json() if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Let the query end where the logs end at its first micro-batch.

        The end is chosen only then, because the topics of the checkpoint, some of which may be deleted, are not known before.
        """
        self._ends_once, self._target = True, None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The splits of a micro-batch's tasks."""
        cluster, deadline = self._connected()
        reached = StreamOffsets.from_json(end)
        starts, _ = reached.since(StreamOffsets.from_json(start if start == end else end.get(STARTED_AT, start)))
        options = self._query.options
        unread = [partition for partition, offset in reached.offsets.items() if offset > starts.offsets[partition]]
        if not unread:
            return []
        topics = {partition.topic for partition in unread}
        self._known |= topics
        # `subscribe` may have been changed since the micro-batch was planned.
        of_batch = replace(options, topics=tuple(sorted(topics)), pattern=None, assigned=None)
        existing = set(select_partitions(cluster, of_batch, deadline, topics).partitions)
        gone = [partition for partition in unread if partition not in existing]
        lose(options, [f"{partition.topic}:{partition.partition} is gone" for partition in gone])
        readable = [partition for partition in unread if partition in existing]
        logs = log_bounds(cluster, readable, options.isolation_level, deadline)
        by_partition = {partition: _range(partition, starts, reached, bounds) for partition, bounds in logs.items()}
        lose(options, [line for key, planned in by_partition.items() for line in _outside(planned, logs[key])])
        there = [_up_to(planned, logs[key].high_watermark) for key, planned in by_partition.items()]
        ranges = [planned for planned in there if planned.first_readable < planned.to_offset]
        return [InputPartition(task) for task in tasks(cluster, ranges, logs, options, deadline)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The records of one task."""
        return self._query.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Does nothing: Spark's checkpoint has the position."""

    def stop(self) -> None:
        """Close the connections."""
        if self._cluster:
            self._cluster.close()
            self._cluster = None

    def _connected(self) -> tuple[Cluster, Deadline]:
        """The connections, which are kept: a waiting stream sends a hundred requests a second."""
        deadline = self._query.deadline()
        if self._cluster is None:
            self._cluster = self._query.connect(deadline)
            self._cluster.waits = True  # a stream outlives restarts of its brokers
        return self._cluster, deadline

    def _ends(self, cluster: Cluster, before: StreamOffsets, deadline: Deadline) -> StreamOffsets:
        selected = select_partitions(cluster, self._query.options, deadline, self._known)
        self._known |= set(selected.topic_ids)
        is_committed = self._query.options.isolation_level == READ_COMMITTED
        kind = LAST_STABLE if is_committed else HIGH_WATERMARK
        offsets = _offsets(cluster, selected.partitions, kind, deadline)
        # Brokers before Kafka 2.8 give no ids, as while an upgrade is taken back. The known ids are kept: otherwise a topic
        # that is re-created before brokers give ids again would pass for the one that was read.
        ends = StreamOffsets(offsets=offsets, topic_ids={**before.topic_ids, **_known_ids(selected.topic_ids)})
        return _not_before_start(cluster, ends, before, deadline) if is_committed else ends

    def _end(self, start: dict[str, Any], reached: StreamOffsets) -> dict[str, Any]:
        """The end of a micro-batch; the start as it is, if nothing has changed, because Spark compares the text."""
        end = reached.to_json()
        if end == {name: part for name, part in start.items() if name != STARTED_AT}:
            return start
        return end | {STARTED_AT: start} if start == self._initial else end

    def _backlog(
        self, cluster: Cluster, starts: StreamOffsets, ends: StreamOffsets, deadline: Deadline
    ) -> list[PlannedRange]:
        """The unread ranges in the order of their partitions; deleted offsets do not count.

        A partition that was deleted since the target was chosen (availableNow) is included: its micro-batch reports the loss.
        """
        unread = sorted(partition for partition, end in ends.offsets.items() if end > starts.offsets[partition])
        listed = list_offsets(cluster, unread, [LOG_START], deadline)[LOG_START]
        refuse_failures(one for one in listed.failures.values() if one.code != UNKNOWN_TOPIC_OR_PARTITION)
        log_starts = {partition: answer.offset for partition, answer in listed.answers.items()}
        ranges = []
        for partition in unread:
            start, end = log_starts.get(partition, starts.offsets[partition]), ends.offsets[partition]
            bounds = LogBounds(log_start_offset=start, high_watermark=end, last_stable_offset=end, end=end)
            ranges.append(_range(partition, starts, ends, bounds))
        return ranges


def _offsets(
    cluster: Cluster, partitions: Sequence[TopicPartition], kind: Kind, deadline: Deadline
) -> dict[TopicPartition, int]:
    gathered = list_offsets(cluster, partitions, [kind], deadline)[kind]
    refuse_failures(gathered.failures.values())
    return {partition: answer.offset for partition, answer in gathered.answers.items()}


def _not_before_start(
    cluster: Cluster, ends: StreamOffsets, before: StreamOffsets, deadline: Deadline
) -> StreamOffsets:
    """The ends; in place of an end before the stream's position that position, if it is in an open transaction.

    Such a position is after the last stable offset, and no records are lost.
    """
    after = [
        partition
        for partition, end in ends.offsets.items()
        if before.offsets.get(partition, 0) > end and not ends.is_re_created(partition.topic, before)
    ]
    if not after:  # the usual case: a stream that waits requests only one kind of offsets
        return ends
    log_ends = _offsets(cluster, after, HIGH_WATERMARK, deadline)
    kept = {one: before.offsets[one] for one in after if before.offsets[one] <= log_ends[one]}
    return replace(ends, offsets={**ends.offsets, **kept})


def _known_ids(topic_ids: Mapping[str, str | None]) -> dict[str, str]:
    return {name: topic_id for name, topic_id in topic_ids.items() if topic_id is not None}


def _inside(
    offsets: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogBounds]
) -> dict[TopicPartition, int]:
    """Offsets cut to the bounds of their logs. An offset in an open transaction, after the last stable offset, is kept."""
    return {
        partition: max(logs[partition].log_start_offset, min(offset, logs[partition].high_watermark))
        for partition, offset in offsets.items()
    }


def _range(partition: TopicPartition, start: StreamOffsets, end: StreamOffsets, bounds: LogBounds) -> PlannedRange:
    return PlannedRange(
        topic=partition.topic,
        topic_id=end.topic_ids.get(partition.topic),
        partition=partition.partition,
        from_offset=start.offsets[partition],
        to_offset=end.offsets[partition],
        log_start_offset=bounds.log_start_offset,
        stable_end=bounds.last_stable_offset,
    )


def _up_to(planned: PlannedRange, high_watermark: int) -> PlannedRange:
    """The part of a range that its log has. A task would wait for the records that a truncation removed, and fail."""
    return replace(planned, to_offset=min(planned.to_offset, high_watermark))


def _outside(planned: PlannedRange, bounds: LogBounds) -> list[str]:
    """The parts of a range that can no longer be read."""
    where, lines = f"{planned.topic}:{planned.partition}", []
    if planned.from_offset < bounds.log_start_offset:
        lines.append(f"{where} has offsets from {bounds.log_start_offset} on, not from {planned.from_offset}")
    if planned.to_offset > bounds.high_watermark:
        lines.append(f"{where} ends at {bounds.high_watermark}, and was to be read up to {planned.to_offset}")
    return lines
