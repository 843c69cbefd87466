"""Reads a task's splits into Arrow batches with the columns of the query, on an executor.

A split is read to its end, or the task fails with the reason, unless the query accepts lost data.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import RecordsError
from kafka_lagoon.fetch.ranges import LOSSES, LOST
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.small_partitions import SmallPartitions, Unread
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.source.columns import OF_THE_SPLIT, decoded, decoded_as

_ROWS = 50_000  # bytes of one Arrow batch, which Spark's JVM keeps in its caches
_EXPANDED_BYTES = 8 << 20


@frozen
class Reading:
    """Settings that all tasks of a query share.

    `schema` is the schema that Spark expects of every Arrow batch. Columns that are not `needed` are null in it, because
    nobody looks at them.
    """

    kafka: KafkaSettings
    isolation_level: str
    fail_on_data_loss: bool
    schema: pa.Schema
    needed: frozenset[str]

    def options(self) -> ReadOptions:
        """Options for reading splits with these columns."""
        decoding = DecodeOptions(columns=decoded(self.needed), expanded_bytes=_EXPANDED_BYTES, raw_limit_bytes=0)
        return ReadOptions(isolation_level=self.isolation_level, decoding=decoding)

    def decodes(self, name: str) -> bool:
        """True for a column of records; the others are values of the split, or null."""
        return name in self.needed and name not in OF_THE_SPLIT


def read(reading: Reading, clock: Clock, task: Task) -> Iterator[pa.RecordBatch]:
    """The records of a task's splits. RecordsError names offsets that could not be read, unless loss is accepted."""
    options = reading.options()
    with Cluster(reading.kafka, clock, RequestStats(), waits=True) as cluster:
        topics = {split.topic for split in task.splits}
        cluster.refresh(topics, Deadline.after(clock, options.stall_timeout_ms))
        small = SmallPartitions(cluster, options, Limits.of(clock, options))
        for part in small.read(task.splits):
            if isinstance(part, Unread):
                yield from _read_alone(reading, options, cluster, part)
            else:
                yield from _shaped(reading, part.batch, _of_several(reading, part.rows))
        for outcome in small.outcomes:
            if outcome.counts.lost:
                _report_losses(outcome, reading)


def _read_alone(reading: Reading, options: ReadOptions, cluster: Cluster, part: Unread) -> Iterator[pa.RecordBatch]:
    reader = SplitReader(cluster, part.split, options, answer=part.answer)
    of_split = _of_one(reading, part.split)
    try:
        for batch in reader.batches():
            yield from _shaped(reading, batch, of_split)
    finally:
        reader.close()
    _report_losses(reader.outcome, reading)


# A column that is not decoded, from a row of an Arrow batch on: a value of the split, or null.
_NotDecoded = Callable[[str, int, int], pa.Array]


def _of_one(reading: Reading, split: Split) -> _NotDecoded:
    """Columns of one value, made once and sliced without copying: a topic's name otherwise costs 10 ns a row."""
    columns = {
        field.name: pa.repeat(pa.scalar(getattr(split, field.name), field.type), _ROWS)
        if field.name in reading.needed
        else pa.nulls(_ROWS, field.type)
        for field in reading.schema
        if not reading.decodes(field.name)
    }
    return lambda name, _start, count: columns[name].slice(0, count)


def _of_several(reading: Reading, rows: Sequence[tuple[Split, int]]) -> _NotDecoded:
    numbers = pa.array(np.repeat(np.arange(len(rows)), [count for _, count in rows]))
    columns = {
        field.name: pa.array([getattr(split, field.name) for split, _ in rows], field.type).take(numbers)
        if field.name in reading.needed
        else pa.nulls(len(numbers), field.type)
        for field in reading.schema
        if not reading.decodes(field.name)
    }
    return lambda name, start, count: columns[name].slice(start, count)


def _shaped(reading: Reading, batch: pa.RecordBatch, not_decoded: _NotDecoded) -> Iterator[pa.RecordBatch]:
    """The decoder's columns in the form that Spark expects."""
    schema = reading.schema
    columns = {
        field.name: _as(batch.column(decoded_as(field.name)), field.type)
        for field in schema
        if reading.decodes(field.name)
    }
    for start in range(0, batch.num_rows, _ROWS):
        count = min(_ROWS, batch.num_rows - start)
        arrays = [
            columns[name].slice(start, count) if name in columns else not_decoded(name, start, count)
            for name in schema.names
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with Spark's names of its parts. Headers are null if there are none, as in the connector."""
    if not pa.types.is_list(kind):
        return column
    header = kind.value_type
    headers = pa.StructArray.from_arrays(column.values.flatten(), fields=list(header))
    return pa.ListArray.from_arrays(column.offsets, headers, type=kind, mask=pc.equal(pc.list_value_length(column), 0))


def _report_losses(outcome: SplitOutcome, reading: Reading) -> None:
    """Raise the reason why a split was not read completely, or log it if loss is accepted."""
    split = outcome.split
    where = f"{split.topic}:{split.partition}"
    rest = _of(where, outcome.next_offset, split.to_offset - 1, outcome.detail)
    if outcome.failure and outcome.failure not in LOSSES:
        raise RecordsError(outcome.failure, rest)
    lines = [(outcome.failure, rest)] if outcome.failure else []
    if outcome.counts.lost:
        lines.append((LOST, f"{outcome.counts.lost} of the {_of(where, split.from_offset, split.to_offset - 1, None)}"))
    if outcome.counts.corrupt:
        lines += [
            (problem.reason, _of(where, problem.base_offset, problem.last_offset, problem.detail))
            for problem in outcome.problems
            if problem.reason != HEADER_KEY_NOT_UTF8
        ]
    for reason, detail in lines:
        if reading.fail_on_data_loss:
            raise RecordsError(reason, f"{detail}; failOnDataLoss=false reads what is there")
        log.error("data_loss", reason=reason, detail=detail)


def _of(where: str, first: int, last: int, detail: str | None) -> str:
    return f"offsets {first} to {last} of {where}" + (f" ({detail})" if detail else "")
