"""Each partition has one row, for any responses of leaders: -1 is null, and the first reason is named."""

from kafka_lagoon.admin.offsets import (
    ALL_KINDS,
    HIGH_WATERMARK,
    LARGEST_TIMESTAMP,
    LOG_START,
    TIERED_END,
    Kind,
    Offsets,
)
from kafka_lagoon.client.failures import Scope, failure_of
from kafka_lagoon.client.intake import Source
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.errors import PipelineError, UnsupportedVersion
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS, ListOffsetsResponsePartition
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import TOPIC_DELETED, TOPIC_RECREATED, Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.topic_partition import TopicPartition

PARTITION = TopicPartition("orders", 0)


def answered(offset: int, timestamp: int = -1, leader_epoch: int = -1) -> Offsets:
    answer = ListOffsetsResponsePartition(
        partition_index=0, offset=offset, timestamp=timestamp, leader_epoch=leader_epoch
    )
    return Gathered({PARTITION: answer}, {PARTITION: Source(1, 77)}, {})


TOO_OLD = UnsupportedVersion("ListOffsets", (9, 9), (0, 5), "1", None)


def refused(refusal: int | PipelineError) -> Offsets:
    return Gathered({}, {}, {PARTITION: failure_of(LIST_OFFSETS, Scope.of_partition(*PARTITION), refusal)})


def row_of(changed: str | None = None, **replaced: Offsets) -> PartitionOffsetsRow:
    """Make the row of a log from 5 to 90 with some offsets replaced."""
    offsets: dict[Kind, Offsets] = {kind: answered(90, leader_epoch=3) for kind in ALL_KINDS}
    offsets[LOG_START], offsets[LARGEST_TIMESTAMP] = answered(5), answered(89, 1_000)
    kinds = {"start": LOG_START, "end": HIGH_WATERMARK, "largest": LARGEST_TIMESTAMP, "tiered": TIERED_END}
    offsets |= {kinds[name]: answer for name, answer in replaced.items()}
    topology = Topology(
        metadata=MetadataResponse(),
        topic_ids={"orders": "id"},
        partitions={"orders": (0,)},
        changed={"orders": changed} if changed else {},
    )
    (row,) = offset_rows(topology, offsets)
    return row


def test_every_offset_has_its_column() -> None:
    """Offsets of different kinds are not mixed up."""
    row = row_of()
    assert (row.topic, row.topic_id, row.partition, row.log_start_offset) == ("orders", "id", 0, 5)
    assert (row.high_watermark, row.last_stable_offset, row.leader_epoch, row.read_at_ms) == (90, 90, 3, 77)
    assert (row.max_timestamp_offset, row.max_timestamp, row.max_timestamp_ms) == (89, 1_000, 1_000)
    assert (row.local_log_start_offset, row.tiered_offset, row.problem) == (90, 90, None)


def test_no_offset_is_null() -> None:
    """-1 means that there is no such offset; for the end of a log that is a problem, because every log has an end."""
    row = row_of(largest=answered(-1), tiered=answered(-1))
    assert (row.max_timestamp_offset, row.max_timestamp_ms, row.tiered_offset, row.problem) == (None, None, None, None)
    row = row_of(end=answered(-1))
    assert (row.high_watermark, row.problem) == (None, "OFFSET_NOT_RETURNED")


def test_a_log_without_a_beginning_among_others() -> None:
    """The others begin at 0, which is an offset like any other."""
    partitions = [TopicPartition("orders", number) for number in range(3)]

    def of_all(*offsets: int) -> Offsets:
        some = dict(zip(partitions, offsets, strict=True))
        answers = {
            one: ListOffsetsResponsePartition(
                partition_index=one.partition, offset=offset, timestamp=-1, leader_epoch=0
            )
            for one, offset in some.items()
        }
        return Gathered(answers, dict.fromkeys(partitions, Source(1, 77)), {})

    offsets: dict[Kind, Offsets] = {kind: of_all(0, 0, 0) for kind in ALL_KINDS} | {LOG_START: of_all(0, -1, 0)}
    topology = Topology(metadata=MetadataResponse(), topic_ids={"orders": "id"}, partitions={"orders": (0, 1, 2)})
    rows = [(row.log_start_offset, row.leader_epoch, row.problem) for row in offset_rows(topology, offsets)]
    assert rows == [(0, 0, None), (None, 0, "OFFSET_NOT_RETURNED"), (0, 0, None)]


def test_refusals_are_named() -> None:
    """A refusal is a problem. A leader that is too old for a kind of offset is only a problem for the ends of the log."""
    assert row_of(start=refused(29)).problem == "TOPIC_AUTHORIZATION_FAILED"
    assert row_of(tiered=refused(TOO_OLD)).problem is None
    assert row_of(tiered=refused(35)).problem == "UNSUPPORTED_VERSION"
    for refusal in (TOO_OLD, 35):
        row = row_of(end=refused(refusal))
        assert (row.high_watermark, row.read_at_ms, row.problem) == (None, None, "UNSUPPORTED_VERSION")


def test_what_happened_to_the_topic_comes_first() -> None:
    """Offsets of a re-created topic may be those of another log than the row's; those of a deleted topic are its own."""
    assert row_of(TOPIC_RECREATED, end=refused(29)).problem == TOPIC_RECREATED
    recreated, deleted = row_of(TOPIC_RECREATED), row_of(TOPIC_DELETED)
    assert (recreated.log_start_offset, recreated.high_watermark, recreated.leader_epoch) == (None, None, None)
    assert (recreated.max_timestamp, recreated.local_log_start_offset, recreated.tiered_offset) == (None, None, None)
    assert (deleted.high_watermark, deleted.problem) == (row_of().high_watermark, TOPIC_DELETED)
    assert row_of().high_watermark is not None
