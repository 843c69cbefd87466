"""Rows of brokers, topics and partitions are made from metadata alone: unknown values are null, with a reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.cluster import Identity
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    MetadataBroker,
    MetadataPartition,
    MetadataResponse,
    MetadataTopic,
)
from kafka_lagoon.snapshot.chosen_names import Names
from kafka_lagoon.snapshot.topology import (
    DISPUTED,
    NOT_DESCRIBED,
    NOT_IN_METADATA,
    PARTITIONS_ADDED,
    TOPIC_CREATED,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Durability,
    broker_rows,
    changes,
    check_again,
    partition_rows,
    read_topology,
    topic_rows,
    topology_of,
)
from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

NOT_READ = Durability(min_insync_replicas={}, eligible={}, problems={}, eligible_problem=None)
UNKNOWN_TOPIC, REFUSED, LISTENER_NOT_FOUND = 3, 29, 72


def metadata(**values: Any) -> MetadataResponse:
    partition = MetadataPartition(
        **{
            "partition_index": 0,
            "leader_id": 1,
            "leader_epoch": 4,
            "replica_nodes": (1, 2),
            "isr_nodes": (1, 2),
            **values,
        }
    )
    brokers = tuple(MetadataBroker(node_id=node, host=f"h{node}", port=9092, rack=f"r{node}") for node in (1, 2))
    topic = MetadataTopic(name="orders", topic_id=b"1" * 16, partitions=(partition,))
    return MetadataResponse(brokers=brokers, topics=(topic,))


def durability(needed: int | None = 1) -> Durability:
    return Durability(
        min_insync_replicas={} if needed is None else {"orders": needed},
        eligible={},
        problems={} if needed is not None else {"orders": "REFUSED"},
        eligible_problem=None,
    )


def partition(needed: int | None = 1, **values: Any) -> PartitionRow:
    (row,) = partition_rows(topology_of(metadata(**values)), durability(needed))
    return row


def test_a_healthy_partition() -> None:
    """It has no finding, and all of its values are known."""
    row = partition()
    assert (row.topic, row.partition, row.leader_id, row.leader_epoch, row.replicas, row.isr) == (
        "orders",
        0,
        1,
        4,
        (1, 2),
        (1, 2),
    )
    assert (row.is_leaderless, row.is_under_replicated, row.is_preferred_leader) == (False, False, True)
    assert (row.is_under_min_isr, row.is_at_min_isr, row.rack_count, row.problem) == (False, False, 2, None)


@pytest.mark.parametrize(("isr", "is_missing"), [((1, 2), False), ((1,), True), ((1, 3), False)])
def test_replicas_that_are_added(isr: tuple[int, ...], is_missing: bool) -> None:
    """A reassignment adds broker 3. As in kafka-topics, one in sync counts like any other."""
    topology = topology_of(metadata(replica_nodes=(1, 2, 3), isr_nodes=isr))
    (row,) = partition_rows(
        topology, durability(1), {TopicPartition("orders", 0): (3,), TopicPartition("other", 0): (9,)}
    )
    assert row.is_under_replicated == is_missing


def test_a_reassignment_that_began_after_the_metadata() -> None:
    """The replica that it adds is not among those of the metadata, so it hides no other that is missing."""
    (row,) = partition_rows(topology_of(metadata(isr_nodes=(1,))), durability(1), {TopicPartition("orders", 0): (3,)})
    assert (row.replicas, row.is_under_replicated) == ((1, 2), True)


@pytest.mark.parametrize(("needed", "under", "exactly"), [(1, False, True), (2, True, False), (None, None, None)])
def test_min_isr(needed: int | None, under: bool | None, exactly: bool | None) -> None:
    """With one replica in sync, a partition is at the minimum, under it, or unknown with a reason."""
    row = partition(needed, isr_nodes=(2,))
    assert (row.is_under_min_isr, row.is_at_min_isr, row.is_under_replicated) == (under, exactly, True)
    assert row.problem == (None if needed else "REFUSED")


def test_no_leader() -> None:
    """-1 means that there is no leader; whether the preferred replica leads is unknown then."""
    row = partition(leader_id=-1, leader_epoch=-1, error_code=5)
    assert (row.leader_id, row.leader_epoch, row.is_leaderless, row.is_preferred_leader) == (None, None, True, None)
    assert row.problem == "LEADER_NOT_AVAILABLE"


def test_another_leader_than_the_preferred() -> None:
    """The preferred leader is the first of the replicas."""
    assert partition(leader_id=2).is_preferred_leader is False


def test_the_first_broker_and_the_first_epoch() -> None:
    """0 is an id and an epoch like any other."""
    row = partition(leader_id=0, leader_epoch=0, replica_nodes=(0, 1))
    assert (row.leader_id, row.leader_epoch, row.is_leaderless, row.is_preferred_leader) == (0, 0, False, True)


def test_topics_that_are_left_out_did_not_appear_meanwhile(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """They are none of the topology, also where a third broker decides."""
    state.add_topic("other", 1)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    before = read_topology(cluster, None, deadline, Names.of(None, "other"))
    assert before.left_out == 1
    state.topics["orders"].partitions[0].isr = (1,)
    topology, _ = check_again(cluster, before, deadline)
    assert ([row.topic for row in topic_rows(topology)], topology.unasked) == (["orders"], {})


def test_a_rack_that_is_unknown() -> None:
    """The racks of replicas cannot be counted while one of their brokers is unknown."""
    assert partition(replica_nodes=(1, 9)).rack_count is None


def test_partitions_in_any_order() -> None:
    """Rows are in the order of partitions, each with its own values; a topic has the replication factor of partition 0."""
    some = tuple(
        MetadataPartition(partition_index=number, leader_id=leader, replica_nodes=replicas, isr_nodes=replicas)
        for number, leader, replicas in ((1, 2, (2, 1, 3)), (2, 3, (3,)), (0, 1, (1, 2)))
    )
    topology = topology_of(MetadataResponse(topics=(MetadataTopic(name="orders", partitions=some),)))
    rows = [(row.partition, row.leader_id, row.replicas) for row in partition_rows(topology, NOT_READ)]
    assert rows == [(0, 1, (1, 2)), (1, 2, (2, 1, 3)), (2, 3, (3,))]
    assert topology.every_partition() == [TopicPartition("orders", number) for number in range(3)]
    assert [(row.partitions, row.replication_factor) for row in topic_rows(topology)] == [(3, 2)]


def test_a_topic_that_is_hidden() -> None:
    """Its row has only the name and the reason."""
    response = MetadataResponse(topics=(MetadataTopic(name="secret", error_code=REFUSED),))
    topology = topology_of(response)
    (row,) = topic_rows(topology)
    assert (row.topic, row.is_internal, row.partitions, row.replication_factor) == ("secret", None, None, None)
    assert row.problem == topology.absence("secret") == "TOPIC_AUTHORIZATION_FAILED"
    assert topology.absence("nowhere") == "UNKNOWN_TOPIC_OR_PARTITION"


def test_changes_of_topics() -> None:
    """A deleted topic and a re-created topic have different reasons; a new topic has none, nor has an id that is not given."""
    before = {"a": "1", "b": "2", "c": "3", "given since": None, "refused": "6"}
    after = {"a": "1", "b": "9", "d": "4", "given since": "5", "refused": None}
    assert changes(before, after) == {"b": TOPIC_RECREATED, "c": TOPIC_DELETED}


def described(change: Callable[[dict[str, Any]], None], node_id: int, times: int) -> Fault:
    """Make a broker describe the partitions of topic orders otherwise."""

    def altered(response: MetadataResponse) -> MetadataResponse:
        topics = {topic.name: topic for topic in response.topics}
        if topics:
            change(topics)
        return replace(response, topics=tuple(topics.values()))

    return Fault(METADATA.key, Altered(altered), node_id, times)


def _other_leader(topics: dict[str, Any]) -> None:
    first, *others = topics["orders"].partitions
    topics["orders"] = replace(topics["orders"], partitions=(replace(first, leader_id=3), *others))


def _without_orders(topics: dict[str, Any]) -> None:
    del topics["orders"]


def _without_id(topics: dict[str, Any]) -> None:
    topics["orders"] = replace(topics["orders"], topic_id=bytes(16))


def _without_2(answer: MetadataResponse) -> MetadataResponse:
    return replace(answer, brokers=answer.brokers[::2])


def _with_another(topics: dict[str, Any]) -> None:
    topics["new"] = replace(topics["orders"], name="new", topic_id=b"n" * 16)


@pytest.mark.parametrize("change", [_other_leader, _without_orders, _with_another])
@pytest.mark.parametrize("node_id", [1, 2])
def test_one_of_three_brokers_is_not_believed(
    state: FakeCluster, connect: Callable[[], Cluster], change: Callable[[dict[str, Any]], None], node_id: int
) -> None:
    """The topology is what two brokers say, and what the first one left out is marked."""
    state.add_topic("kept", 1)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    true = read_topology(cluster, None, deadline)
    state.faults.append(described(change, node_id, 1_000))
    topology, failures = check_again(cluster, read_topology(cluster, None, deadline), deadline)
    assert failures == []
    assert not topology.disputed
    if change is _without_orders and node_id == 1:
        assert {row.topic: (row.partitions, row.problem) for row in topic_rows(topology)} == {
            "kept": (1, None),
            "orders": (None, TOPIC_CREATED),
        }
    elif change is _with_another and node_id == 1:
        problems = {row.topic: row.problem for row in topic_rows(topology)}
        assert problems == {"orders": None, "kept": None, "new": TOPIC_DELETED}
    else:
        assert topology.metadata.topics == true.metadata.topics
        assert not topology.changed


@pytest.mark.parametrize("node_id", [1, 2])
def test_an_id_that_one_broker_does_not_give(state: FakeCluster, connect: Callable[[], Cluster], node_id: int) -> None:
    """The id is what two brokers say, as while brokers are upgraded to Kafka 2.8; commits that lack it get it."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    state.faults.append(described(_without_id, node_id, 1_000))
    before = read_topology(cluster, None, deadline)
    topology, _ = check_again(cluster, before, deadline)
    (row,) = topic_rows(topology)
    topic_id = uuid_text(state.topics["orders"].topic_id)
    assert (row.topic_id, row.problem) == (topic_id, None)
    assert topology.given_ids == ({"orders": topic_id} if before.topic_ids["orders"] is None else {})


def _refused(topics: dict[str, Any]) -> None:
    topics["orders"] = replace(topics["orders"], error_code=REFUSED, partitions=(), topic_id=bytes(16))


@pytest.mark.parametrize("is_first", [True, False])
def test_a_topic_that_is_hidden_from_one_answer(
    state: FakeCluster, connect: Callable[[], Cluster], is_first: bool
) -> None:
    """A permission was given or taken away meanwhile: the topic is as in the first answer, from which its offsets were read."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    if is_first:
        state.faults.append(described(_refused, 1, 1))
    before = read_topology(cluster, None, deadline)
    if not is_first:
        state.faults += [described(_refused, node_id, 1_000) for node_id in (1, 2, 3)]
    topology, failures = check_again(cluster, before, deadline)
    assert failures == []
    assert list(topic_rows(topology)) == list(topic_rows(before))
    (row,) = topic_rows(topology)
    assert row.problem == ("TOPIC_AUTHORIZATION_FAILED" if is_first else None)


def test_brokers_that_two_of_three_name(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """They are those to which later requests go, although the last answer lacks one of them."""
    state.faults.append(described(_other_leader, 2, 1_000))
    state.faults.append(Fault(METADATA.key, Altered(_without_2), 3, 1_000))
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    topology, _ = check_again(cluster, read_topology(cluster, None, deadline), deadline)
    assert {one.node_id for one in topology.metadata.brokers} == set(cluster.brokers) == {1, 2, 3}


def test_topics_beside_those_that_changed_are_whole(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A deleted topic keeps its row, and topics that are listed after it are as later answers describe them."""
    for name in ("second", "third", "last"):
        state.add_topic(name, 2)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    before = read_topology(cluster, None, deadline)
    del state.topics["orders"]
    for partition in state.topics["last"].partitions:
        partition.isr = (1,)
    topology, _ = check_again(cluster, before, deadline)
    rows = {(row.topic, row.partition): (row.isr, row.problem) for row in partition_rows(topology, NOT_READ)}
    assert {topic for topic, _ in rows} == {"orders", "second", "third", "last"}
    assert {isr for (topic, _), (isr, _) in rows.items() if topic == "last"} == {(1,)}
    assert {topic for (topic, _), (_, problem) in rows.items() if problem} == {"orders"}


def test_partitions_that_were_added_meanwhile(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """The topic says so and has no number of partitions; rows of partitions are those whose offsets were read."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    before = read_topology(cluster, None, deadline)
    partitions = state.topics["orders"].partitions
    partitions.append(replace(partitions[0]))
    topology, _ = check_again(cluster, before, deadline)
    assert [(row.topic, row.partitions, row.problem) for row in topic_rows(topology)] == [
        ("orders", None, PARTITIONS_ADDED)
    ]
    assert topology.partitions == before.partitions


def test_a_change_meanwhile_is_believed(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Later descriptions of all brokers are taken over, and a partition that each answer describes in another way says so."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    before = read_topology(cluster, None, deadline)
    state.topics["orders"].partitions[0].isr = state.topics["orders"].partitions[1].isr = (1,)
    state.faults.append(described(_other_leader, 2, 1))
    topology, _ = check_again(cluster, before, deadline)
    assert [one.isr_nodes for one in topology.metadata.topics[0].partitions[:2]] == [(1,), (1,)]
    assert topology.disputed == {("orders", 0)}
    problems = [row.problem for row in partition_rows(topology, NOT_READ)]
    assert problems == [DISPUTED, *[None] * (len(problems) - 1)]


def test_metadata_that_no_broker_repeats(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """The snapshot goes on with the topology that it has, and says that it was not compared."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    before = read_topology(cluster, None, deadline)
    state.faults.append(Fault(METADATA.key, Altered(lambda answer: replace(answer, brokers=())), times=1_000))
    topology, failures = check_again(cluster, before, Deadline.after(CLOCK, 500))
    assert list(topic_rows(topology)) == list(topic_rows(before))
    assert [(one.api, one.name, one.scope.name) for one in failures] == [
        ("Metadata", "CONNECTION_FAILED", "all topics")
    ]


def description_of(broker: DescribeClusterBroker) -> DescribeClusterResponse:
    """Return a description of the cluster with this broker alone."""
    return DescribeClusterResponse(
        error_code=0,
        error_message=None,
        cluster_id="c",
        controller_id=1,
        brokers=(broker,),
        cluster_authorized_operations=0,
    )


def test_a_broker_that_is_not_described_may_be_the_controller() -> None:
    """Each of the two columns is known without the other one."""
    known = DescribeClusterBroker(broker_id=1, host="h1", port=9092, rack=None, is_fenced=False)
    described = description_of(known)
    identity = Identity(described=described, controller_id=2, controller_problem=None, failures=())
    rows = list(broker_rows(metadata(), identity))
    assert [(row.is_controller, row.is_fenced, row.problem) for row in rows] == [
        (False, False, None),
        (True, None, NOT_DESCRIBED),
    ]
    nobody = Identity(described=described, controller_id=None, controller_problem="NO_CONTROLLER", failures=())
    first, _ = broker_rows(metadata(), nobody)
    assert (first.is_controller, first.is_fenced, first.problem) == (None, False, "NO_CONTROLLER")


def test_a_leader_without_our_listener() -> None:
    """Brokers name no leader for us then, and the reason."""
    row = partition(error_code=LISTENER_NOT_FOUND, leader_id=-1)
    assert (row.leader_id, row.is_leaderless, row.problem) == (None, True, "LISTENER_NOT_FOUND")


def test_brokers_without_a_description() -> None:
    """A broker without a description has nulls, with the reason."""
    identity = Identity(described=None, controller_id=2, controller_problem=None, failures=())
    rows = list(broker_rows(metadata(), identity))
    assert [(row.broker_id, row.is_controller, row.is_fenced) for row in rows] == [(1, False, None), (2, True, None)]
    assert NOT_DESCRIBED not in {row.problem for row in rows}


def test_a_fenced_broker() -> None:
    """Metadata does not name it, and it has no address."""
    fenced = DescribeClusterBroker(broker_id=0, host="", port=-1, rack="r", is_fenced=True)
    described = description_of(fenced)
    identity = Identity(described=described, controller_id=1, controller_problem=None, failures=())
    first, second, _ = broker_rows(metadata(), identity)
    assert (first.broker_id, first.host, first.port, first.rack) == (0, None, None, "r")
    assert (first.is_fenced, first.is_controller, first.problem) == (True, False, None)
    assert (second.host, second.port) == ("h1", 9092)


def test_a_broker_that_stops_is_not_known_to_be_up() -> None:
    """It was not fenced when the cluster was described, and the metadata that was read after that lacks it."""
    stopped = DescribeClusterBroker(broker_id=9, host="h9", port=9092, rack="r", is_fenced=False)
    identity = Identity(described=description_of(stopped), controller_id=9, controller_problem=None, failures=())
    *_, row = broker_rows(metadata(), identity)
    assert (row.broker_id, row.host, row.rack, row.is_controller) == (9, "h9", "r", True)
    assert (row.is_fenced, row.problem) == (None, NOT_IN_METADATA)


@pytest.mark.parametrize(("version", "offline"), [(4, None), (5, ()), (12, ())])
def test_offline_replicas_that_brokers_do_not_return_are_null(
    state: FakeCluster, connect: Callable[[], Cluster], version: int, offline: tuple[int, ...] | None
) -> None:
    """Metadata before v5 has no such field; an empty list would mean that all replicas are online."""
    state.highest[METADATA.key] = version
    topology = read_topology(connect(), None, Deadline.after(CLOCK, 5_000))
    assert {row.offline_replicas for row in partition_rows(topology, NOT_READ)} == {offline}


def test_offline_replicas_during_an_upgrade_are_null(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """If one of the brokers that described topics is too old, an empty list may be its answer."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    cluster.refresh(None, deadline)
    state.highest[METADATA.key] = 4
    cluster.refresh_elsewhere((), deadline)
    topology = read_topology(cluster, None, deadline)
    assert {row.offline_replicas for row in partition_rows(topology, NOT_READ)} == {None}


def test_only_named_topics_are_read(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Other topics are not in the topology."""
    state.add_topic("other", 1)
    topology = read_topology(connect(), ["other"], Deadline.after(CLOCK, 5_000))
    assert list(topology.partitions) == ["other"]
