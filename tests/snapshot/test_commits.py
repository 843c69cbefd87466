"""Rows of committed offsets, from messages made by hand."""

from dataclasses import replace

from kafka_lagoon.admin.committed_offsets import CommittedOffsets
from kafka_lagoon.client.intake import Source
from kafka_lagoon.protocol.messages.metadata import MetadataPartition, MetadataResponse, MetadataTopic
from kafka_lagoon.protocol.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_lagoon.snapshot.commits import _Made, _take, commit_rows
from kafka_lagoon.snapshot.topology import topology_of
from kafka_lagoon.tables.group_rows import CommittedOffsetRow
from kafka_lagoon.wire.columns import by_column

TOPIC_FORBIDDEN, UNSTABLE = 29, 88
PARTITION = MetadataPartition(error_code=0, partition_index=0, leader_id=1, replica_nodes=(1,), isr_nodes=(1,))
ORDERS = MetadataTopic(error_code=0, name="orders", topic_id=b"\1" * 16, partitions=(PARTITION,))
TOPOLOGY = topology_of(MetadataResponse(brokers=(), cluster_id="c", controller_id=1, topics=(ORDERS,)))


def commit(offset: int, error_code: int = 0, leader_epoch: int = 3) -> OffsetFetchResponsePartition:
    """Make a commit of partition 0."""
    return OffsetFetchResponsePartition(
        partition_index=0,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        metadata="m",
        error_code=error_code,
    )


def group(partition: OffsetFetchResponsePartition, topic: str = "orders") -> OffsetFetchResponseGroup:
    """Make a group with one commit."""
    topics = (OffsetFetchResponseTopic(name=topic, partitions=(partition,)),)
    return OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=0)


def row_of(
    answer: OffsetFetchResponseGroup,
    replaced: OffsetFetchResponseGroup | None = None,
    ended: OffsetFetchResponseGroup | None = None,
) -> CommittedOffsetRow:
    """Return the row of a group's only commit."""
    committed = CommittedOffsets(
        answers={"g": answer},
        replaced={"g": replaced} if replaced else {},
        sources={"g": Source(1, 99)},
        failures=(),
        ended={"g": ended} if ended else {},
    )
    [row] = commit_rows(committed, TOPOLOGY)
    return row


def test_a_commit_is_a_row() -> None:
    """Each value is in its own column."""
    assert row_of(group(commit(5))) == CommittedOffsetRow(
        group_id="g",
        topic="orders",
        topic_id="AQEBAQEBAQEBAQEBAQEBAQ",
        partition=0,
        committed_offset=5,
        committed_leader_epoch=3,
        metadata="m",
        read_at_ms=99,
        problem=None,
    )


def test_a_pending_transaction_has_both() -> None:
    """The row has the current commit, and the reason why it may be replaced."""
    row = row_of(group(commit(-1, UNSTABLE)), group(commit(4)))
    assert (row.committed_offset, row.problem) == (4, "UNSTABLE_OFFSET_COMMIT")
    row = row_of(group(commit(-1, UNSTABLE)))
    assert (row.committed_offset, row.problem) == (None, "UNSTABLE_OFFSET_COMMIT")


def test_a_transaction_that_has_ended_replaces_nothing() -> None:
    """The commit is that of after the transaction, and it is stable; a transaction that was aborted may leave none."""
    unstable = group(commit(-1, UNSTABLE))
    row = row_of(unstable, group(commit(9)), group(commit(9)))
    assert (row.committed_offset, row.committed_leader_epoch, row.metadata, row.problem) == (9, 3, "m", None)
    row = row_of(unstable, group(commit(4)), group(commit(9)))
    assert (row.committed_offset, row.problem) == (9, None)
    row = row_of(unstable, group(commit(4)), unstable)
    assert (row.committed_offset, row.problem) == (4, "UNSTABLE_OFFSET_COMMIT")
    row = row_of(unstable, group(commit(4)), group(commit(-1)))
    assert (row.committed_offset, row.problem) == (None, "NO_COMMIT")
    row = row_of(unstable, None, replace(unstable, topics=()))
    assert (row.committed_offset, row.problem) == (None, "NO_COMMIT")
    gone = group(commit(-1, UNSTABLE), topic="gone")
    row = row_of(gone, group(commit(4), topic="gone"), group(commit(9), topic="gone"))
    assert (row.committed_offset, row.problem) == (9, "UNKNOWN_TOPIC_OR_PARTITION")


def test_what_cannot_be_read_is_null_with_its_reason() -> None:
    """A missing commit, one below 0, a refusal and a deleted topic have different reasons."""
    nothing, negative, refused, deleted = (
        row_of(group(commit(-1, leader_epoch=-1))),
        row_of(group(commit(-7))),
        row_of(group(commit(-1, TOPIC_FORBIDDEN))),
        row_of(group(commit(7), topic="gone")),
    )
    assert (nothing.committed_offset, nothing.committed_leader_epoch, nothing.metadata) == (None, None, None)
    assert nothing.problem == "NO_COMMIT"
    assert (negative.committed_offset, negative.problem) == (None, "COMMIT_NEGATIVE")
    assert (refused.committed_offset, refused.problem) == (None, "TOPIC_AUTHORIZATION_FAILED")
    assert (deleted.committed_offset, deleted.topic_id, deleted.problem) == (7, None, "UNKNOWN_TOPIC_OR_PARTITION")


def test_reasons_of_one_partition_are_not_those_of_others() -> None:
    """Of one answer some commits cannot be read, one is about to be replaced, and one of offset 0 is a commit as any other."""

    def several(*commits: OffsetFetchResponsePartition) -> tuple[OffsetFetchResponsePartition, ...]:
        return tuple(replace(one, partition_index=number) for number, one in enumerate(commits))

    unstable = commit(-1, UNSTABLE)
    orders = several(commit(0), commit(-1), commit(-7), commit(-1, TOPIC_FORBIDDEN), unstable)
    topics = tuple(
        OffsetFetchResponseTopic(name=name, partitions=partitions)
        for name, partitions in (("gone", several(commit(8))), ("orders", orders))
    )
    committed = CommittedOffsets(
        answers={"g": replace(group(unstable), topics=topics)},
        replaced={},
        sources={"g": Source(1, 99)},
        failures=(),
        ended={"g": replace(group(unstable), topics=())},
    )
    assert [(row.topic, row.committed_offset, row.problem) for row in commit_rows(committed, TOPOLOGY)] == [
        ("gone", 8, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("orders", 0, None),
        ("orders", None, "NO_COMMIT"),
        ("orders", None, "COMMIT_NEGATIVE"),
        ("orders", None, "TOPIC_AUTHORIZATION_FAILED"),
        ("orders", None, "NO_COMMIT"),
    ]


def test_groups_of_one_answer_keep_their_own_commits() -> None:
    """Rows, and their ranges, belong to the group that committed them, also after a group without any."""
    groups = (
        replace(group(commit(1)), group_id="a"),
        OffsetFetchResponseGroup(group_id="b", topics=(), error_code=0),
        replace(group(commit(-1, TOPIC_FORBIDDEN), "gone"), group_id="c"),
        replace(group(commit(4)), group_id="d"),
    )
    committed = CommittedOffsets(answers={}, replaced={}, sources={}, failures=())
    made = _Made()
    _take(made, by_column(groups, OffsetFetchResponseGroup), Source(1, 99), committed, TOPOLOGY)
    rows = made.rows(TOPOLOGY)
    assert [(row.group_id, row.topic, row.committed_offset, row.problem) for row in rows] == [
        ("a", "orders", 1, None),
        ("c", "gone", None, "TOPIC_AUTHORIZATION_FAILED"),
        ("d", "orders", 4, None),
    ]
    assert rows.spans == {"a": (0, 1), "b": (1, 1), "c": (1, 2), "d": (2, 3)}


def test_ids_that_only_later_metadata_gives() -> None:
    """Rows of these topics have them; the others stay as they are."""
    committed = CommittedOffsets(
        answers={"g": group(commit(5)), "h": replace(group(commit(6), "late"), group_id="h")},
        replaced={},
        sources={name: Source(1, 99) for name in ("g", "h")},
        failures=(),
    )
    rows = commit_rows(committed, TOPOLOGY)
    assert [row.topic_id for row in rows] == ["AQEBAQEBAQEBAQEBAQEBAQ", None]
    assert rows.with_ids({}) is rows
    given = rows.with_ids({"late": "AgICAgICAgICAgICAgICAg", "elsewhere": "AwMDAwMDAwMDAwMDAwMDAw"})
    assert [(row.topic, row.topic_id) for row in given] == [
        ("orders", "AQEBAQEBAQEBAQEBAQEBAQ"),
        ("late", "AgICAgICAgICAgICAgICAg"),
    ]
    assert (given.spans, given.topic_counts) == (rows.spans, rows.topic_counts)
