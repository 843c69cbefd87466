"""Routing: every item has a response or a failure, and stale leaders and coordinators are looked up again."""

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LARGEST_TIMESTAMP, list_offsets
from kafka_lagoon.client.agreement import ask_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.routes import ByController, ByCoordinator, ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.produce.transactions import Transaction, end_all, fence_all
from kafka_lagoon.protocol.error_codes import ERROR_CODES
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest
from kafka_lagoon.snapshot.commits import commits_of
from kafka_lagoon.snapshot.topology import topology_of
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK, Hands
from tests.effort import examples
from tests.fake.broker import FakeBroker, fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.direct import answered_directly
from tests.fake.faults import Altered, Close, Fault, Hang, Raw
from tests.short_timeouts import short_timeouts

ORDERS = [TopicPartition("orders", partition) for partition in range(6)]
Connect = Callable[..., Cluster]
ALWAYS = 1_000
OFFSET_NOT_AVAILABLE, UNKNOWN_TOPIC, NOT_LEADER = 78, 3, 6


def soon(budget_ms: int = 4_000) -> Deadline:
    return Deadline.after(CLOCK, budget_ms)


def ends(cluster: Cluster, budget_ms: int = 4_000) -> Gathered[TopicPartition, Any]:
    cluster.refresh(None, soon())
    return list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(budget_ms))[HIGH_WATERMARK]


def test_one_request_per_leader(state: FakeCluster, connect: Connect) -> None:
    """Six partitions on three brokers need three requests."""
    gathered = ends(connect())
    assert set(gathered.answers) == set(ORDERS)
    assert not gathered.failures
    assert [state.count(LIST_OFFSETS.key, node) for node in (1, 2, 3)] == [1, 1, 1]
    assert {gathered.sources[partition].node_id for partition in ORDERS} == {1, 2, 3}


def test_a_moved_leader_is_looked_up(state: FakeCluster, connect: Connect) -> None:
    """NOT_LEADER_OR_FOLLOWER causes one refresh, and only the affected partition is requested again."""
    cluster = connect()
    cluster.refresh(None, soon())
    moved = state.topics["orders"].partitions[0]
    moved.leader_id, moved.leader_epoch = 3, 1
    before = state.count(METADATA.key)
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert set(gathered.answers) == set(ORDERS)
    assert gathered.sources[ORDERS[0]].node_id == 3
    assert state.count(METADATA.key) == before + 1
    assert state.count(LIST_OFFSETS.key) == 4


def test_a_partition_without_a_leader_is_a_failure_and_nothing_else(state: FakeCluster, connect: Connect) -> None:
    """An item without a leader fails with LEADER_NOT_AVAILABLE, soon, and the others have responses."""
    state.topics["orders"].partitions[2].leader_id = -1
    gathered = ends(connect())
    assert set(gathered.answers) == set(ORDERS) - {ORDERS[2]}
    failure = gathered.failures[ORDERS[2]]
    assert (failure.name, failure.attempts) == ("LEADER_NOT_AVAILABLE", 4)


def test_a_final_error_is_not_retried(state: FakeCluster, connect: Connect) -> None:
    """TOPIC_AUTHORIZATION_FAILED is a final error."""
    state.topics["orders"].partitions[1].error_code = 29
    gathered = ends(connect())
    failure = gathered.failures[ORDERS[1]]
    assert (failure.name, failure.code, failure.attempts) == ("TOPIC_AUTHORIZATION_FAILED", 29, 1)
    assert state.count(LIST_OFFSETS.key) == 3


def test_what_a_broker_says_beside_the_code_is_kept(state: FakeCluster, connect: Connect) -> None:
    """A failure has the message for its item; an empty message is none, and items without an error need none."""
    cluster = connect()
    cluster.refresh(None, soon())
    for partition in (1, 2):
        state.topics["orders"].partitions[partition].error_code = 29
    texts = {ORDERS[0]: "unused", ORDERS[1]: "not for you", ORDERS[2]: ""}
    request = ShardedRequest(
        api=LIST_OFFSETS,
        items=ORDERS[:3],
        build=lambda items: ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=[
                ListOffsetsTopic(
                    name="orders",
                    partitions=[ListOffsetsPartition(partition_index=one.partition, timestamp=-1) for one in items],
                )
            ],
        ),
        read=lambda response, _: [
            (item, partition.error_code, partition, texts[item])
            for topic in response.topics
            for partition in topic.partitions
            for item in (ORDERS[partition.partition_index],)
        ],
    )
    gathered: Gathered[TopicPartition, Any] = gather(cluster, ByLeader(cluster), [request], soon())[0]
    assert set(gathered.answers) == {ORDERS[0]}
    assert {item: failure.message for item, failure in gathered.failures.items()} == {
        ORDERS[1]: "not for you",
        ORDERS[2]: None,
    }


def test_a_transient_error_is_retried(state: FakeCluster, connect: Connect) -> None:
    """OFFSET_NOT_AVAILABLE is requested again of the same leader, without a refresh."""
    partition = state.topics["orders"].partitions[4]
    partition.error_code = 78
    cluster = connect()
    cluster.refresh(None, soon())
    before = state.count(METADATA.key)
    threading.Timer(0.1, setattr, (partition, "error_code", 0)).start()
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert set(gathered.answers) == set(ORDERS)
    assert state.count(METADATA.key) == before


@pytest.mark.parametrize(
    ("name", "refreshed"),
    [
        ("UNKNOWN_TOPIC_OR_PARTITION", True),
        ("LEADER_NOT_AVAILABLE", True),
        ("NOT_LEADER_OR_FOLLOWER", True),
        ("REQUEST_TIMED_OUT", False),
        ("REPLICA_NOT_AVAILABLE", True),
        ("NETWORK_EXCEPTION", True),
        ("KAFKA_STORAGE_ERROR", True),
        ("FENCED_LEADER_EPOCH", True),
        ("UNKNOWN_LEADER_EPOCH", False),
        ("OFFSET_NOT_AVAILABLE", False),
        ("THROTTLING_QUOTA_EXCEEDED", False),
    ],
)
def test_what_passes_is_waited_for(state: FakeCluster, connect: Connect, name: str, refreshed: bool) -> None:
    """Every transient error is retried, after a refresh of the metadata if that may help."""
    (code,) = (one.code for one in ERROR_CODES.values() if one.name == name)

    def refuse(answer: Any) -> Any:
        for partition in answer.topics[0].partitions:
            partition.error_code = code
        return answer

    cluster = connect()
    cluster.refresh(None, soon())
    before = state.count(METADATA.key)
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(refuse), node_id=2, times=2))
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert set(gathered.answers) == set(ORDERS)
    assert (state.count(METADATA.key) > before) == refreshed


def test_an_offset_that_is_not_available_leaves_time(state: FakeCluster) -> None:
    """Leaders answer so until replicas have followed them, which may last as long as too few are in sync."""
    state.topics["orders"].partitions[0].error_code = OFFSET_NOT_AVAILABLE
    with answered_directly(state) as (cluster, longer):
        cluster.refresh(None, longer)
        for budget_s in (60, 150):
            started = cluster.clock.monotonic()
            gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], longer.within(budget_s * 1_000))[HIGH_WATERMARK]
            assert {one.name for one in gathered.failures.values()} == {"OFFSET_NOT_AVAILABLE"}
            assert len(gathered.answers) == 5
            assert budget_s / 3 <= cluster.clock.monotonic() - started < budget_s / 3 + 2


@pytest.mark.parametrize(
    "name", ["TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION", "INVALID_REQUEST", "UNSUPPORTED_FOR_MESSAGE_FORMAT"]
)
def test_what_lasts_is_a_failure_at_once(state: FakeCluster, connect: Connect, name: str) -> None:
    """A final error is a failure of its own partitions, with Kafka's name, and is not retried."""
    (code,) = (one.code for one in ERROR_CODES.values() if one.name == name)
    for partition in ORDERS[1::3]:
        state.topics["orders"].partitions[partition.partition].error_code = code
    gathered = ends(connect())
    assert {partition: (one.name, one.attempts) for partition, one in gathered.failures.items()} == dict.fromkeys(
        ORDERS[1::3], (name, 1)
    )
    assert len(gathered.answers) == 4


def test_a_moved_controller_is_found(state: FakeCluster, connect: Connect) -> None:
    """After NOT_CONTROLLER the request is sent to the controller that metadata name now."""
    cluster = connect()

    def moved(answer: ListGroupsResponse) -> ListGroupsResponse:
        state.controller_id = 2
        answer.error_code = 41  # type: ignore[misc]  frozen to the checker
        return answer

    def read(answer: ListGroupsResponse, items: Sequence[str]) -> Iterator[tuple[str, int, int]]:
        yield items[0], answer.error_code, len(answer.groups)

    state.faults.append(Fault(LIST_GROUPS.key, Altered(moved), node_id=1, times=1000))
    sharded = ShardedRequest(api=LIST_GROUPS, items=["all"], build=lambda _: ListGroupsRequest(), read=read)
    (gathered,) = gather(cluster, ByController(cluster), [sharded], soon())
    assert gathered.answers == {"all": 0}
    assert gathered.sources["all"].node_id == 2


def test_a_deleted_topic_is_a_failure_soon(state: FakeCluster, connect: Connect) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION may be a delay of metadata, so it is retried a few times, not until the deadline."""
    cluster = connect()
    cluster.refresh(None, soon())
    del state.topics["orders"]
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert {(failure.name, failure.attempts) for failure in gathered.failures.values()} == {
        ("UNKNOWN_TOPIC_OR_PARTITION", 4)
    }


@pytest.mark.parametrize("answers_gone", [True, False])
def test_other_refusals_do_not_count_as_a_deleted_topic(
    state: FakeCluster, connect: Connect, answers_gone: bool
) -> None:
    """After rounds of other refusals a partition still has its rounds to be known, or to have a leader, again."""
    codes = [OFFSET_NOT_AVAILABLE] * 5 + [UNKNOWN_TOPIC] * (2 * answers_gone)
    moved = state.topics["orders"].partitions[1]

    def refuse(answer: Any) -> Any:
        for partition in answer.topics[0].partitions:
            partition.error_code = codes.pop(0) if codes else NOT_LEADER
        if not codes and not answers_gone:
            moved.leader_id = -1
        return answer

    def elect(answer: Any) -> Any:
        moved.leader_id = 3
        return answer

    cluster = connect()
    cluster.refresh(None, soon())
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(refuse), node_id=2, times=len(codes) + (not answers_gone)))
    state.faults.append(Fault(METADATA.key, Altered(elect), times=1 if not answers_gone else 0))
    gathered = list_offsets(cluster, [ORDERS[1]], [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert set(gathered.answers) == {ORDERS[1]}


@pytest.mark.parametrize("action", [Close(), Close(sent=20)])
def test_a_connection_that_breaks_is_opened_again(state: FakeCluster, connect: Connect, action: Close) -> None:
    """A response that is cut off is never used; the same broker is tried again."""
    cluster = connect()
    state.faults.append(Fault(LIST_OFFSETS.key, action, node_id=2))
    gathered = ends(cluster)
    assert set(gathered.answers) == set(ORDERS)
    assert state.count(LIST_OFFSETS.key, 2) == 2


def test_a_broker_that_dies_costs_its_own_partitions(
    state: FakeCluster, brokers: dict[int, FakeBroker], connect: Connect
) -> None:
    """If its partitions get no other leader, they fail with the name of the connection's error, and others have responses."""
    cluster = connect()
    cluster.refresh(None, soon())
    brokers[2].die()
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(2_000))[HIGH_WATERMARK]
    led = {partition for partition in ORDERS if state.topics["orders"].partitions[partition.partition].leader_id == 2}
    assert set(gathered.failures) == led
    assert set(gathered.answers) == set(ORDERS) - led
    assert {failure.node_id for failure in gathered.failures.values()} == {2}
    assert {failure.name for failure in gathered.failures.values()} <= {"CONNECTION_FAILED", "CONNECTION_LOST"}


def test_leaders_that_take_over_from_a_broker_that_dies(
    state: FakeCluster, brokers: dict[int, FakeBroker], connect: Connect
) -> None:
    """They are looked up after the connection to the former leader is lost, and have the answers."""
    cluster = connect()
    cluster.refresh(None, soon())
    for partition in state.topics["orders"].partitions:
        if partition.leader_id == 2:
            partition.leader_id, partition.leader_epoch = 3, partition.leader_epoch + 1
    brokers[2].die()
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert not gathered.failures
    assert {source.node_id for source in gathered.sources.values()} == {1, 3}


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (("127.0.0.1", 1), "127.0.0.1:1: connect: Connection refused"),
        (("kafka-2.invalid", 9092), "kafka-2.invalid:9092: resolve: "),
    ],
)
def test_an_advertised_address_that_leads_nowhere(
    state: FakeCluster, connect: Connect, address: tuple[str, int], reason: str
) -> None:
    """Its partitions fail with the address, the broker that advertises it, and a remedy."""
    cluster = connect()
    state.addresses[2] = address
    cluster.refresh(None, soon())
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(1_500))[HIGH_WATERMARK]
    assert (len(gathered.answers), len(gathered.failures)) == (4, 2)
    for failure in gathered.failures.values():
        assert str(failure.message).startswith(reason)
        assert "broker 2 advertises this address: make it reachable from here, or change" in str(failure.message)


def test_an_address_that_leads_nowhere_leaves_time(state: FakeCluster, connect: Connect) -> None:
    """A command has one deadline for all its requests: those after the first still get the answers of the other brokers."""
    cluster = connect()
    state.addresses[2] = ("127.0.0.1", 1)
    cluster.refresh(None, soon())
    deadline = soon(cluster.settings.default_api_timeout_ms)
    for _ in range(3):
        gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], deadline)[HIGH_WATERMARK]
        assert (len(gathered.answers), len(gathered.failures)) == (4, 2)
        assert {failure.name for failure in gathered.failures.values()} == {"CONNECTION_FAILED"}
    assert not deadline.passed()


@pytest.mark.parametrize("api_key", [API_VERSIONS.key, LIST_OFFSETS.key])
def test_a_frozen_broker_leaves_time(state: FakeCluster, connect: Connect, api_key: int) -> None:
    """The system accepts connections for it, and nothing answers; after half a command's time it costs little."""
    cluster = connect(request_timeout_ms=1_000, default_api_timeout_ms=4_000)
    cluster.refresh(None, soon())
    cluster.brokers[2].close()
    state.faults.append(Fault(api_key, Hang(), node_id=2, times=ALWAYS))
    deadline = soon(cluster.settings.default_api_timeout_ms)
    for _ in range(6):
        gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], deadline)[HIGH_WATERMARK]
        assert (len(gathered.answers), len(gathered.failures)) == (4, 2)
        assert {(failure.node_id, failure.name) for failure in gathered.failures.values()} == {(2, "DEADLINE_PASSED")}
    assert not deadline.passed()


def test_a_frozen_broker_leaves_time_of_a_short_command(state: FakeCluster, connect: Connect) -> None:
    """Half of `--timeout SECONDS` is what it may cost at first."""
    cluster = connect(default_api_timeout_ms=60_000)
    cluster.refresh(None, soon())
    state.faults.append(Fault(LIST_OFFSETS.key, Hang(), node_id=2, times=ALWAYS))
    deadline = soon(6_000)
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], deadline)[HIGH_WATERMARK]
    assert (len(gathered.answers), len(gathered.failures)) == (4, 2)
    assert 1 < deadline.remaining() < 4


def test_a_frozen_broker_that_was_asked_for_metadata_first(state: FakeCluster, connect: Connect) -> None:
    """Silence counts, too, where any broker could have answered."""
    cluster = connect(request_timeout_ms=1_200, socket_connection_setup_timeout_ms=1_200)
    state.faults.append(Fault(None, Hang(), node_id=2, times=ALWAYS))
    cluster.refresh((), soon(), {cluster.brokers[1].address, cluster.brokers[3].address})
    assert [node_id for node_id, broker in cluster.brokers.items() if broker.address in cluster.unreachable] == [2]


def test_a_broker_that_is_back_is_waited_for_again(connect: Connect) -> None:
    """Its answer ends what was counted."""
    cluster = connect()
    cluster.unreachable.add(cluster.brokers[2].address)
    assert not ends(cluster).failures
    assert cluster.brokers[2].address not in cluster.unreachable


def test_a_frozen_bootstrap_server(state: FakeCluster, connect: Connect) -> None:
    """Its silence counts for the broker that is found to be at its address."""
    state.faults.append(Fault(None, Hang(), node_id=1, times=ALWAYS))
    cluster = connect(request_timeout_ms=1_100, socket_connection_setup_timeout_ms=1_100)
    assert [node_id for node_id, broker in cluster.brokers.items() if broker.address in cluster.unreachable] == [1]


def test_an_address_that_is_not_allowed_is_not_asked(state: FakeCluster, connect: Connect) -> None:
    """Its partitions fail at once, and the others do not fail."""
    cluster = connect()
    state.addresses[2] = ("169.254.0.1", 9092)
    cluster.refresh(None, soon())
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert len(gathered.answers) == 4
    assert {failure.name for failure in gathered.failures.values()} == {"ADDRESS_REFUSED"}
    assert {failure.attempts for failure in gathered.failures.values()} == {1}


def test_a_broker_that_never_answers_is_waited_for_once(state: FakeCluster, connect: Connect) -> None:
    """After one request spent its deadline on the broker, later requests try it only once."""
    cluster = connect()
    state.faults.append(Fault(LIST_OFFSETS.key, Hang(), node_id=2, times=1000))
    first = ends(cluster, 2_000)
    assert {failure.name for failure in first.failures.values()} == {"DEADLINE_PASSED"}
    second = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert len(second.answers) == 4
    assert {failure.attempts for failure in second.failures.values()} == {1}


def test_a_broker_that_answers_again_is_retried_again(state: FakeCluster, connect: Connect) -> None:
    """A broker that hung while it was restarted is like any other from its next answer on, as long as the connections live."""
    cluster = connect(request_timeout_ms=20_000)
    hang = Fault(LIST_OFFSETS.key, Hang(), node_id=2, times=ALWAYS)
    state.faults.append(hang)
    assert 2 in {failure.node_id for failure in ends(cluster, 1_000).failures.values()}
    hang.times = 0
    assert not ends(cluster, 30_000).failures
    state.faults.append(Fault(LIST_OFFSETS.key, Close(), node_id=2, times=3))
    again = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(30_000))[HIGH_WATERMARK]
    assert not again.failures


def test_garbage_is_a_failure_of_what_was_asked(state: FakeCluster, connect: Connect) -> None:
    """After garbage the request is not repeated; the other items have responses."""
    cluster = connect()
    cluster.refresh(None, soon())
    state.faults.append(Fault(LIST_OFFSETS.key, Raw(b"\x00\x00\x00\x06\x00\x00\x00\x01ab"), node_id=3, times=9))
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK]
    assert {failure.name for failure in gathered.failures.values()} == {"PROTOCOL_ERROR"}
    assert len(gathered.answers) == 4


def test_garbage_instead_of_metadata_is_a_failure(state: FakeCluster) -> None:
    """After a failed refresh items keep their errors, also if the only broker sends garbage."""
    for partition in state.topics["orders"].partitions:
        partition.leader_id, partition.error_code = 1, 6
    with fake_cluster(state, nodes=1):
        connection = Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), soon())
        with connection as cluster:
            cluster.refresh(None, soon())
            state.faults.append(Fault(METADATA.key, Raw(b"\x00\x00\x00\x06\x00\x00\x00\x01ab"), times=1000))
            failures = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(1_000))[HIGH_WATERMARK].failures
    assert {failure.name for failure in failures.values()} == {"NOT_LEADER_OR_FOLLOWER"}
    assert set(failures) == set(ORDERS)


def test_what_an_answer_leaves_out_is_not_lost(state: FakeCluster, connect: Connect) -> None:
    """Items that a response leaves out are requested again, and then are failures."""

    def shorten(answer: Any) -> Any:
        answer.topics = ()
        return answer

    cluster = connect()
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(shorten), node_id=1, times=1))
    assert set(ends(cluster).answers) == set(ORDERS)
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(shorten), node_id=1, times=1000))
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(2_000))[HIGH_WATERMARK]
    assert len(gathered.failures) == 2
    assert "the answer leaves it out" in str(next(iter(gathered.failures.values())).message)


def test_a_kind_that_brokers_are_too_old_for(state: FakeCluster, connect: Connect) -> None:
    """The largest timestamp needs ListOffsets v7; other kinds of offsets are still returned."""
    state.highest[LIST_OFFSETS.key] = 5
    cluster = connect()
    cluster.refresh(None, soon())
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK, LARGEST_TIMESTAMP], soon())
    assert len(gathered[HIGH_WATERMARK].answers) == 6
    assert {failure.name for failure in gathered[LARGEST_TIMESTAMP].failures.values()} == {"UNSUPPORTED_VERSION"}


def test_throttling_is_obeyed(state: FakeCluster, connect: Connect) -> None:
    """After a response with a throttle time no request is sent to the broker for that long (KIP-219)."""

    def throttle(answer: Any) -> Any:
        answer.throttle_time_ms = 300
        return answer

    cluster = connect()
    cluster.refresh(None, soon())
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(throttle), times=3))
    list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())
    started = time.monotonic()
    assert len(list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon())[HIGH_WATERMARK].answers) == 6
    assert time.monotonic() - started > 0.25
    assert sum(one.throttle_ms for one in cluster.request_stats.by_api.values()) == 900


@pytest.mark.parametrize("times", [2, ALWAYS])
def test_what_a_throttled_answer_leaves_out(state: FakeCluster, connect: Connect, times: int) -> None:
    """It is requested again without looking for another leader; a broker that throttles us to the end is not unreachable."""

    def empty(answer: Any) -> Any:
        answer.throttle_time_ms, answer.topics = 20, ()
        return answer

    cluster = connect()
    cluster.refresh(None, soon())
    refreshes = state.count(METADATA.key)
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(empty), node_id=1, times=times))
    gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], soon(500))[HIGH_WATERMARK]
    assert state.count(METADATA.key) == refreshes
    assert not any(broker.address in cluster.unreachable for broker in cluster.brokers.values())
    assert len(gathered.answers) == (6 if times == 2 else 4)
    assert {one.name for one in gathered.failures.values()} == (set() if times == 2 else {"THROTTLED"})


def test_a_moved_coordinator_is_found(state: FakeCluster, connect: Connect) -> None:
    """NOT_COORDINATOR causes one lookup for the affected groups."""
    state.groups = {"g": FakeGroup(coordinator_id=2, commits={("orders", 0): FakeCommit(5)})}
    cluster = connect()
    cluster.learn_coordinators({"g": 1})
    topology = topology_of(cluster.refresh(None, soon()))
    commits = commits_of(committed_offsets(cluster, ["g"], soon()), topology)
    assert [row.committed_offset for row in commits.rows] == [5]
    assert cluster.coordinator_of("g") == 2


def test_many_groups_are_few_requests(state: FakeCluster, connect: Connect) -> None:
    """300 groups on three coordinators are three requests; brokers before OffsetFetch v8 need one each."""
    groups = {f"g{i}": FakeGroup(coordinator_id=i % 3 + 1, commits={("orders", 0): FakeCommit(i)}) for i in range(300)}
    state.groups = groups
    cluster = connect()
    cluster.learn_coordinators({name: group.coordinator_id for name, group in groups.items()})
    topology = topology_of(cluster.refresh(None, soon()))
    rows = commits_of(committed_offsets(cluster, list(groups), soon()), topology).rows
    assert {row.group_id: row.committed_offset for row in rows} == {f"g{i}": i for i in range(300)}
    assert state.count(9) == 3


def test_an_answer_that_is_too_large(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Its items are requested again in halves; one that is too large by itself fails, and the others have their answers."""
    state.groups = {f"g{number}": FakeGroup(1, {("orders", 0): FakeCommit(number)}) for number in range(1_200)}
    state.groups["g7"].commits = {("orders", partition): FakeCommit(1) for partition in range(3_000)}
    cluster = connect(receive_message_max_bytes=50_000, default_api_timeout_ms=20_000, request_timeout_ms=10_000)
    cluster.learn_coordinators(dict.fromkeys(state.groups, 1))
    fetched = committed_offsets(cluster, list(state.groups), soon(20_000))
    assert set(state.groups) - set(fetched.answers) == {"g7"}
    assert [(one.scope.group_id, one.name) for one in fetched.failures] == [("g7", "PROTOCOL_ERROR")]
    assert "frames from 0 to 50000 bytes are read" in str(fetched.failures[0].message)


def test_old_brokers_are_asked_group_by_group(state: FakeCluster, connect: Connect) -> None:
    """If a request can hold only one group, every group still has its commits."""
    state.groups = {f"g{i}": FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(i)}) for i in range(5)}
    state.highest[9] = 5
    cluster = connect()
    cluster.learn_coordinators(dict.fromkeys(state.groups, 1))
    topology = topology_of(cluster.refresh(None, soon()))
    commits = commits_of(committed_offsets(cluster, list(state.groups), soon()), topology)
    assert [row.committed_offset for row in commits.rows] == [0, 1, 2, 3, 4]
    assert not commits.failures


def test_a_request_that_is_not_split_names_its_refusal(state: FakeCluster, connect: Connect) -> None:
    """An error code of the whole response is a failure with that code."""

    def refuse(answer: Any) -> Any:
        answer.error_code = 31
        return answer

    cluster = connect()
    state.faults.append(Fault(METADATA.key, Altered(refuse)))
    request = MetadataRequest(topics=())
    answer = ask_cluster(cluster, METADATA, request, Scope.cluster(), soon())
    assert isinstance(answer, Failure)
    assert (answer.name, answer.scope) == ("CLUSTER_AUTHORIZATION_FAILED", Scope.cluster())


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(codes=st.lists(st.sampled_from([0, 3, 5, 6, 9, 29, 35, 56, 74, 75, 78, 999, -1]), min_size=6, max_size=6))
def test_every_item_is_answered_or_failed_once(
    state: FakeCluster,
    brokers: dict[int, FakeBroker],
    codes: list[int],
) -> None:
    """For any responses of leaders, every item has exactly one response or failure."""
    for partition, code in zip(state.topics["orders"].partitions, codes, strict=True):
        partition.error_code = code
    assert brokers
    long_timeouts = short_timeouts(state, request_timeout_ms=5_000, retry_backoff_ms=500, retry_backoff_max_ms=500)
    clock = Hands().clock()
    deadline = Deadline.after(clock, 2_000)
    with Cluster.connect(long_timeouts, clock, RequestStats(), deadline) as cluster:
        cluster.refresh(None, deadline)
        gathered = list_offsets(cluster, ORDERS, [HIGH_WATERMARK], deadline)[HIGH_WATERMARK]
    assert set(gathered.answers) | set(gathered.failures) == set(ORDERS)
    assert not set(gathered.answers) & set(gathered.failures)
    assert {partition.partition for partition in gathered.answers} == {i for i, code in enumerate(codes) if code == 0}


def test_nothing_to_ask_is_no_request(state: FakeCluster, connect: Connect) -> None:
    """A call without items sends no request."""
    cluster = connect()
    requests = len(state.requests)
    empty: ShardedRequest[str, Any] = ShardedRequest(
        api=LIST_OFFSETS, items=[], build=lambda _: None, read=lambda _, __: []
    )
    assert gather(cluster, ByCoordinator(cluster), [empty], soon())[0].answers == {}
    assert list_offsets(cluster, [], [HIGH_WATERMARK], soon())[HIGH_WATERMARK].failures == {}
    assert len(state.requests) == requests
    assert ByLeader(cluster).node_of(TopicPartition("absent", 0)) is None


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("code", [24, 30, 53], ids=lambda code: ERROR_CODES[code].name)
def test_an_id_whose_coordinator_is_refused_fails_at_once(
    state: FakeCluster, connect: Connect, version: int, code: int
) -> None:
    """The reason of FindCoordinator is that of the failure; other ids are answered."""

    def refuse(answer: Any) -> Any:
        coordinators = tuple(replace(one, error_code=code, node_id=-1) for one in answer.coordinators)
        return replace(answer, coordinators=coordinators, error_code=0 if coordinators else code)

    state.groups = {"ours": FakeGroup(coordinator_id=2)}
    state.highest[FIND_COORDINATOR.key] = version
    state.faults.append(Fault(FIND_COORDINATOR.key, Altered(refuse), times=ALWAYS))
    cluster = connect(default_api_timeout_ms=60_000)
    cluster.learn_coordinators({"ours": 2})
    gathered = committed_offsets(cluster, ["ours", "other"], soon(60_000))
    assert set(gathered.answers) == {"ours"}
    (failure,) = gathered.failures
    assert (failure.api, failure.code) == ("FindCoordinator", code)
    assert (failure.scope, failure.attempts) == (Scope.group("other"), 1)


def test_transactions_whose_coordinator_is_refused_are_not_waited_for(state: FakeCluster, connect: Connect) -> None:
    """Without permission on the transactional id, an end and a fence fail at once and say which permission is missing."""

    def refuse(answer: Any) -> Any:
        some = tuple(replace(one, error_code=53, node_id=-1) for one in answer.coordinators)
        return replace(answer, coordinators=some)

    cluster = connect(default_api_timeout_ms=60_000)
    state.faults.append(Fault(FIND_COORDINATOR.key, Altered(refuse), times=ALWAYS))
    transaction = Transaction(
        transactional_id="other", producer_id=9_000, epoch=0, timeout_ms=60_000, is_implicit=False
    )
    fenced = fence_all(cluster, ["other"], 60_000, soon(60_000))
    ended = end_all(cluster, [transaction], soon(60_000), committed=True)
    for failure in [*fenced, *ended.values()]:
        assert (failure.transactional_id, failure.code) == ("other", 53)
        assert "WRITE on the transactional id is missing" in str(failure)
    assert state.count(FIND_COORDINATOR.key) == 2


def test_request_statistics_do_not_grow_with_requests(connect: Connect) -> None:
    """A cluster counts by API and broker: a hundred requests take no more memory than one."""
    cluster = connect()

    def entries() -> int:
        values = [getattr(cluster.request_stats, one.name) for one in dataclasses.fields(cluster.request_stats)]
        return sum(len(one) for one in values if hasattr(one, "__len__"))

    ends(cluster)
    before = entries()
    for _ in range(20):
        ends(cluster)
    assert entries() == before
    assert cluster.request_stats.by_api[LIST_OFFSETS.name, 1].requests == 21
