"""Groups of every type on real brokers: their rows in snapshots and verbs, against Kafka's own tools."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition, alter_offsets
from kafka_lagoon.admin.groups import GroupDescriptions, GroupListing, delete_groups, describe_groups, list_groups
from kafka_lagoon.admin.share_groups import alter_share_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT,
    LEAVE,
    ConsumerGroupHeartbeatRequest,
)
from kafka_lagoon.protocol.messages.join_group import JOIN_GROUP, JoinGroupRequest, JoinGroupRequestProtocol
from kafka_lagoon.protocol.messages.leave_group import LEAVE_GROUP, LeaveGroupRequest, LeavingMember
from kafka_lagoon.protocol.messages.sync_group import SYNC_GROUP, SyncGroupRequest, SyncGroupRequestAssignment
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.group_rows import CommittedOffsetRow, ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, Snapshot
from tests.clock import CLOCK
from tests.integration import kafka_tools as tools
from tests.integration.every_broker import wait_until
from tests.integration.releases import NEWEST, Release, of_kind
from tests.integration.state import commit as commit_offsets
from tests.integration.state import create_topics, live_member, produce, sharing
from tests.integration.streams_members import commit, coordinator, streams_members
from tests.integration.test_against_kafka_tools import snapshot_of
from tests.nulls import unexplained_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOPIC = "newer-groups"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"


@pytest.fixture(scope="module")
def release(kafka: LocalKafka) -> Release:
    """The newest release, with a topic of ours."""
    create_topics(kafka.bootstrap_servers, [NewTopic(TOPIC, 3, 1)])
    produce(kafka.bootstrap_servers, TOPIC)
    return Release(NEWEST, kafka)


def test_a_share_group(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Its member, its partitions and its progress are equal (KIP-932)."""
    group_id = "newer-sharing"
    with sharing(release.bootstrap_servers, group_id, TOPIC):
        (line,) = _lines(release, SHARE_GROUPS, group_id, "--members")
        described = release.shown(capsys, "describe-group", group_id)
        (group,), (member,) = of_kind(described, "group"), of_kind(described, "member")
        assert (group["group_type"], group["state"], group["members"]) == ("share", "Stable", 1)
        assert line[1:4] == [member["member_id"], member["client_host"], member["client_id"]]
        assert [(one["topic"], one["partitions"]) for one in member["assignment"]] == [(TOPIC, [0, 1, 2])]
        wait_until(lambda: _shown_share_lag(release, capsys, group_id) == _share_lag_of_kafka(release, group_id))
        assert len(_shown_share_lag(release, capsys, group_id)) == 3
    produce(release.bootstrap_servers, TOPIC, 60)
    _wait_for_the_end_of_acknowledgements(release, group_id)
    snapshot = snapshot_of(release.kafka)
    lag = [row for row in snapshot.of(ConsumerLagRow) if row.group_id == group_id]
    shown = {(row.topic, row.partition, row.share_start_offset, row.lag) for row in lag}
    assert shown == _share_lag_of_kafka(release, group_id)
    assert {(row.lag is None, row.lag_basis, row.problem) for row in lag} <= {
        (False, "share", None),
        (True, "log_start", "SHARE_NOT_STARTED"),  # the partition has not been read yet
    }
    assert sum(row.lag or 0 for row in lag)
    (state,) = _lines(release, SHARE_GROUPS, group_id, "--state", "--verbose")
    assert state[3:] == _epochs(snapshot, group_id)
    assert unexplained_of(snapshot) == []


ShareLag = set[tuple[str, int, int | None, int | None]]  # topic, partition, start offset, lag


def _shown_share_lag(release: Release, capsys: pytest.CaptureFixture[str], group_id: str) -> ShareLag:
    """Return what `lagoon kafka lag` prints. A member that reads moves it from one moment to the next."""
    ours = of_kind(release.shown(capsys, "lag", group_id), "share")
    return {(one["topic"], one["partition"], one["start_offset"], one["lag"]) for one in ours}


def _share_lag_of_kafka(release: Release, group_id: str) -> ShareLag:
    """Return what kafka-share-groups prints."""
    return {
        (topic, int(partition), *(None if word == "-" else int(word) for word in offsets))
        for _, topic, partition, *offsets in _lines(release, SHARE_GROUPS, group_id, "--offsets")
    }


def _wait_for_the_end_of_acknowledgements(release: Release, group_id: str) -> None:
    """Wait until two answers are the same: a broker stores what a member acknowledged last after the member has left."""
    seen: list[ShareLag] = []

    def is_steady() -> bool:
        seen.append(_share_lag_of_kafka(release, group_id))
        return len(seen) > 1 and seen[-1] == seen[-2]

    wait_until(is_steady)


def _epochs(snapshot: Snapshot, group_id: str) -> list[str]:
    """Return state, epochs and number of members, as tools print them."""
    (row,) = (row for row in snapshot.of(ConsumerGroupRow) if row.group_id == group_id)
    return [str(value) for value in (row.state, row.group_epoch, row.assignment_epoch, row.members)]


@pytest.mark.proof
def test_a_group_that_is_migrated(release: Release) -> None:
    """A group of classic members becomes a consumer group when the first member with the new protocol joins (KIP-848)."""
    group_id, servers = "newer-migrated", release.bootstrap_servers
    with live_member(servers, group_id, TOPIC):
        before, listed = snapshot_of(release.kafka), group_listings(servers)
        with live_member(servers, group_id, TOPIC, **{"group.protocol": "consumer"}):
            after = snapshot_of(release.kafka)
            late = described(servers, group_id, listed[group_id])
            lines = _lines(release, tools.CONSUMER_GROUPS, group_id, "--members", "--verbose")
            (state,) = _lines(release, tools.CONSUMER_GROUPS, group_id, "--state", "--verbose")
    assert [
        (row.group_type, row.protocol, row.group_epoch, row.members)
        for row in before.of(ConsumerGroupRow)
        if row.group_id == group_id
    ] == [("classic", "range", None, 1)]
    assert [row.member_type for row in before.of(GroupMemberRow) if row.group_id == group_id] == [None]
    assert (late.migrated[group_id].group_type, late.failures) == ("consumer", {}), "listed before, described after it"
    assert state[4:] == _epochs(after, group_id)
    members = [row for row in after.of(GroupMemberRow) if row.group_id == group_id]
    assert {
        (
            row.member_id,
            str(row.member_epoch),
            _partitions(row.assignment),
            _partitions(row.target_assignment),
            {"consumer": "true", "classic": "false"}[row.member_type or ""],
        )
        for row in members
    } == {
        (member_id, epoch, current, target, upgraded)
        for _, member_id, _, _, _, epoch, current, _, target, upgraded in lines
    }
    assert {row.member_type for row in members} == {"classic", "consumer"}
    owners = {row.partition: row.member_id for row in after.of(ConsumerLagRow) if row.group_id == group_id}
    assert sorted(owners) == [0, 1, 2]
    assert set(owners.values()) == {row.member_id for row in members}


def test_numbers_that_clients_chose(release: Release) -> None:
    """Brokers store any offset that a client commits or sets, and -2 of a member that left for now: no answer is refused for it."""
    servers, static, negative, share = release.bootstrap_servers, "newer-static", "newer-negative", "newer-past-end"
    with live_member(servers, static, TOPIC, **{"group.protocol": "consumer", "group.instance.id": "first"}):
        pass
    with sharing(servers, share, TOPIC):
        pass
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(KafkaSettings(bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        list_groups(cluster, deadline)
        assert not alter_offsets(
            cluster, {GroupPartition(negative, TOPIC, 0): Commit(-5, -7, "by hand")}, deadline
        ).failures
        starts = {GroupPartition(share, TOPIC, 0): -5, GroupPartition(share, TOPIC, 1): 1_000_000}
        assert not alter_share_offsets(cluster, starts, deadline).failures
        snapshot = snapshot_of(release.kafka)
        (member,) = (row for row in snapshot.of(GroupMemberRow) if row.group_id == static)
        leaving = ConsumerGroupHeartbeatRequest(
            group_id=static, member_id=member.member_id, member_epoch=LEAVE, instance_id=member.group_instance_id
        )
        # Otherwise it would be away until its session times out, which changes the group while other tests compare it.
        assert not coordinator(cluster, static).ask(CONSUMER_GROUP_HEARTBEAT, leaving, deadline).error_code
        assert not delete_groups(cluster, [static, negative, share], deadline).failures
    assert member.member_epoch == -2
    assert [row.partition for row in snapshot.of(CommittedOffsetRow) if row.group_id == negative] == [0]
    lags = {row.partition: row for row in snapshot.of(ConsumerLagRow) if row.group_id == share}
    assert (lags[0].share_start_offset, lags[0].lag, lags[0].problem) == (None, None, "SHARE_START_NEGATIVE")
    assert (lags[1].share_start_offset, lags[1].problem) == (1_000_000, None)
    assert lags[1].lag == (lags[1].high_watermark or 0) - 1_000_000
    assert unexplained_of(snapshot) == []
    assert [row for row in snapshot.of(CollectionFailureRow) if row.error_name == "PROTOCOL_ERROR"] == []


def group_listings(bootstrap_servers: str) -> Mapping[str, GroupListing]:
    """Return groups as brokers list them now."""
    deadline = Deadline.after(CLOCK, 30_000)
    settings = KafkaSettings(bootstrap_servers=bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        return list_groups(cluster, deadline).groups


def described(bootstrap_servers: str, group_id: str, listing: GroupListing) -> GroupDescriptions:
    """Return the description of a group that was listed before."""
    deadline = Deadline.after(CLOCK, 30_000)
    settings = KafkaSettings(bootstrap_servers=bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        cluster.learn_coordinators({group_id: listing.node_id})
        return describe_groups(cluster, {group_id: listing}, deadline)


def _partitions(assignment: Any) -> str:
    """Return an assignment of one topic as tools print it."""
    return ",".join(f"{one.topic}:{','.join(map(str, one.partitions))}" for one in assignment)


def test_groups_of_other_protocols(release: Release) -> None:
    """A group that only stores commits has no protocol, and members of other protocols own no partitions."""
    commit_offsets(release.bootstrap_servers, "newer-simple", {(TOPIC, 0): 1})
    with worker(release, "newer-connect"):
        snapshot = snapshot_of(release.kafka)
        printed = release.printed(GROUPS, "--list").splitlines()[1:]
    lines = {tuple(line.split()) for line in printed if line.strip()}
    assert {
        (row.group_id, (row.group_type or "").capitalize(), *filter(None, [row.protocol_type]))
        for row in snapshot.of(ConsumerGroupRow)
    } == lines
    rows = {row.group_id: row for row in snapshot.of(ConsumerGroupRow)}
    simple, connect = rows["newer-simple"], rows["newer-connect"]
    assert (simple.protocol_type, simple.state, simple.members, simple.problem) == ("", "Empty", 0, None)
    assert (connect.protocol_type, connect.state, connect.protocol) == ("connect", "Stable", "sessioned")
    (member,) = (row for row in snapshot.of(GroupMemberRow) if row.group_id == "newer-connect")
    assert (member.subscribed_topics, member.assignment, member.problem) == (None, None, None)
    lag = {row.group_id: row.committed_offset for row in snapshot.of(ConsumerLagRow)}
    assert lag["newer-simple"] == 1
    assert "newer-connect" not in lag
    assert unexplained_of(snapshot) == []


@contextmanager
def worker(release: Release, group_id: str) -> Iterator[None]:
    """Make a member of a group as Connect's workers do: its metadata is not that of a consumer."""
    deadline = Deadline.after(CLOCK, 60_000)
    settings = KafkaSettings(bootstrap_servers=release.bootstrap_servers)
    protocols = (JoinGroupRequestProtocol(name="sessioned", metadata=b"\0\1 not a subscription"),)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        broker = coordinator(cluster, group_id)
        join = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id="",
            protocol_type="connect",
            protocols=protocols,
        )
        join.member_id = broker.ask(JOIN_GROUP, join, deadline).member_id  # error 79 has the id that it must join with
        joined = broker.ask(JOIN_GROUP, join, deadline)
        assert not joined.error_code
        sync = SyncGroupRequest(
            group_id=group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="connect",
            protocol_name="sessioned",
            assignments=(SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"\0\1 tasks"),),
        )
        assert not broker.ask(SYNC_GROUP, sync, deadline).error_code
        yield
        leaving = (LeavingMember(member_id=joined.member_id),)
        broker.ask(LEAVE_GROUP, LeaveGroupRequest(group_id=group_id, members=leaving), deadline)


def test_a_streams_group(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Its members, the partitions of their tasks, its commits and its lag are equal (KIP-1071)."""
    group_id = "newer-streaming"
    between = f"{group_id}-by-key-repartition"
    with streams_members(release.bootstrap_servers, group_id, TOPIC, ["one", "two"]) as members:
        for member in members:
            reads = next((task.partitions for task in member.tasks if task.subtopology_id == "0"), ())
            commit(member, TOPIC, {partition: 1 + partition for partition in reads if partition != 2})
        described = release.shown(capsys, "describe-group", group_id)
        (group,) = of_kind(described, "group")
        (line,) = _lines(release, STREAMS_GROUPS, group_id, "--state")
        assert (group["group_type"], group["group_id"]) == ("streams", group_id)
        assert line[2:] == [
            f"({group['coordinator_id']})",
            group["protocol"],
            group["state"],
            str(group["members"]),
        ]
        assert (group["state"], group["members"]) == ("Stable", 2)
        topics = {"0": TOPIC, "1": between}  # each subtopology reads it
        assert {
            (one["member_id"], one["client_id"], one["member_epoch"], topic, partition)
            for one in of_kind(described, "member")
            for topic, partition in _owned(one["assignment"])
        } == {
            (member_id, client_id, int(epoch), topics[subtopology], int(partition))
            for _, _, _, member_id, _, epoch, _, client_id, _, *tasks in _lines(
                release, STREAMS_GROUPS, group_id, "--members", "--verbose"
            )
            for subtopology, partitions in re.findall(r"(\d+):\[([\d,]+)\]", " ".join(tasks).split("TARGET")[0])
            for partition in partitions.split(",")
        }
        assert {
            (one["member_id"], task["subtopology_id"], partition)
            for one in of_kind(described, "member")
            for task in one["active_tasks"]
            for partition in task["partitions"]
        } == {
            (member.member_id, task.subtopology_id, partition)
            for member in members
            for task in member.tasks
            for partition in task.partitions
        }
        assert {(one["process_id"], one["member_type"]) for one in of_kind(described, "member")} == {
            ("process-one", "streams"),
            ("process-two", "streams"),
        }
        ours = of_kind(release.shown(capsys, "lag", group_id), "lag")
        assert len(ours) == 5
        lines = _lines(release, STREAMS_GROUPS, group_id, "--offsets", "--verbose")
        assert {(one["topic"], one["partition"], one["committed_offset"], one["high_watermark"]) for one in ours} == {
            (topic, int(partition), None if current == "-" else int(current), int(end))
            for _, topic, partition, current, _, end, _ in lines
        }
    release.printed(STREAMS_GROUPS, "--delete", "--group", group_id, "--delete-all-internal-topics")


def _owned(assignment: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(one["topic"], partition) for one in assignment for partition in one["partitions"]}


def _lines(release: Release, tool: str, group_id: str, *what: str) -> list[list[str]]:
    """Return the words of each line that a tool prints of a group."""
    printed = release.printed(tool, "--describe", "--group", group_id, *what)
    return [line.split() for line in printed.splitlines() if line.startswith(group_id)]
