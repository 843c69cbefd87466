"""Resolves offset specs to offsets, by the bounds of the logs when reading is planned.

All callers get the same offsets. They decide what to do about an offset outside of its log: it is a fault of the settings
(ingest), lost data (the data source), or a note (`lagoon kafka fetch`).
"""

from collections.abc import Mapping
from typing import assert_never

from kafka_lagoon.admin.offsets import offsets_at
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.offset_specs import AtOffset, AtTime, BeforeEnd, Earliest, Latest, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.frozen import frozen
from kafka_lagoon.topic_partition import TopicPartition


@frozen
class ResolvedOffsets:
    """The offset of each partition, or the failure.

    An offset that was given as a number is in `offsets` unchanged; `outside` holds offsets before the log's start or after
    its end. `without_record` holds times after the last record; the offset is the log's end then. The first record at a
    time may be after the end, in an open transaction.
    """

    offsets: Mapping[TopicPartition, int]
    failures: Mapping[TopicPartition, Failure]
    outside: Mapping[TopicPartition, int]
    without_record: Mapping[TopicPartition, int]


def resolve(
    cluster: Cluster, specs: OffsetSpecs, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> ResolvedOffsets:
    """The offset of the spec in each of these logs. Brokers are asked only about times from 1970 on."""
    by_partition = {partition: specs.of(partition) for partition in logs}
    times = {
        partition: spec.timestamp_ms
        for partition, spec in by_partition.items()
        if isinstance(spec, AtTime | BeforeEnd) and spec.timestamp_ms is not None and spec.timestamp_ms >= 0
    }
    answers = offsets_at(cluster, times, deadline)
    at_times = {partition: answer.offset for partition, answer in answers.answers.items()}
    offsets = {
        partition: _offset(spec, logs[partition], at_times.get(partition, -1))
        for partition, spec in by_partition.items()
        if partition not in answers.failures
    }
    return ResolvedOffsets(
        offsets=offsets,
        failures=answers.failures,
        outside={
            partition: spec.offset
            for partition, spec in by_partition.items()
            if isinstance(spec, AtOffset) and not logs[partition].log_start_offset <= spec.offset <= logs[partition].end
        },
        without_record={partition: times[partition] for partition, offset in at_times.items() if offset < 0},
    )


def _offset(spec: OffsetSpec, log: LogBounds, at_time: int) -> int:
    match spec:
        case Earliest():
            return log.log_start_offset
        case Latest():
            return log.end
        case AtOffset(offset):
            return offset
        case BeforeEnd(offsets):
            return max(log.log_start_offset, (at_time if at_time >= 0 else log.end) - offsets)
        case AtTime(timestamp_ms) if timestamp_ms < 0:
            # ListOffsets cannot ask about times before 1970: -1 to -6 are special offsets (-1 is the end), and new brokers
            # refuse other negative timestamps. All records count as later, also those with -1, which is no timestamp.
            return log.log_start_offset
        case AtTime():
            return at_time if at_time >= 0 else log.end
    assert_never(spec)
