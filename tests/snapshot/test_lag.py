"""Lag is not adjusted, is null if a side is unknown, and has one row for each expected partition."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.offsets import NOT_RETURNED, Offsets
from kafka_lagoon.client.intake import Source
from kafka_lagoon.protocol.messages.list_offsets import ListOffsetsResponsePartition
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.snapshot.commits import CommitColumns
from kafka_lagoon.snapshot.lag import lag_rows
from kafka_lagoon.snapshot.lag_logs import PartitionLogs
from kafka_lagoon.snapshot.topology import TOPIC_DELETED, TOPIC_RECREATED, Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import (
    CommittedOffsetRow,
    ConsumerGroupRow,
    ConsumerLagRow,
    GroupMemberRow,
    TopicPartitions,
)
from kafka_lagoon.topic_partition import TopicPartition

TOPOLOGY = Topology(
    metadata=MetadataResponse(), topic_ids={"a": "id-a", "b": "id-b"}, partitions={"a": (0, 1), "b": (0,)}
)


def group(group_id: str = "g") -> ConsumerGroupRow:
    return ConsumerGroupRow(
        group_id=group_id,
        group_type="classic",
        protocol_type="consumer",
        state="Stable",
        protocol="range",
        coordinator_id=1,
        members=1,
        group_epoch=None,
        assignment_epoch=None,
        problem=None,
        topology_epoch=None,
    )


def commit(topic: str, partition: int, offset: int | None, problem: str | None = None) -> CommittedOffsetRow:
    return CommittedOffsetRow(
        group_id="g",
        topic=topic,
        topic_id=None,
        partition=partition,
        committed_offset=offset,
        committed_leader_epoch=None,
        metadata="",
        read_at_ms=1,
        problem=problem,
    )


def member(topics: tuple[str, ...] = (), **assignment: tuple[int, ...]) -> GroupMemberRow:
    owned = tuple(TopicPartitions(topic=topic, topic_id=None, partitions=some) for topic, some in assignment.items())
    return GroupMemberRow(
        group_id="g",
        member_id="m",
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        rack_id=None,
        subscribed_topics=topics,
        assignment=owned,
        target_assignment=None,
        member_epoch=None,
        problem=None,
        **dict.fromkeys(("subscribed_pattern", "member_type", "topology_epoch", "process_id")),
        **dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks")),
    )


def end(
    topic: str, partition: int, high: int | None, start: int = 0, problem: str | None = None
) -> PartitionOffsetsRow:
    return PartitionOffsetsRow(
        topic=topic,
        topic_id=None,
        partition=partition,
        log_start_offset=None if high is None else start,
        high_watermark=high,
        last_stable_offset=None if high is None else high - 1,
        max_timestamp_offset=None,
        max_timestamp=None,
        max_timestamp_ms=None,
        local_log_start_offset=None,
        tiered_offset=None,
        leader_epoch=0,
        read_at_ms=1,
        problem=problem,
    )


def in_columns(commits: list[CommittedOffsetRow]) -> CommitColumns:
    """Return the commits of one group as they are kept."""
    columns = {name: [getattr(one, name) for one in commits] for name in CommittedOffsetRow.__dataclass_fields__}
    return CommitColumns(CommittedOffsetRow, columns, {"g": (0, len(commits))}, [(one.topic, 1) for one in commits])


def rows(
    commits: list[CommittedOffsetRow],
    ends: list[PartitionOffsetsRow],
    members: list[GroupMemberRow] | None = None,
    *,
    before: dict[TopicPartition, int] | None = None,
    unread: dict[str, str] | None = None,
    topology: Topology = TOPOLOGY,
) -> list[ConsumerLagRow]:
    given = {TopicPartition(one.topic, one.partition): one for one in ends}
    after = [given.get(at, end(*at, None, problem=NOT_RETURNED)) for at in topology.every_partition()]
    known = {at: one.high_watermark for at, one in given.items() if one.high_watermark is not None}
    logs = PartitionLogs(topology, answered(before or known), after)
    return list(lag_rows([group()], members or [], in_columns(commits), unread or {}, logs))


def answered(offsets: dict[TopicPartition, int]) -> Offsets:
    """Return the end offsets as a leader has sent them."""
    answers = {
        at: ListOffsetsResponsePartition(partition_index=at.partition, error_code=0, offset=offset)
        for at, offset in offsets.items()
    }
    return Offsets(answers=answers, sources=dict.fromkeys(offsets, Source(node_id=1, read_at_ms=1)), failures={})


def only(lag: list[ConsumerLagRow]) -> ConsumerLagRow:
    assert len(lag) == 1
    return lag[0]


def test_lag_is_end_minus_commit() -> None:
    """If both sides are known, there is a lag, its lower bound, and no problem."""
    row = only(rows([commit("a", 0, 40)], [end("a", 0, 100, start=10)], before={TopicPartition("a", 0): 90}))
    assert (row.lag, row.lag_lower_bound, row.lag_read_committed) == (60, 50, 59)
    assert (row.lag_basis, row.records_lost, row.retention_margin, row.problem) == ("committed", 0, 30, None)
    assert row.topic_id == "id-a"


def test_a_commit_past_the_end_is_negative_lag() -> None:
    """Brokers accept such a commit; nothing is clamped."""
    assert only(rows([commit("a", 0, 999)], [end("a", 0, 100)])).lag == -899


def test_a_commit_below_the_start_has_lost_records() -> None:
    """Records that retention deleted before they were read are counted, and the lag is not adjusted."""
    row = only(rows([commit("a", 0, 5)], [end("a", 0, 100, start=20)]))
    assert (row.lag, row.records_lost, row.retention_margin, row.problem) == (95, 15, -15, None)


def test_no_commit_is_not_zero() -> None:
    """An assigned partition without a commit has no lag, but the range that a reader from earliest would read."""
    row = only(rows([], [end("a", 0, 100, start=10)], [member(a=(0,))]))
    assert (row.lag, row.lag_basis, row.problem) == (None, "log_start", "NO_COMMIT")
    assert (row.high_watermark, row.log_start_offset) == (100, 10)
    assert (row.member_id, row.client_id, row.client_host) == ("m", "c", "/h")


def test_a_stored_commit_of_minus_1_is_a_missing_commit() -> None:
    """Any other reason goes first, as where nothing is stored: a topic that is gone has no records for a reader from earliest."""
    stored = commit("a", 0, None, "NO_COMMIT")
    row = only(rows([stored], [end("a", 0, 100, start=10)]))
    assert (row.lag_basis, row.problem) == ("log_start", "NO_COMMIT")
    row = only(rows([stored], [end("a", 0, None, problem="LEADER_NOT_AVAILABLE")]))
    assert (row.lag_basis, row.problem) == ("unknown", "LEADER_NOT_AVAILABLE")
    gone = replace(TOPOLOGY, changed={"a": TOPIC_DELETED})
    for commits, members in (([stored], []), ([], [member(a=(0,))])):
        row = only(rows(commits, [end("a", 0, 100, start=10)], members, topology=gone))
        assert (row.lag_basis, row.problem) == ("unknown", TOPIC_DELETED)


def test_a_subscription_expects_every_partition() -> None:
    """A member that subscribes to a topic and owns no partition yet still expects all of them."""
    lag = rows([], [end("a", 0, 1), end("a", 1, 1)], [member(topics=("a",))])
    assert [(row.topic, row.partition, row.member_id) for row in lag] == [("a", 0, None), ("a", 1, None)]


def test_a_commit_on_a_topic_that_is_gone_keeps_its_row() -> None:
    """Other rows are complete."""
    lag = rows([commit("a", 0, 1), commit("gone", 3, 7)], [end("a", 0, 5)])
    assert [(row.topic, row.lag, row.problem) for row in lag] == [
        ("a", 4, None),
        ("gone", None, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert lag[1].committed_offset == 7


def test_a_partition_that_appeared_meanwhile_has_the_id_of_its_topic() -> None:
    """Nothing else of its log is known; if the topic was re-created, that is the reason."""
    created = replace(TOPOLOGY, topic_ids={**TOPOLOGY.topic_ids, "new": "id-new"}, changed={"a": TOPIC_RECREATED})
    lag = rows([commit("a", 2, 5), commit("b", 1, 6), commit("new", 0, 7)], [], topology=created)
    assert [(row.topic_id, row.lag, row.problem) for row in lag] == [
        ("id-a", None, TOPIC_RECREATED),
        ("id-b", None, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("id-new", None, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]


def test_rows_are_in_the_order_of_topic_and_partition() -> None:
    """Whatever the order of the commits, and where a partition does not exist."""
    for committed in ([("b", 0), ("a", 1), ("a", 0)], [("a", 0), ("b", 0), ("a", 7)], [("b", 0), ("c", 1), ("c", 0)]):
        lag = rows([commit(topic, partition, 1) for topic, partition in committed], [])
        assert [(row.topic, row.partition) for row in lag] == sorted(committed)


def test_an_end_that_is_unknown_names_its_reason() -> None:
    """A partition without a leader has a commit, but no lag."""
    row = only(rows([commit("a", 0, 1)], [end("a", 0, None, problem="LEADER_NOT_AVAILABLE")]))
    assert (row.committed_offset, row.lag, row.lag_basis, row.problem) == (1, None, "unknown", "LEADER_NOT_AVAILABLE")


def test_a_topic_that_changed_has_no_lag() -> None:
    """The commit and the end offset belong to different topics with one name."""
    for change in (TOPIC_DELETED, TOPIC_RECREATED):
        row = only(rows([commit("a", 0, 1)], [end("a", 0, 5)], topology=replace(TOPOLOGY, changed={"a": change})))
        assert (row.lag, row.lag_lower_bound, row.lag_basis, row.problem) == (None, None, "unknown", change)


def test_a_deleted_topic_keeps_the_bounds_of_its_log() -> None:
    """They were read before it was deleted, and so was the commit; what is computed of both is unknown."""
    gone = replace(TOPOLOGY, changed={"a": TOPIC_DELETED})
    row = only(rows([commit("a", 0, 3)], [end("a", 0, 9, start=5)], topology=gone))
    assert (row.committed_offset, row.log_start_offset, row.high_watermark, row.last_stable_offset) == (3, 5, 9, 8)
    assert (row.lag, row.lag_read_committed, row.records_lost, row.retention_margin) == (None, None, None, None)


def test_commits_that_could_not_be_read_are_not_missing_commits() -> None:
    """If a coordinator does not answer, its groups have that reason, and never NO_COMMIT."""
    row = only(rows([], [end("a", 0, 5)], [member(a=(0,))], unread={"g": "COORDINATOR_NOT_AVAILABLE"}))
    assert (row.lag, row.lag_basis, row.problem) == (None, "unknown", "COORDINATOR_NOT_AVAILABLE")


def test_a_pending_transaction_keeps_the_older_commit() -> None:
    """The lag is that of the current commit, and the problem says that the commit may change."""
    row = only(rows([commit("a", 0, 1, "UNSTABLE_OFFSET_COMMIT")], [end("a", 0, 5)]))
    assert (row.lag, row.lag_basis, row.problem) == (4, "committed", "UNSTABLE_OFFSET_COMMIT")


def test_a_problem_of_one_commit_is_not_lost_among_others() -> None:
    """Other partitions of the group have none."""
    commits = [commit("a", 0, 1), commit("a", 1, 1, "UNSTABLE_OFFSET_COMMIT"), commit("b", 0, 1)]
    ends = [end("a", 0, 5), end("a", 1, 5), end("b", 0, 5)]
    assert [row.problem for row in rows(commits, ends)] == [None, "UNSTABLE_OFFSET_COMMIT", None]
    assert [row.lag for row in rows(commits, ends)] == [4, 4, 4]


partitions = st.sets(st.tuples(st.sampled_from(["a", "b", "gone"]), st.integers(0, 3)), max_size=8)


@given(committed=partitions, assigned=partitions, known=partitions)
def test_every_expected_partition_has_exactly_one_row(
    committed: set[tuple[str, int]], assigned: set[tuple[str, int]], known: set[tuple[str, int]]
) -> None:
    """Every committed or assigned partition has one row; a row without lag has a reason."""
    owned: dict[str, tuple[int, ...]] = {}
    for topic, partition in sorted(assigned):
        owned[topic] = (*owned.get(topic, ()), partition)
    lag = rows([commit(t, p, 1) for t, p in committed], [end(t, p, 5) for t, p in known], [member(**owned)])
    assert sorted((row.topic, row.partition) for row in lag) == sorted(committed | assigned)
    assert all((row.lag is None) == (row.problem is not None) for row in lag)
