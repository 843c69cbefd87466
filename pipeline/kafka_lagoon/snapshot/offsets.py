"""Makes one row per partition with the offsets at which its log begins and ends.

Kafka's -1 for "none" is null here, as is an offset that no leader answered.
"""

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence

from kafka_lagoon.admin.answer_columns import PartitionOrder
from kafka_lagoon.admin.offsets import (
    HIGH_WATERMARK,
    LARGEST_TIMESTAMP,
    LAST_STABLE,
    LOCAL_START,
    LOG_START,
    NOT_RETURNED,
    OF_EVERY_LOG,
    TIERED_END,
    Kind,
    OffsetColumns,
    Offsets,
    columns_of,
)
from kafka_lagoon.snapshot.topology import TOPIC_RECREATED, Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Columns, Runs, Stored, choose, or_none
from kafka_lagoon.topic_partition import TopicPartition

_NONE = -1


def offset_rows(topology: Topology, offsets: Mapping[Kind, Offsets]) -> Columns[PartitionOffsetsRow]:
    """One row per partition. An offset that was not answered or not requested is null, and `problem` names the first reason.

    An offset that older brokers do not support is no problem, except those where the log begins and ends, which all support.
    """
    everywhere = topology.every_partition()
    known = {kind: columns_of(one.answers, one.sources, everywhere) for kind, one in offsets.items()}
    wanted = (LOG_START, HIGH_WATERMARK, LAST_STABLE, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)
    if not known.keys() >= set(wanted):
        known = dict.fromkeys(wanted, OffsetColumns(PartitionOrder(everywhere))) | known
    start, end, stable, largest, local, tiered = (known[kind] for kind in wanted)
    counts = [len(partitions) for partitions in topology.partitions.values()]
    times_ms = [source.read_at_ms for source in end.several_sources]
    timestamps = _timestamps(largest)  # a time outside the calendar becomes null in the table
    of_logs: dict[str, Column] = {
        "log_start_offset": or_none(start.offsets),
        "high_watermark": or_none(end.offsets),
        "last_stable_offset": or_none(stable.offsets),
        "max_timestamp_offset": or_none(largest.offsets),
        "max_timestamp": timestamps,
        "max_timestamp_ms": timestamps,
        "local_log_start_offset": or_none(local.offsets),
        "tiered_offset": or_none(tiered.offsets),
        "leader_epoch": or_none(end.leader_epochs),
    }
    recreated = {topic for topic, change in topology.changed.items() if change == TOPIC_RECREATED}
    if recreated:  # which of the two logs an offset is of, is not known
        rows = {row for row, partition in enumerate(everywhere) if partition.topic in recreated}
        of_logs = {name: _without(rows, column) for name, column in of_logs.items()}
    return Stored(
        PartitionOffsetsRow,
        {
            "topic": Runs(counts, list(topology.partitions)),
            "topic_id": Runs(counts, [topology.topic_ids[topic] for topic in topology.partitions]),
            "partition": array("i", [partition for some in topology.partitions.values() for partition in some]),
            **of_logs,
            "read_at_ms": [None if place < 0 else times_ms[place] for place in end.source_places],
            "problem": _problems(topology, everywhere, offsets, (start, end, stable, local)),
        },
    )


def _without(rows: Container[int], column: Column) -> Column:
    return [None if row in rows else value for row, value in enumerate(column)]


def _timestamps(largest: OffsetColumns) -> Column:
    """Timestamps of the records with the largest timestamp; null for an empty log."""
    places = array("i", (_NONE if offset < 0 else row for row, offset in enumerate(largest.offsets)))
    return Chosen(places, largest.timestamps)


def _problems(
    topology: Topology,
    everywhere: Sequence[TopicPartition],
    offsets: Mapping[Kind, Offsets],
    never_absent: Iterable[OffsetColumns],
) -> Column:
    """The problem of each row: the topic changed, the first failure, or NOT_RETURNED.

    NOT_RETURNED is an offset that every log has, and that a leader gave as -1.
    """
    problems: dict[TopicPartition, str] = {}
    for columns in never_absent:
        if columns.order.partitions and min(columns.offsets) < 0:
            odd = zip(everywhere, columns.offsets, columns.source_places, strict=True)
            problems |= {partition: NOT_RETURNED for partition, offset, place in odd if offset < 0 <= place}
    for kind, gathered in reversed(list(offsets.items())):
        for partition, failure in gathered.failures.items():
            if kind in OF_EVERY_LOG or not failure.is_too_old:
                problems[partition] = failure.name
    for topic, change in topology.changed.items():
        problems |= {TopicPartition(topic, partition): change for partition in topology.partitions.get(topic, ())}
    return choose(map(problems.get, everywhere)) if problems else Runs.constant(None, len(everywhere))
