"""Where logs begin and end in, one row per partition out.

Guards one rule: -1 in an answer, which is Kafka's "there is none", is null here, and so is what nobody told.
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

NOT_TOLD = "OFFSET_NOT_TOLD"  # -1 for an offset that every log has
_ALL_BROKERS_KNOW = frozenset({LOG_START, HIGH_WATERMARK})


def offset_rows(topology: Topology, found: Mapping[Kind, Offsets]) -> Iterator[PartitionOffsetsRow]:
    """One row per partition; what no leader told, or nobody asked, is null, and `problem` names the first reason.

    That brokers are too old to be asked is no problem, but where a log begins and ends they all know.
    """
    start, end, stable, largest, local, tiered = (
        found[kind].answers if kind in found else {}
        for kind in (LOG_START, HIGH_WATERMARK, LAST_STABLE, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)
    )
    sources = found[HIGH_WATERMARK].sources
    for topic, partitions in topology.partitions.items():
        topic_id, changed = topology.topic_ids[topic], topology.changed.get(topic)
        for partition in partitions:
            at = TopicPartition(topic, partition)
            last = end.get(at)
            source = sources.get(at)
            newest, newest_ms = _newest(largest.get(at))
            local_start = local.get(at)
            yield PartitionOffsetsRow(
                topic,
                topic_id,
                partition,
                _offset(start.get(at)),
                _offset(last),
                _offset(stable.get(at)),
                newest,
                newest_ms,
                newest_ms,
                _offset(local_start),
                _offset(tiered.get(at)),
                None if last is None or last.leader_epoch < 0 else last.leader_epoch,
                source.read_at_ms if source else None,
                changed or _problem(at, found, (start.get(at), last, stable.get(at), local_start)),
            )


def _offset(one: ListOffsetsResponsePartition | None) -> int | None:
    return None if one is None or one.offset < 0 else one.offset


def _newest(one: ListOffsetsResponsePartition | None) -> tuple[int | None, int | None]:
    """Offset and timestamp of the record with the largest timestamp; both null for an empty log."""
    if one is None or one.offset < 0:
        return None, None
    return one.offset, one.timestamp


def _problem(
    at: TopicPartition, found: Mapping[Kind, Offsets], told: Iterable[ListOffsetsResponsePartition | None]
) -> str | None:
    for kind, one in found.items():
        failure = one.failures.get(at)
        if failure and (failure.name != UNSUPPORTED or kind in _ALL_BROKERS_KNOW):
            return failure.name
    return NOT_TOLD if any(one is not None and one.offset < 0 for one in told) else None
