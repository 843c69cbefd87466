"""One snapshot of a fake cluster: the order of its requests, and a row for each failure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.offsets import ALL_KINDS
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import UNSUPPORTED_FOR_MESSAGE_FORMAT
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, AclDescription, DescribeAclsResource
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_lagoon.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.snapshot.collect import STEPS, collect
from kafka_lagoon.tables.cluster_rows import (
    BrokerApiRow,
    BrokerRow,
    PartitionOffsetsRow,
    PartitionRow,
    ReassignmentRow,
    StoredReplicaRow,
    TopicRow,
)
from kafka_lagoon.tables.group_rows import (
    CommittedOffsetRow,
    ConsumerGroupRow,
    ConsumerLagRow,
    GroupMemberRow,
    TopicPartitions,
)
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot
from kafka_lagoon.tables.transaction_rows import PartitionProducerRow
from kafka_lagoon.wire.primitives import uuid_text
from kafka_lagoon.wire.schema import Api
from tests.bench.large import snapshot_of
from tests.bench.synthetic_brokers import Size, synthetic_brokers
from tests.clock import CLOCK
from tests.fake import acls as fake_acls
from tests.fake.answers import SPOKEN, consumer_protocol
from tests.fake.broker import FakeBroker, fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Altered, Close, Fault
from tests.fake.oddities import every_shape
from tests.nulls import unexplained_of
from tests.short_timeouts import short_timeouts

READS = {METADATA.key, LIST_OFFSETS.key, LIST_GROUPS.key, DESCRIBE_GROUPS.key, OFFSET_FETCH.key}


def healthy() -> FakeCluster:
    state = FakeCluster(racks={1: "a", 2: "b", 3: "b"})
    state.add_topic("orders", 3)
    state.add_topic("other", 2)
    state.groups["reader"] = FakeGroup(
        coordinator_id=2,
        state="Stable",
        commits={("orders", 0): FakeCommit(90), ("orders", 1): FakeCommit(100)},
        members=[FakeMember("m1", ("orders",), {"orders": (0, 1, 2)})],
    )
    return state


def captured(state: FakeCluster, meanwhile: Callable[[dict[int, FakeBroker], str], None] | None = None) -> Snapshot:
    """Take a snapshot of the cluster; `meanwhile` is called when a step begins."""
    with fake_cluster(state) as brokers:
        deadline = Deadline.after(CLOCK, 8_000)
        settings = short_timeouts(state, request_timeout_ms=2_000)  # brokers die here and do not hang
        with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
            tell = (lambda step, _: meanwhile(brokers, step)) if meanwhile else (lambda _, __: None)
            return collect(cluster, "test", 1_000, deadline, tell)


def lag_of(snapshot: Snapshot, group_id: str) -> dict[tuple[str, int], tuple[int | None, str | None]]:
    return {
        (row.topic, row.partition): (row.lag, row.problem)
        for row in snapshot.of(ConsumerLagRow)
        if row.group_id == group_id
    }


def test_benches_can_take_a_snapshot_of_synthetic_brokers() -> None:
    """Their answers are complete, or each bench that takes snapshots would end before it measures."""
    with synthetic_brokers(Size(topics=4, partitions=3, brokers=2, groups=3, committed_partitions=6)) as address:
        assert snapshot_of(address)["rows"] == 3 * 6


def test_a_healthy_cluster_is_complete() -> None:
    """Every entity has its row, the counts agree, and the status is complete."""
    snapshot = captured(healthy())
    published = snapshot.published
    assert (published.status, published.failures, published.completeness) == ("complete", 0, 1.0)
    assert (published.brokers, published.topics, published.partitions, published.groups) == (3, 2, 5, 1)
    assert len(snapshot.of(PartitionOffsetsRow)) == 5
    assert lag_of(snapshot, "reader") == {
        ("orders", 0): (10, None),
        ("orders", 1): (0, None),
        ("orders", 2): (None, "NO_COMMIT"),
    }
    assert {row.rack for row in snapshot.of(BrokerRow)} == {"a", "b"}
    assert snapshot.header.cluster_id == "fake"


def test_a_topic_of_an_old_message_format_is_no_failure() -> None:
    """Kafka 3.x refuses all special offsets of a topic whose message.format.version is below 0.10; its row says why."""
    state = healthy()
    for partition in state.topics["orders"].partitions:
        partition.refused |= {(kind.timestamp, 0): UNSUPPORTED_FOR_MESSAGE_FORMAT for kind in ALL_KINDS[3:]}
    snapshot = captured(state)
    assert (snapshot.published.status, snapshot.of(CollectionFailureRow)) == ("complete", [])
    problems = {(row.topic, row.problem, row.high_watermark) for row in snapshot.of(PartitionOffsetsRow)}
    assert problems == {("orders", "UNSUPPORTED_FOR_MESSAGE_FORMAT", 100), ("other", None, 100)}
    assert unexplained_of(snapshot) == []


def test_the_order_is_ends_groups_commits_ends_metadata() -> None:
    """The meaning of lag depends on this order, which is seen in the brokers' requests."""
    state = healthy()
    captured(state)
    order = [key for _, key, _ in state.requests if key in READS]
    compact = [key for i, key in enumerate(order) if i == 0 or order[i - 1] != key]
    assert compact == [
        METADATA.key,
        LIST_OFFSETS.key,
        METADATA.key,  # of the brokers and of __consumer_offsets
        LIST_GROUPS.key,
        METADATA.key,  # of __consumer_offsets: no coordinator has moved
        DESCRIBE_GROUPS.key,
        OFFSET_FETCH.key,
        LIST_OFFSETS.key,
        METADATA.key,
    ]


def test_groups_that_no_broker_lists() -> None:
    """While a partition of __consumer_offsets has no leader, the list of groups has failed: no group counts as removed."""
    state = healthy()
    state.add_topic("__consumer_offsets", 2).partitions[0].leader_id = -1
    snapshot = captured(state)
    assert snapshot.published.status == "partial"
    assert ("ListGroups", "COORDINATOR_NOT_AVAILABLE") in {
        (row.api, row.error_name) for row in snapshot.of(CollectionFailureRow)
    }


def test_a_broker_was_asked_for_what_its_cluster_does_not_offer() -> None:
    """The row of the API has a request, and the reason why it returned nothing."""
    (row,) = (one for one in captured(healthy()).of(CoverageRow) if one.api == "DescribeAcls")
    assert (row.requests, row.not_collected_because) == (1, "SECURITY_DISABLED")


def test_a_request_may_use_an_older_version_than_the_highest() -> None:
    """OffsetFetch v10 leaves out commits on deleted topics, so v9 is used, as coverage says."""
    taken = captured(healthy())
    assert {row.spoken for row in taken.of(BrokerApiRow) if row.api == "OffsetFetch"} == {10}
    assert {row.api_version for row in taken.of(CoverageRow) if row.api == "OffsetFetch"} == {9}


def test_commits_without_metadata_and_without_an_offset() -> None:
    """Brokers store an empty text, and any offset that a client sends, also -1."""
    state = healthy()
    state.groups["reader"].commits["orders", 1] = FakeCommit(-1)
    rows = {row.partition: row for row in captured(state).of(CommittedOffsetRow)}
    assert (rows[0].committed_offset, rows[0].metadata, rows[0].problem) == (90, "", None)
    assert (rows[1].committed_offset, rows[1].metadata, rows[1].problem) == (None, None, "NO_COMMIT")


def test_each_kind_of_offset_is_an_item() -> None:
    """The end offset before the commits, and six kinds after them, fail for a partition without a leader."""
    state = healthy()
    state.add_topic("leaderless", 1).partitions[0].leader_id = -1
    (row,) = (one for one in captured(state).of(CollectionFailureRow) if one.api == "ListOffsets")
    assert (row.topic, row.partition, row.error_name, row.items) == ("leaderless", 0, "LEADER_NOT_AVAILABLE", 7)


def test_requests_do_not_grow_with_partitions_or_groups() -> None:
    """No API is requested once per partition or per group."""

    def requests(partitions: int, groups: int) -> int:
        state = FakeCluster()
        state.add_topic("t", partitions)
        state.groups = {
            f"g{i}": FakeGroup(coordinator_id=i % 3 + 1, commits={("t", i % partitions): FakeCommit(1)})
            for i in range(groups)
        }
        return captured(state).published.requests

    assert requests(600, 240) == requests(3, 3)


def test_a_cluster_without_groups_is_not_asked_for_coordinators() -> None:
    """FindCoordinator would create __consumer_offsets; a read-only run changes nothing."""
    state = FakeCluster()
    state.add_topic("t", 1)
    snapshot = captured(state)
    assert snapshot.published.status == "complete"
    assert state.count(FIND_COORDINATOR.key) == 0


def test_a_new_style_group_is_described_by_its_own_api() -> None:
    """A classic description of the group would have state Dead."""
    state = healthy()
    state.groups["new"] = FakeGroup(
        coordinator_id=3,
        group_type="consumer",
        state="Stable",
        commits={("other", 0): FakeCommit(40)},
        members=[FakeMember("n1", ("other",), {"other": (0, 1)})],
    )
    snapshot = captured(state)
    row = next(row for row in snapshot.of(ConsumerGroupRow) if row.group_id == "new")
    assert (row.state, row.group_epoch, row.members, row.problem) == ("Stable", 7, 1, None)
    assert state.count(CONSUMER_GROUP_DESCRIBE.key) == 1
    assert lag_of(snapshot, "new") == {("other", 0): (60, None), ("other", 1): (None, "NO_COMMIT")}


def test_assignments_that_have_topic_ids_only() -> None:
    """Names are taken from metadata; an unknown id is kept, with a problem, and a partition without a topic name has no row."""
    state = healthy()
    owned: dict[str, tuple[int, ...]] = {"other": (0, 1), "gone": (5,)}
    state.groups["new"] = FakeGroup(
        coordinator_id=3,
        group_type="consumer",
        state="Stable",
        commits={("other", 0): FakeCommit(40)},
        members=[FakeMember("n1", ("other",), {"other": (0, 1)}), FakeMember("n2", (), owned)],
        has_names=False,
    )
    snapshot = captured(state)
    assert lag_of(snapshot, "new") == {("other", 0): (60, None), ("other", 1): (None, "NO_COMMIT")}
    owners = {row.member_id for row in snapshot.of(ConsumerLagRow) if row.group_id == "new"}
    assert owners <= {"n1", "n2"}, owners
    members = {row.member_id: row for row in snapshot.of(GroupMemberRow) if row.group_id == "new"}
    named = TopicPartitions(topic="other", topic_id=uuid_text(state.topics["other"].topic_id), partitions=(0, 1))
    unknown = TopicPartitions(topic=None, topic_id=uuid_text(b"gone".zfill(16)), partitions=(5,))
    assert (members["n1"].assignment, members["n1"].problem) == ((named,), None)
    assert (members["n2"].assignment, members["n2"].problem) == ((named, unknown), "UNKNOWN_TOPIC_ID")
    assert members["n2"].target_assignment == members["n2"].assignment
    member = next(row for row in snapshot.of(GroupMemberRow) if row.group_id == "new")
    assert member.target_assignment is not None


def test_a_share_group_keeps_its_row() -> None:
    """A group of a type that is not described has a row with the reason, and is not a failure."""
    state = healthy()
    state.groups["shared"] = FakeGroup(coordinator_id=1, group_type="share", state="Stable")
    snapshot = captured(state)
    row = next(row for row in snapshot.of(ConsumerGroupRow) if row.group_id == "shared")
    assert (row.group_type, row.state, row.members, row.problem) == (
        "share",
        "Stable",
        None,
        "GROUP_TYPE_NOT_DESCRIBED",
    )
    assert snapshot.published.status == "complete"


def test_an_unreadable_member_keeps_its_row() -> None:
    """Bytes of a foreign client only cost the member its subscription."""
    state = healthy()
    state.groups["reader"].members[0].raw_metadata = b"\x00"
    snapshot = captured(state)
    group = snapshot.of(ConsumerGroupRow)[0]
    assert (group.members, group.problem) == (1, "MEMBER_PROTOCOL_UNREADABLE")
    problem = "MEMBER_PROTOCOL_UNREADABLE"  # the other subscriptions of the group are unknown
    assert lag_of(snapshot, "reader") == {
        ("orders", 0): (10, problem),
        ("orders", 1): (0, problem),
        ("orders", 2): (None, "NO_COMMIT"),  # these partitions are assigned
    }


def test_a_group_that_may_not_be_seen_hides_nothing_else() -> None:
    """GROUP_AUTHORIZATION_FAILED is in the row of the group, and the other group is complete."""
    state = healthy()
    state.groups["secret"] = FakeGroup(coordinator_id=1, error_code=30, commits={("other", 0): FakeCommit(1)})
    snapshot = captured(state)
    row = next(row for row in snapshot.of(ConsumerGroupRow) if row.group_id == "secret")
    assert row.problem == "GROUP_AUTHORIZATION_FAILED"
    assert len(lag_of(snapshot, "reader")) == 3
    assert {failure.error_name for failure in snapshot.of(CollectionFailureRow)} == {"GROUP_AUTHORIZATION_FAILED"}
    assert snapshot.published.status == "partial"


def test_commits_on_a_deleted_topic_hide_nothing() -> None:
    """One deleted topic does not hide any other lag."""
    state = healthy()
    state.groups["reader"].commits["gone", 0] = FakeCommit(7)
    snapshot = captured(state)
    lag = lag_of(snapshot, "reader")
    assert lag["gone", 0] == (None, "UNKNOWN_TOPIC_OR_PARTITION")
    assert lag["orders", 0] == (10, None)
    row = next(row for row in snapshot.of(CommittedOffsetRow) if row.topic == "gone")
    assert (row.committed_offset, row.topic_id) == (7, None)


def test_a_commit_that_is_refused_is_a_row() -> None:
    """An error of a partition is in the partition's own row."""
    state = healthy()
    state.groups["reader"].commits["other", 1] = FakeCommit(7, error_code=29)
    snapshot = captured(state)
    assert lag_of(snapshot, "reader")["other", 1] == (None, "TOPIC_AUTHORIZATION_FAILED")
    assert snapshot.of(CollectionFailureRow)[0].scope == "group reader, other-1"


def test_a_pending_transaction_shows_the_older_commit() -> None:
    """The stable offset is unknown, so the current commit is shown, with the reason."""
    state = healthy()
    state.groups["reader"].commits["orders", 0] = FakeCommit(55, pending=True)
    snapshot = captured(state)
    assert lag_of(snapshot, "reader")["orders", 0] == (45, "UNSTABLE_OFFSET_COMMIT")
    assert snapshot.published.status == "complete"


def test_a_partition_without_a_leader_is_a_row_everywhere() -> None:
    """It has a row in partitions, in partition_offsets and in the lag of its group."""
    state = healthy()
    state.topics["orders"].partitions[1].leader_id = -1
    snapshot = captured(state)
    partition = next(row for row in snapshot.of(PartitionRow) if (row.topic, row.partition) == ("orders", 1))
    assert (partition.is_leaderless, partition.leader_id, partition.problem) == (True, None, "LEADER_NOT_AVAILABLE")
    offsets = next(row for row in snapshot.of(PartitionOffsetsRow) if (row.topic, row.partition) == ("orders", 1))
    assert (offsets.high_watermark, offsets.problem) == (None, "LEADER_NOT_AVAILABLE")
    assert lag_of(snapshot, "reader")["orders", 1] == (None, "LEADER_NOT_AVAILABLE")
    assert snapshot.published.status == "partial"


def test_a_broker_that_leaves_while_details_are_read() -> None:
    """It is in table brokers, so tables about each broker lack it for a reason, and are not complete."""
    state = healthy()

    def without_2(response: MetadataResponse) -> MetadataResponse:
        return replace(response, brokers=tuple(one for one in response.brokers if one.node_id != 2))

    def meanwhile(_: dict[int, FakeBroker], step: str) -> None:
        if step == "configs":
            state.faults += [
                Fault(METADATA.key, Altered(without_2), times=1_000),
                Fault(DESCRIBE_CONFIGS.key, Close(), 1, 3),
            ]

    snapshot = captured(state, meanwhile)
    assert {row.broker_id for row in snapshot.of(BrokerRow)} == {1, 2, 3}
    failures = {(row.api, row.broker_id, row.error_name) for row in snapshot.of(CollectionFailureRow)}
    apis = ("DescribeConfigs", "DescribeLogDirs", "ListTransactions")
    assert failures == {(api, 2, "BROKER_NOT_AVAILABLE") for api in apis}
    tables = {table.table_name: table.outcome for table in snapshot.published.tables}
    assert {tables[name] for name in ("configs", "log_dirs", "api_versions")} == {"partial"}


def test_the_id_of_a_recreated_topic_is_not_known() -> None:
    """Rows that are collected after the metadata may be of either topic, so they have no id."""
    state = every_shape()

    def meanwhile(_: dict[int, FakeBroker], step: str) -> None:
        if step == "topics again":
            state.topics["orders"].topic_id = b"another topic id"
            state.topics["other"].topic_id = b"the other one id"

    taken = captured(state, meanwhile)
    assert [(row.topic, row.topic_id) for row in taken.of(ReassignmentRow)] == [("orders", None)]
    assert {(row.topic, row.topic_id) for row in taken.of(PartitionProducerRow)} == {("other", None)}
    assert unexplained_of(taken) == []


@pytest.mark.parametrize("recreated", [False, True])
def test_a_topic_that_does_not_last_is_named(recreated: bool) -> None:
    """A topic that was deleted, or re-created, between the first and the last metadata has a reason."""
    state = healthy()

    def vanish(_: dict[int, FakeBroker], step: str) -> None:
        if step == "topics again" and "other" in state.topics:
            del state.topics["other"]
            if recreated:
                state.add_topic("other", 2).topic_id = b"another-identity"

    state.groups["reader"].commits["other", 0] = FakeCommit(1)
    snapshot = captured(state, vanish)
    expected = "TOPIC_RECREATED_DURING_SNAPSHOT" if recreated else "TOPIC_DELETED_DURING_SNAPSHOT"
    assert {row.problem for row in snapshot.of(TopicRow) if row.topic == "other"} == {expected}
    assert {row.problem for row in snapshot.of(PartitionRow) if row.topic == "other"} == {expected}
    assert lag_of(snapshot, "reader")["other", 0] == (None, expected)
    assert snapshot.published.status == "complete"
    ends = [row.high_watermark for row in snapshot.of(PartitionOffsetsRow) if row.topic == "other"]
    assert ends == ([None, None] if recreated else [100, 100])
    replicas = [row.topic_id for row in snapshot.of(StoredReplicaRow) if row.topic == "other"]
    assert set(replicas) == ({None} if recreated else set())


def test_a_topic_deleted_before_its_ends_are_read_is_no_failure() -> None:
    """The cluster has changed, and no request has failed."""
    state = healthy()

    def vanish(_: dict[int, FakeBroker], step: str) -> None:
        if step == "end offsets again":
            state.topics.pop("other", None)

    snapshot = captured(state, vanish)
    assert snapshot.published.status == "complete"
    assert not snapshot.of(CollectionFailureRow)
    assert [row.problem for row in snapshot.of(TopicRow) if row.topic == "other"] == ["TOPIC_DELETED_DURING_SNAPSHOT"]


def test_a_broker_that_dies_in_the_middle_costs_rows_that_say_so() -> None:
    """Its partitions and groups have rows with a reason; everything else is complete."""
    state = healthy()
    state.groups["elsewhere"] = FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(1)})

    def die(brokers: dict[int, FakeBroker], step: str) -> None:
        if step == "committed offsets":
            brokers[2].die()

    snapshot = captured(state, die)
    assert snapshot.published.status == "partial"
    assert snapshot.published.groups == 2
    assert lag_of(snapshot, "elsewhere") == {("orders", 0): (99, None)}
    reader = lag_of(snapshot, "reader")
    assert len(reader) == 3
    assert {problem for _, problem in reader.values()} <= {"CONNECTION_FAILED", "CONNECTION_LOST"}
    assert {failure.broker_id for failure in snapshot.of(CollectionFailureRow)} == {2}
    led = [row for row in snapshot.of(PartitionOffsetsRow) if row.problem]
    assert {(row.topic, row.partition) for row in led} == {("orders", 1), ("other", 1)}


def rule(resource_type: int, name: str, operation: int, principal: str = "User:lagoon") -> DescribeAclsResource:
    acl = AclDescription(principal=principal, host="*", operation=operation, permission_type=acls.ALLOW)
    return DescribeAclsResource(resource_type=resource_type, resource_name=name, pattern_type=acls.LITERAL, acls=(acl,))


ON_CLUSTER = rule(acls.CLUSTER, acls.CLUSTER_NAME, acls.ALL)


@pytest.mark.parametrize(
    ("operations", "rules", "groups", "topics"),
    [
        (8096, None, "complete", "complete"),
        (8096, (), "complete", "complete"),
        (8096, (ON_CLUSTER, rule(acls.TOPIC, "orders", acls.READ)), "complete", "unknown"),
        (1 << 8, (ON_CLUSTER, rule(acls.TOPIC, "*", acls.READ)), "complete", "complete"),
        (0, (ON_CLUSTER, rule(acls.TOPIC, "*", acls.WRITE, "User:other")), "filtered", "complete"),
        (-(2**31), (rule(acls.TOPIC, "orders", acls.READ), rule(acls.TOPIC, "other", acls.READ)), "unknown", "unknown"),
    ],
)
def test_permissions_decide_how_far_lists_are_trusted(
    monkeypatch: pytest.MonkeyPatch,
    operations: int,
    rules: tuple[DescribeAclsResource, ...] | None,
    groups: str,
    topics: str,
) -> None:
    """Brokers leave names out without an error; the authorized operations and the ACLs show if a list may be incomplete."""
    monkeypatch.setattr(KafkaSettings, "principal", lambda _: "User:lagoon")
    monkeypatch.setitem(SPOKEN, DESCRIBE_ACLS.key, fake_acls.ANSWERS[0])
    state = healthy()
    state.cluster_operations, state.acls = operations, rules
    state.groups["sharing"] = FakeGroup(coordinator_id=1, group_type="share")
    trusted = {row.api: row.visibility for row in captured(state).of(CoverageRow)}
    lists = "ListGroups", "Metadata", "OffsetFetch", "DescribeShareGroupOffsets"
    assert tuple(trusted[api] for api in lists) == (groups, topics, topics, topics)
    assert trusted["ListOffsets"] is None


def test_old_brokers_leave_columns_null_and_nothing_failed() -> None:
    """A column that a version lacks is null, and coverage has the version."""
    state = healthy()
    state.highest = {LIST_OFFSETS.key: 5, LIST_GROUPS.key: 2, DESCRIBE_GROUPS.key: 2, OFFSET_FETCH.key: 5, 3: 9}
    snapshot = captured(state)
    assert (snapshot.published.status, snapshot.published.completeness) == ("complete", 1.0)
    assert snapshot.of(ConsumerGroupRow)[0].group_type is None
    assert {row.local_log_start_offset for row in snapshot.of(PartitionOffsetsRow)} == {None}
    assert {row.topic_id for row in snapshot.of(TopicRow)} == {None}
    assert lag_of(snapshot, "reader")["orders", 0] == (10, None)
    assert {row.api_version for row in snapshot.of(CoverageRow) if row.api == "ListOffsets"} == {5}


def test_min_isr_that_may_not_be_read_is_null_with_its_reason() -> None:
    """Columns that depend on the setting are unknown; the others are not."""
    state = healthy()

    def refuse(answer: Any) -> Any:
        for result in answer.results:
            result.error_code, result.configs = 29, ()
        return answer

    state.faults.append(Fault(32, Altered(refuse), times=9))
    rows = captured(state).of(PartitionRow)
    assert {(row.is_under_min_isr, row.is_under_replicated, row.problem) for row in rows} == {
        (None, False, "TOPIC_AUTHORIZATION_FAILED")
    }


def test_progress_names_every_step_once_and_in_order() -> None:
    """The steps on the terminal are the steps of the collection."""
    seen: list[str] = []
    captured(healthy(), lambda _, step: seen.append(step))
    assert tuple(seen) == STEPS


def test_names_that_no_cluster_has() -> None:
    """A topic and a broker with invalid names are failures; everything else is collected."""
    state = healthy()
    state.add_topic("../x", 1)

    def rename(answer: Any) -> Any:
        answer.brokers[2].host = "a b"
        return answer

    state.faults.append(Fault(METADATA.key, Altered(rename), times=1_000))
    taken = captured(state)
    assert [row.topic for row in taken.of(TopicRow)] == ["orders", "other"]
    assert [row.broker_id for row in taken.of(BrokerRow)] == [1, 2, 3]  # the third one is known from DescribeCluster
    assert taken.published.status == "partial"
    refused = {(row.scope, row.error_name) for row in taken.of(CollectionFailureRow) if row.api == "Metadata"}
    assert refused == {("topic ../x", "NAME_REFUSED"), ("broker 3", "ADDRESS_REFUSED")}


@pytest.mark.parametrize(
    ("api", "change", "failed"),
    [
        (LIST_OFFSETS, {"offset": -1}, "OFFSET_NOT_RETURNED"),
        (LIST_OFFSETS, {"error_code": 35}, "UNSUPPORTED_VERSION"),
        (OFFSET_FETCH, {"error_code": 35}, "UNSUPPORTED_VERSION"),
    ],
)
def test_what_says_nothing_is_not_complete(api: Any, change: dict[str, int], failed: str) -> None:
    """If no partition of a leader has an end offset, or no commit of a coordinator an offset, the snapshot is partial."""

    def alter(answer: Any) -> Any:
        for topic in [
            *getattr(answer, "topics", ()),
            *(one for group in getattr(answer, "groups", ()) for one in group.topics),
        ]:
            for partition in topic.partitions:
                for name, value in change.items():
                    setattr(partition, name, value)
        return answer

    state = healthy()
    state.faults.append(Fault(api.key, Altered(alter), node_id=2, times=1_000))
    taken = captured(state)
    assert taken.published.status == "partial"
    assert (api.name, failed) in {(row.api, row.error_name) for row in taken.of(CollectionFailureRow)}


@pytest.mark.parametrize(
    ("api", "group_type"), [(CONSUMER_GROUP_DESCRIBE, "consumer"), (DESCRIBE_SHARE_GROUP_OFFSETS, "share")]
)
def test_a_listed_group_of_an_unsupported_version_is_a_failure(api: Api[Any, Any], group_type: str) -> None:
    """A coordinator that lists the group and offers the API must describe it."""

    def refuse(answer: Any) -> Any:
        for group in answer.groups:
            group.error_code = 35
        return answer

    state = healthy()
    state.groups["new"] = FakeGroup(coordinator_id=3, group_type=group_type, state="Stable")
    state.faults.append(Fault(api.key, Altered(refuse), times=1_000))
    taken = captured(state)
    assert taken.published.status == "partial"
    failed = [(row.api, row.scope, row.error_name) for row in taken.of(CollectionFailureRow)]
    assert failed == [(api.name, "group new", "UNSUPPORTED_VERSION")]
    (covered,) = (row for row in taken.of(CoverageRow) if row.api == api.name)
    assert (covered.failed, covered.not_collected_because) == (1, None)


def test_a_broker_that_lists_no_groups_is_a_failure() -> None:
    """It may have groups that no other broker lists."""
    state = healthy()
    state.missing = {1: {LIST_GROUPS.key}}
    taken = captured(state)
    assert taken.published.status == "partial"
    failed = [(row.api, row.broker_id, row.error_name) for row in taken.of(CollectionFailureRow)]
    assert failed == [("ListGroups", 1, "UNSUPPORTED_VERSION")]


def test_groups_that_one_broker_cannot_describe() -> None:
    """During an upgrade another broker describes groups of this type: what a snapshot needs is then not complete."""
    state = healthy()
    for node_id in (1, 3):
        state.groups[f"on {node_id}"] = FakeGroup(coordinator_id=node_id, group_type="consumer", state="Stable")
    state.missing = {3: {CONSUMER_GROUP_DESCRIBE.key}}
    taken = captured(state)
    failed = [(row.api, row.broker_id, row.error_name) for row in taken.of(CollectionFailureRow)]
    assert failed == [("ConsumerGroupDescribe", 3, "UNSUPPORTED_VERSION")]
    assert {one.table_name: one.outcome for one in taken.published.tables}["consumer_groups"] == "partial"
    assert taken.published.status == "partial"


def test_brokers_without_a_last_stable_offset() -> None:
    """All supported releases have it, so the row says that it is missing, and the snapshot is partial."""
    state = healthy()
    state.highest[LIST_OFFSETS.key] = 1
    taken = captured(state)
    assert {(row.last_stable_offset, row.problem) for row in taken.of(PartitionOffsetsRow)} == {
        (None, "UNSUPPORTED_VERSION")
    }
    assert taken.published.status == "partial"


def test_an_assignment_beside_a_subscription_that_cannot_be_read() -> None:
    """Some clients write a body of v0 with a later version: the assignment is read all the same, as by Kafka's tools."""
    state = healthy()
    (member,) = state.groups["reader"].members
    member.raw_metadata = b"\0\1" + consumer_protocol(("orders",))[2:]
    taken = captured(state)
    (row,) = taken.of(GroupMemberRow)
    assert (row.subscribed_topics, row.problem) == (None, "MEMBER_PROTOCOL_UNREADABLE")
    assert row.assignment == (TopicPartitions(topic="orders", topic_id=None, partitions=(0, 1, 2)),)
    assert {one.member_id for one in taken.of(ConsumerLagRow)} == {"m1"}
