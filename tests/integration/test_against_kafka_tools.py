"""Our rows equal the output of Kafka's own command-line tools for the same cluster at the same time."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.admin.offsets import Kind, list_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.list_offsets import EARLIEST_PENDING_UPLOAD, READ_UNCOMMITTED
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionOffsetsRow, PartitionRow, TopicRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.snapshot_rows import Snapshot, SnapshotRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import kafka_tools as tools
from tests.integration.state import commit, create_topics, every_shape, live_member
from tests.nulls import unexplained_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def snapshot_of(kafka: LocalKafka) -> Snapshot:
    deadline = Deadline.after(CLOCK, 120_000)
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        return collect(cluster, "test", CLOCK.now_ms(), deadline, lambda _name, _items: None)


def consumers_of(snapshot: Snapshot) -> dict[str, ConsumerGroupRow]:
    """The groups that kafka-consumer-groups lists; other tests leave share groups and groups of workers on the brokers."""
    return {
        row.group_id: row
        for row in snapshot.of(ConsumerGroupRow)
        if row.group_type in (None, "classic", "consumer") and row.protocol_type in (None, "", "consumer")
    }


YEAR_10000_MS = 253_402_300_800_000
THREE_BROKERS, OLDER = "4.4.0, three brokers", "3.9.2, one broker"


@pytest.fixture(scope="module", params=[THREE_BROKERS, pytest.param(OLDER, marks=pytest.mark.proof)])
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalKafka]:
    """Both releases in the same state."""
    newest = request.param == THREE_BROKERS
    kafka: LocalKafka = request.getfixturevalue("kafka" if newest else "kafka_392")
    with every_shape(kafka.bootstrap_servers, 3 if newest else 1, with_new_protocol=newest):
        yield kafka


def test_lag_equals_kafka_consumer_groups(cluster: LocalKafka) -> None:
    """Offsets, lag and owners of every group and partition are equal, without missing or additional lines."""
    printed = tools.group_offsets(cluster)
    snapshot = snapshot_of(cluster)
    # A static member that a test of another file has left behind may time out meanwhile.
    changing = {one.group_id for one in printed ^ tools.group_offsets(cluster)}
    ours = {
        tools.GroupOffset(
            row.group_id,
            row.topic,
            row.partition,
            row.committed_offset,
            row.high_watermark,
            row.lag,
            row.member_id,
            row.client_host,
            row.client_id,
        )
        for row in snapshot.of(ConsumerLagRow)
        if row.group_id in consumers_of(snapshot)
    }
    lasting = {one for one in printed if one.group_id not in changing}
    assert lasting
    assert {one for one in ours if one.group_id not in changing} == lasting


def test_groups_equal_kafka_consumer_groups(cluster: LocalKafka) -> None:
    """Coordinator, assignor, state and members of every group, classic and KIP-848."""
    snapshot = snapshot_of(cluster)
    ours = {
        row.group_id: (row.coordinator_id, row.protocol or "", row.state, row.members)
        for row in consumers_of(snapshot).values()
    }
    assert ours == tools.group_states(cluster)
    owned = {
        (
            row.group_id,
            row.member_id,
            row.client_host,
            row.client_id,
            sum(len(one.partitions) for one in row.assignment or ()),
        )
        for row in snapshot.of(GroupMemberRow)
        if row.group_id in consumers_of(snapshot)
    }
    assert owned == tools.group_members(cluster)


def test_topics_equal_kafka_topics(cluster: LocalKafka) -> None:
    """Ids, leaders, replicas and in-sync replicas of every partition."""
    snapshot = snapshot_of(cluster)
    assert {row.topic: row.topic_id for row in snapshot.of(TopicRow)} == tools.topic_ids(cluster)
    printed = tools.topics(cluster)
    ours = {
        (row.topic, row.partition): tools.TopicLine(
            row.leader_id, row.replicas or (), row.isr or (), row.eligible_leader_replicas
        )
        for row in snapshot.of(PartitionRow)
    }
    assert {at: (one.leader_id, one.replicas, one.isr) for at, one in ours.items()} == {
        at: (one.leader_id, one.replicas, one.isr) for at, one in printed.items()
    }
    assert all(one.eligible in (None, printed[at].eligible) for at, one in ours.items())


@pytest.mark.parametrize(
    ("time_option", "column"),
    [
        ("-1", "high_watermark"),
        ("-2", "log_start_offset"),
        ("-3", "max_timestamp_offset"),
        ("-4", "local_log_start_offset"),
        ("-5", "tiered_offset"),
    ],
)
def test_offsets_equal_kafka_get_offsets(cluster: LocalKafka, time_option: str, column: str) -> None:
    """Every special timestamp, for every partition."""
    printed = tools.offsets(cluster, time_option)
    ours = {(row.topic, row.partition): getattr(row, column) for row in snapshot_of(cluster).of(PartitionOffsetsRow)}
    assert {at: offset for at, offset in ours.items() if offset is not None} == {
        at: offset for at, offset in printed.items() if offset is not None and offset >= 0
    }


@pytest.mark.parametrize("cluster", [THREE_BROKERS], indirect=True)
def test_the_earliest_offset_that_waits_for_upload(cluster: LocalKafka) -> None:
    """The last of the special timestamps (KIP-1023) has no column: without tiered storage there is no such offset."""
    deadline = Deadline.after(CLOCK, 30_000)
    settings = KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)
    kind = Kind(EARLIEST_PENDING_UPLOAD, READ_UNCOMMITTED, 11)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as client:
        topics = client.refresh(None, deadline).topics
        everywhere = [TopicPartition(one.name or "", p.partition_index) for one in topics for p in one.partitions]
        listed = list_offsets(client, everywhere, [kind], deadline)[kind]
    printed = tools.offsets(cluster, "-6")
    assert len(listed.answers) == len(everywhere)
    assert {at for at, one in listed.answers.items() if one.offset >= 0} == {
        at for at, offset in printed.items() if offset is not None and offset >= 0
    }


@pytest.mark.proof
@pytest.mark.parametrize("cluster", [THREE_BROKERS], indirect=True)
def test_health_equals_kafka_topics_while_a_broker_is_down(cluster: LocalKafka) -> None:
    """The four health lists of kafka-topics are equal with broker 3 stopped; its partitions have a row with the reason."""
    kafka = cluster
    kafka.stop(3)
    try:
        _wait_until_gone(kafka, 3)
        snapshot = snapshot_of(kafka)
        rows = snapshot.of(PartitionRow)
        for option, flag in (
            ("--under-replicated-partitions", "is_under_replicated"),
            ("--unavailable-partitions", "is_leaderless"),
            ("--under-min-isr-partitions", "is_under_min_isr"),
            ("--at-min-isr-partitions", "is_at_min_isr"),
        ):
            ours = {(row.topic, row.partition) for row in rows if getattr(row, flag)}
            assert ours == set(tools.topics(kafka, option)), option
        assert any(row.is_leaderless and row.problem == "LEADER_NOT_AVAILABLE" for row in rows)
        assert {row.broker_id for row in snapshot.of(BrokerRow) if not row.is_fenced} == {1, 2}
        assert snapshot.of(SnapshotRow)[0].status == "partial"
    finally:
        kafka.start(3)


def _wait_until_gone(kafka: LocalKafka, node_id: int) -> None:
    """Wait until the broker leads no partition and the ISRs have shrunk."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        lines = tools.topics(kafka).values()
        if all(one.leader_id != node_id and (node_id not in one.isr or one.leader_id is None) for one in lines):
            return
        time.sleep(0.5)
    pytest.fail(f"broker {node_id} is still a leader or in sync")


def test_no_null_without_a_reason(cluster: LocalKafka) -> None:
    """This holds for every shape of topic and group, with a timestamp outside the calendar and a static member."""
    config = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    create_topics(cluster.bootstrap_servers, [NewTopic("calendar", 1, 1, config=config)])
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("calendar", b"v", timestamp=YEAR_10000_MS)
    assert producer.flush(30) == 0
    static = {"group.instance.id": "fixed"}
    with live_member(cluster.bootstrap_servers, "static", "calendar", **static):
        snapshot = snapshot_of(cluster)
    assert unexplained_of(snapshot) == []
    (row,) = (one for one in snapshot.of(PartitionOffsetsRow) if one.topic == "calendar")
    assert (row.max_timestamp_ms, row.max_timestamp_offset, row.problem) == (YEAR_10000_MS, 0, None)


def test_no_null_without_a_reason_on_the_oldest_release(kafka_282: LocalKafka) -> None:
    """Values that Kafka 2.8 with ZooKeeper does not have are no problem of each row."""
    create_topics(kafka_282.bootstrap_servers, [NewTopic("oldest-nulls", 2, 1)])
    commit(kafka_282.bootstrap_servers, "oldest-nulls", {("oldest-nulls", 0): 0})
    snapshot = snapshot_of(kafka_282)
    assert unexplained_of(snapshot) == []
    ours = [one for one in snapshot.of(PartitionOffsetsRow) if one.topic == "oldest-nulls"]
    assert [(one.max_timestamp_offset, one.problem) for one in ours] == [(None, None)] * 2
