"""`lagoon kafka offsets`: where the logs of partitions begin and end, and what they hold of a time."""

import argparse
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
from kafka_lagoon.cli.kafka.selection import add_topic_option, selected_topology, topic_notes
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part, Verb, moment_argument
from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.protocol.messages.list_offsets import READ_UNCOMMITTED
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.times import FORMS, Moment

NO_LATER_RECORD = "NO_LATER_RECORD"
_SINCE = {
    LAST_STABLE: "the end for read_committed (Kafka 0.11)",
    LARGEST_TIMESTAMP: "the largest timestamp (Kafka 3.0)",
    LOCAL_START: "the local start (Kafka 3.5)",
    TIERED_END: "the tiered end (Kafka 3.9)",
}


@row
class OffsetAtTimeRow:
    """The first record at or behind a time, one row per partition."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=ALWAYS
    )
    partition: Int32 = column("Partition number.")
    asked_ms: Timestamp = column("The time that was asked for.")
    offset: Int64 | None = column(
        "Offset of the first record with this timestamp or a later one; null if problem is set."
    )
    timestamp_ms: Timestamp | None = column("That record's timestamp; null if problem is set.")
    leader_epoch: Int32 | None = column("Term of the leader that wrote it; null if not told.", null_if=ALWAYS)
    problem: str | None = column("NO_LATER_RECORD: the log has none, now; or why it is not known. Null if it is.")


def _declare(parser: argparse.ArgumentParser) -> None:
    add_topic_option(parser)
    parser.add_argument(
        "--at",
        type=moment_argument,
        metavar="TIME",
        help=f"instead: the first record at or after this time ({FORMS}; or epoch milliseconds)",
    )


def _answer(context: Context) -> Answer:
    topology, refused = selected_topology(context)
    asked_ms = _asked_ms(context)
    found = _read(context, topology, asked_ms)
    part = _ends(topology, found) if asked_ms is None else _at(topology, asked_ms, next(iter(found.values())))
    return Answer(
        parts=[part],
        failures=[*refused, *_failures(found.values())],
        notes=[*_too_old(found), *topic_notes(context)],
    )


def _asked_ms(context: Context) -> int | None:
    at: Moment | None = context.options.at
    return None if at is None else at.at_ms(context.cluster.clock.now_ms())


def _read(context: Context, topology: Topology, at_ms: int | None) -> dict[Kind, Offsets]:
    kinds = ALL_KINDS if at_ms is None else [Kind(at_ms, READ_UNCOMMITTED, 1)]
    return list_offsets(context.cluster, topology.every_partition(), kinds, context.deadline)


def _ends(topology: Topology, found: dict[Kind, Offsets]) -> Part:
    columns = (
        *("topic", "partition", "log_start_offset", "local_log_start_offset", "tiered_offset", "last_stable_offset"),
        *("high_watermark", "max_timestamp_offset", "max_timestamp", "problem"),
    )
    return Part(kind="partition", rows=offset_rows(topology, found), columns=columns)


def _at(topology: Topology, asked_ms: int, found: Offsets) -> Part:
    columns = ("topic", "partition", "offset", "timestamp_ms", "problem")
    return Part(kind="partition", rows=_at_rows(topology, asked_ms, found), columns=columns)


def _at_rows(topology: Topology, asked_ms: int, found: Offsets) -> Iterator[OffsetAtTimeRow]:
    for at in topology.every_partition():
        told, failure = found.answers.get(at), found.failures.get(at)
        there = told is not None and told.offset >= 0
        yield OffsetAtTimeRow(
            topic=at.topic,
            topic_id=topology.topic_ids[at.topic],
            partition=at.partition,
            asked_ms=asked_ms,
            offset=told.offset if told and there else None,
            timestamp_ms=told.timestamp if told and there else None,
            leader_epoch=told.leader_epoch if told and there and told.leader_epoch >= 0 else None,
            problem=failure.name if failure else None if there else NO_LATER_RECORD,
        )


def _failures(found: Iterable[Offsets]) -> list[Failure]:
    """One failure per partition, however many questions about it failed; what brokers are too old for is none."""
    failed: dict[TopicPartition, Failure] = {}
    for one in found:
        failed |= {at: failure for at, failure in one.failures.items() if failure.name != UNSUPPORTED}
    return list(failed.values())


def _too_old(found: dict[Kind, Offsets]) -> Sequence[str]:
    missing = [
        _SINCE[kind]
        for kind, one in found.items()
        if kind in _SINCE and any(failure.name == UNSUPPORTED for failure in one.failures.values())
    ]
    return [f"brokers are too old to tell {', '.join(missing)}"] if missing else ()


VERB = Verb(
    summary="Where the logs begin and end: earliest, local and tiered, for read_committed, latest, largest timestamp.",
    declare=_declare,
    answer=_answer,
)
