"""`lagoon kafka offsets`: start and end offsets of partitions, or offsets of the first records at or after a time."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Sequence

from kafka_lagoon.admin.offsets import (
    ALL_KINDS,
    LARGEST_TIMESTAMP,
    LAST_STABLE,
    LOCAL_START,
    TIERED_END,
    Kind,
    Offsets,
    list_offsets,
)
from kafka_lagoon.cli.arguments import moment_argument
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext
from kafka_lagoon.cli.kafka.selection import add_topics, selected_topology, topic_notes
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import TOPICS, Requirement
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.list_offsets import READ_UNCOMMITTED
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row
from kafka_lagoon.times import FORMS, Moment
from kafka_lagoon.topic_partition import TopicPartition

NO_LATER_RECORD = "NO_LATER_RECORD"
_SPECIAL = re.compile("-[1-6]")  # special offsets, which kafka-get-offsets --time accepts: -1 is the end, -2 the start
_SINCE = {
    LAST_STABLE: "the end for read_committed (Kafka 0.11)",
    LARGEST_TIMESTAMP: "the largest timestamp (Kafka 3.0)",
    LOCAL_START: "the local start (Kafka 3.5)",
    TIERED_END: "the tiered end (Kafka 3.9)",
}


@row
class OffsetAtTimeRow:
    """The first record at or after a time, one row per partition."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=ALWAYS
    )
    partition: Int32 = column("Partition number.")
    asked_ms: Timestamp = column("Requested time.")
    offset: Int64 | None = column(
        "Offset of the first record with this timestamp or a later one; null if problem is set."
    )
    timestamp_ms: Timestamp | None = column("Timestamp of that record; null if problem is set.")
    leader_epoch: Int32 | None = column("Epoch of the leader that wrote it; null if not known.", null_if=ALWAYS)
    problem: str | None = column(
        "NO_LATER_RECORD if the log has no such record now, else the reason why the offset is not known; null if it is known."
    )


def _declare(parser: ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument(
        "--at",
        type=_time,
        metavar="TIME",
        help=f"show the first record at or after this time instead ({FORMS}; or epoch milliseconds)",
    )


def _time(text: str) -> Moment:
    if _SPECIAL.fullmatch(text):
        raise ArgumentTypeError(f"{text} is not a time: without --at, the start and end offsets are shown")
    return moment_argument(text)


def _answer(context: ClusterContext) -> CommandOutput:
    topology, refused = selected_topology(context)
    asked_ms = _asked_ms(context)
    by_kind = _list_offsets(context, topology, asked_ms)
    part = (
        _bounds(topology, by_kind) if asked_ms is None else _at_time(topology, asked_ms, next(iter(by_kind.values())))
    )
    return CommandOutput(
        rows=[part],
        failures=[*refused, *_failures(by_kind.values())],
        notes=[*_too_old(by_kind), *topic_notes(context)],
    )


def _asked_ms(context: ClusterContext) -> int | None:
    moment: Moment | None = context.options.at
    return None if moment is None else moment.at_ms(context.cluster.clock.now_ms())


def _list_offsets(context: ClusterContext, topology: Topology, at_ms: int | None) -> dict[Kind, Offsets]:
    # Brokers take negative timestamps for special offsets, or refuse them: every time before 1970 is before all records.
    kinds = ALL_KINDS if at_ms is None else [Kind(max(at_ms, 0), READ_UNCOMMITTED, 1)]
    return list_offsets(context.cluster, topology.every_partition(), kinds, context.deadline)


def _bounds(topology: Topology, by_kind: dict[Kind, Offsets]) -> RowSet:
    columns = ("topic", "partition", "log_start_offset", "last_stable_offset", "high_watermark", "problem")
    tiers, newest = ("local_log_start_offset", "tiered_offset"), ("max_timestamp_offset", "max_timestamp")
    wide = (*columns[:3], *tiers, *columns[3:5], *newest, "problem")
    return RowSet(kind="partition", rows=offset_rows(topology, by_kind), columns=columns, wide=wide)


def _at_time(topology: Topology, asked_ms: int, offsets: Offsets) -> RowSet:
    columns = ("topic", "partition", "offset", "timestamp_ms", "problem")
    return RowSet(kind="partition", rows=_at_time_rows(topology, asked_ms, offsets), columns=columns)


def _at_time_rows(topology: Topology, asked_ms: int, offsets: Offsets) -> Iterator[OffsetAtTimeRow]:
    for partition in topology.every_partition():
        answer, failure = offsets.answers.get(partition), offsets.failures.get(partition)
        record = answer if answer is not None and answer.offset >= 0 else None
        yield OffsetAtTimeRow(
            topic=partition.topic,
            topic_id=topology.topic_ids[partition.topic],
            partition=partition.partition,
            asked_ms=asked_ms,
            offset=record.offset if record else None,
            timestamp_ms=record.timestamp if record else None,
            leader_epoch=record.leader_epoch if record and record.leader_epoch >= 0 else None,
            problem=failure.name if failure else None if record else NO_LATER_RECORD,
        )


def _failures(several: Iterable[Offsets]) -> list[Failure]:
    """Keep one failure per partition, even if several requests failed. Old brokers without a kind of offset are no failure."""
    failed: dict[TopicPartition, Failure] = {}
    for offsets in several:
        failed |= {
            item: failure for item, failure in offsets.failures.items() if failure.is_required or not failure.is_too_old
        }
    return list(failed.values())


def _too_old(by_kind: dict[Kind, Offsets]) -> Sequence[str]:
    missing = [
        _SINCE[kind]
        for kind, offsets in by_kind.items()
        if kind in _SINCE and any(failure.is_too_old for failure in offsets.failures.values())
    ]
    return [f"brokers are too old to return {', '.join(missing)}"] if missing else ()


COMMAND = Command(
    kind=CLUSTER,
    summary="Lists the offsets of logs: earliest, local and tiered, last stable, latest, and of the largest timestamp.",
    examples=(
        "lagoon kafka offsets orders -b kafka-1:9092",
        "lagoon kafka offsets orders -b kafka-1:9092 --at '2h ago'",
    ),
    declare=_declare,
    answer=_answer,
    requires={"": Requirement(permissions=(TOPICS,))},
)
