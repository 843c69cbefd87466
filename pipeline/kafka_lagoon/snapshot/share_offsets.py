"""Makes rows of the offsets of share groups (KIP-932).

A share group does not store the next offset to read. Records before its start offset are done, and some of those after it may
be, so lag is what the coordinator counts; it is null before KIP-1226. Brokers store any start offset that an administrator
sets: one past the end gives a negative lag, and one below 0 is no offset of a log, so nothing can be counted from it.
"""

from collections.abc import Iterator, Mapping

from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID, error_code
from kafka_lagoon.protocol.messages import describe_share_group_offsets
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    UNKNOWN_LAG,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
)
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, column, row
from kafka_lagoon.wire.primitives import uuid_text

NOT_STARTED, NEGATIVE_START = "SHARE_NOT_STARTED", "SHARE_START_NEGATIVE"


@row
class ShareOffsetRow:
    """Rows with the start offsets and the lag of share groups, one per group and partition."""

    group_id: str = column("group.id of the group.")
    topic: str | None = column("Name of the topic; null if only its id is known.")
    topic_id: str | None = column("Id of the topic (22 characters, base64url).", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    start_offset: Int64 | None = column(
        "First offset that is not done; null if nothing was read yet, or problem is set.", null_if=ALWAYS
    )
    leader_epoch: Int32 | None = column(
        "Leader epoch when that was stored; null if it was not returned.", null_if=ALWAYS
    )
    lag: Int64 | None = column(
        "Records that are not done yet, as the coordinator counts them: negative if start_offset is past the end. Null if it "
        "does not count them, or start_offset is null.",
        null_if=ALWAYS,
    )
    problem: str | None = column(
        "Kafka's name of the partition's error, SHARE_NOT_STARTED: no member has read from the partition yet, or "
        "SHARE_START_NEGATIVE: the offset that was set is below 0. Null if there is none."
    )


def share_offset_rows(
    answers: Mapping[str, DescribeShareGroupOffsetsResponseGroup], topic_names: Mapping[str, str]
) -> Iterator[ShareOffsetRow]:
    """One row per group and partition, ordered by group, topic and partition.

    `topic_names` has names by topic id, for brokers that omit names.
    """
    for group_id, group in sorted(answers.items()):
        for topic in sorted(group.topics, key=lambda some: some.topic_name):
            topic_id = uuid_text(topic.topic_id)
            name = topic.topic_name or (topic_names.get(topic_id) if topic_id else None)
            for partition in sorted(topic.partitions, key=lambda some: some.partition_index):
                yield _row(group_id, name, topic_id, partition)


def _row(
    group_id: str, topic: str | None, topic_id: str | None, partition: DescribeShareGroupOffsetsResponsePartition
) -> ShareOffsetRow:
    # Beside an error brokers send start offset 0, which is the default of the field.
    is_started = partition.start_offset >= 0 and not partition.error_code
    code = partition.error_code or (0 if topic else UNKNOWN_TOPIC_ID)
    is_negative = partition.start_offset < describe_share_group_offsets.NOT_STARTED
    problem = None if is_started else NEGATIVE_START if is_negative else NOT_STARTED
    return ShareOffsetRow(
        group_id=group_id,
        topic=topic,
        topic_id=topic_id,
        partition=partition.partition_index,
        start_offset=partition.start_offset if is_started else None,
        leader_epoch=partition.leader_epoch if is_started and partition.leader_epoch >= 0 else None,
        lag=partition.lag if is_started and partition.lag != UNKNOWN_LAG else None,
        problem=error_code(code).name if code else problem,
    )
