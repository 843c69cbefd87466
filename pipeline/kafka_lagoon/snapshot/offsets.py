"""Makes one row per partition of where its log begins and ends.

Kafka's -1 for "there is none" is null here, and so is what no leader answered.
"""

from collections.abc import Iterable, Iterator, Mapping

from kafka_lagoon.admin.offsets import (
    HIGH_WATERMARK,
    LARGEST_TIMESTAMP,
    LAST_STABLE,
    LOCAL_START,
    LOG_START,
    TIERED_END,
    Kind,
    Offsets,
)
from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.client.failures import UNSUPPORTED
from kafka_lagoon.protocol.messages.list_offsets import ListOffsetsResponsePartition
from kafka_lagoon.snapshot.state_rows import PartitionOffsetsRow
from kafka_lagoon.snapshot.topology import Topology

NOT_RETURNED = "OFFSET_NOT_RETURNED"  # -1 for an offset that every log has
_ALL_BROKERS_KNOW = frozenset({LOG_START, HIGH_WATERMARK})


def offset_rows(topology: Topology, offsets: Mapping[Kind, Offsets]) -> Iterator[PartitionOffsetsRow]:
    """One row per partition; what no leader answered, or was not requested, is null, and `problem` names the first reason.

    That brokers are too old for a kind of offset is no problem, but where a log begins and ends they all know.
    """
    start, end, stable, largest, local, tiered = (
        offsets[kind].answers if kind in offsets else {}
        for kind in (LOG_START, HIGH_WATERMARK, LAST_STABLE, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)
    )
    sources = offsets[HIGH_WATERMARK].sources
    for topic, partitions in topology.partitions.items():
        topic_id, changed = topology.topic_ids[topic], topology.changed.get(topic)
        for partition in partitions:
            key = TopicPartition(topic, partition)
            first, last, last_stable, first_local = start.get(key), end.get(key), stable.get(key), local.get(key)
            log_start_offset, high_watermark, last_stable_offset = _offset(first), _offset(last), _offset(last_stable)
            max_timestamp_offset, max_timestamp_ms = _newest(largest.get(key))
            local_log_start_offset, tiered_offset = _offset(first_local), _offset(tiered.get(key))
            leader_epoch = None if last is None or last.leader_epoch < 0 else last.leader_epoch
            source = sources.get(key)
            read_at_ms = source.read_at_ms if source else None
            problem = changed or _problem(key, offsets, (first, last, last_stable, first_local))
            max_timestamp = max_timestamp_ms  # what no calendar has becomes null in the table
            # By position, which takes a quarter of the time; tests/test_row_classes.py compares names and fields.
            yield PartitionOffsetsRow(
                topic,
                topic_id,
                partition,
                log_start_offset,
                high_watermark,
                last_stable_offset,
                max_timestamp_offset,
                max_timestamp,
                max_timestamp_ms,
                local_log_start_offset,
                tiered_offset,
                leader_epoch,
                read_at_ms,
                problem,
            )


def _offset(answer: ListOffsetsResponsePartition | None) -> int | None:
    return None if answer is None or answer.offset < 0 else answer.offset


def _newest(answer: ListOffsetsResponsePartition | None) -> tuple[int | None, int | None]:
    """Offset and timestamp of the record with the largest timestamp; both null for an empty log."""
    if answer is None or answer.offset < 0:
        return None, None
    return answer.offset, answer.timestamp


def _problem(
    partition: TopicPartition,
    offsets: Mapping[Kind, Offsets],
    answers: Iterable[ListOffsetsResponsePartition | None],
) -> str | None:
    for kind, gathered in offsets.items():
        failure = gathered.failures.get(partition)
        if failure and (failure.name != UNSUPPORTED or kind in _ALL_BROKERS_KNOW):
            return failure.name
    return NOT_RETURNED if any(answer is not None and answer.offset < 0 for answer in answers) else None
