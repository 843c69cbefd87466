"""Clusters: time that a bad address takes, cached metadata, and requests that create nothing."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, list_offsets
from kafka_lagoon.client import cluster as cluster_module
from kafka_lagoon.client.broker import Broker, Call
from kafka_lagoon.client.cluster import CREATES_NOTHING, Cluster, metadata_request
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ClusterRefused, ConfigError, ConnectionFailed, UnsupportedVersion
from kafka_lagoon.protocol.error_codes import REBOOTSTRAP_REQUIRED
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER, DescribeClusterRequest
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, Coordinator, FindCoordinatorResponse
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import Api
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Close, Fault, Hang, Raw, Slow, WrongCorrelation
from tests.fake.peer import peer
from tests.short_timeouts import short_timeouts

Connect = Callable[..., Cluster]
BUDGET_S = 5  # deadline of a connection attempt, which must end before it


def refusal(servers: str) -> tuple[ConnectionFailed, float]:
    """Return the error of connecting to these servers, and the seconds until it was raised."""
    settings = short_timeouts(FakeCluster(), bootstrap_servers=servers)
    started = time.monotonic()
    with pytest.raises(ConnectionFailed) as raised:
        Cluster.connect(settings, CLOCK, RequestStats(), Deadline.after(CLOCK, BUDGET_S * 1000))
    return raised.value, time.monotonic() - started


def test_a_refusing_address_is_named() -> None:
    """For a port without a listener the error names address and reason, at once."""
    error, seconds = refusal("127.0.0.1:1")
    assert str(error) == "127.0.0.1:1: connect: Connection refused"
    assert seconds < BUDGET_S


def test_every_bootstrap_server_is_named() -> None:
    """The error has a reason for each of several servers."""
    error, _ = refusal("127.0.0.1:1,127.0.0.1:2")
    assert "127.0.0.1:1: connect: Connection refused" in str(error)
    assert "127.0.0.1:2: connect: Connection refused" in str(error)


def test_each_server_of_odd_answers_is_named(state: FakeCluster, connect: Connect) -> None:
    """Errors that know no address, such as those of bytes, are reported beside the address that they came from."""
    state.faults.append(Fault(METADATA.key, WrongCorrelation(), times=1_000))
    with pytest.raises(ConnectionFailed) as raised:
        connect()
    for host, port in state.addresses.values():
        assert f"{host}:{port}: the answer belongs to request" in str(raised.value)


def test_an_unknown_host_is_named() -> None:
    """A name that does not resolve fails in phase resolve."""
    error, _ = refusal("no-such-host.invalid:9092")
    assert (error.phase, error.address) == ("resolve", "no-such-host.invalid:9092")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the answer is HTTP, not Kafka"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", "the answer is TLS, not Kafka; see security_protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is SSH, not Kafka"),
        (b"\x7f\xff\xff\xff", "the answer claims a frame of 2147483647 bytes"),
        (b"\xff\xff\xff\xfe", "the answer claims a frame of -2 bytes"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x63", "not Kafka"),
        (b"\x00\x00\x00\x0a\x00\x00\x00\x00garbag", "not Kafka"),
    ],
)
def test_another_protocol_is_recognised(answer: bytes, expected: str) -> None:
    """The error names the other protocol, within the deadline, and there are no further attempts."""
    with peer(answer) as port:
        error, seconds = refusal(f"127.0.0.1:{port}")
    assert error.phase == "handshake"
    assert expected in str(error)
    assert seconds < BUDGET_S


def test_a_half_open_connection_ends_in_time() -> None:
    """A peer that accepts and never answers takes the connection's timeout and no more."""
    with peer(b"") as port:
        error, seconds = refusal(f"127.0.0.1:{port}")
    assert "handshake: no answer within" in str(error)
    assert seconds < BUDGET_S


def test_a_dead_bootstrap_server_does_not_matter(state: FakeCluster, brokers: dict[int, FakeBroker]) -> None:
    """A single bootstrap server that answers is enough, while others are down."""
    assert brokers
    settings = short_timeouts(state)
    servers = f"127.0.0.1:1,{settings.bootstrap_servers}"
    deadline = Deadline.after(CLOCK, 5_000)
    with Cluster.connect(short_timeouts(state, bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        assert sorted(cluster.brokers) == [1, 2, 3]


def test_a_silent_bootstrap_server_costs_little(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that is down answers nothing: the next one is tried long before the connection's time is over."""
    monkeypatch.setattr(cluster_module, "_SOON_MS", 200)
    state.faults.append(Fault(None, Hang(), node_id=1, times=1_000))
    started = time.monotonic()
    cluster = connect(request_timeout_ms=30_000, socket_connection_setup_timeout_ms=30_000)
    assert cluster.refresh(None, Deadline.after(CLOCK, 30_000)).topics
    assert time.monotonic() - started < BUDGET_S
    assert cluster.answered_by == cluster.brokers[2].address


def test_silence_everywhere_leaves_half_of_the_time(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of many silent brokers would have two seconds, and none of the slow ones the time of a connection."""
    cluster, remaining = connect(default_api_timeout_ms=3_000), list[float]()
    for number in range(4, 40):
        cluster.brokers[number] = cluster._broker(number, "127.0.0.1", cluster.brokers[1].port)
    for broker in cluster.brokers.values():
        broker.close()
    state.faults.append(Fault(None, Hang(), times=1_000))
    ask = Broker.ask
    deadline = Deadline.after(CLOCK, 3_000)

    def counted(broker: Broker, *given: Any) -> object:
        remaining.append(deadline.remaining())
        return ask(broker, *given)

    monkeypatch.setattr(Broker, "ask", counted)
    with pytest.raises(ConnectionFailed, match="no answer within"):
        cluster.refresh(None, deadline)
    assert 1 < remaining[0] < 2
    assert sum(broker.failing for broker in cluster.brokers.values()) < 10  # the others were not tried


def test_slow_connections_have_their_time_after_all(
    state: FakeCluster, connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A distant token endpoint, for example, is slow for all brokers: the last one is waited for."""
    monkeypatch.setattr(cluster_module, "_SOON_MS", 50)
    state.faults.append(Fault(API_VERSIONS.key, Slow(0.3), times=1_000))
    assert sorted(connect(request_timeout_ms=5_000, socket_connection_setup_timeout_ms=5_000).brokers) == [1, 2, 3]
    assert [state.count(API_VERSIONS.key, node_id) for node_id in (1, 2, 3)] == [1, 1, 1]


def test_bootstrap_servers_that_close_connections_are_asked_again(state: FakeCluster, connect: Connect) -> None:
    """A broker that stops or starts closes a connection before it answers, and may answer the next time."""
    attempts = 3  # at each of the three servers, one after the other
    state.faults.append(Fault(METADATA.key, Close(), times=3 * attempts))
    assert sorted(connect().brokers) == [1, 2, 3]


def test_a_cluster_that_has_answered_before_is_waited_for(state: FakeCluster) -> None:
    """While its only broker restarts, connections are refused; without having answered the address may as well be wrong."""
    broker = FakeBroker(state, 1, listens=False)
    state.addresses = {1: ("127.0.0.1", broker.server_address[1])}
    settings = short_timeouts(state, default_api_timeout_ms=BUDGET_S * 1000)
    with pytest.raises(ConnectionFailed, match="Connection refused"):
        Cluster.connect(settings, CLOCK, RequestStats(), Deadline.after(CLOCK, BUDGET_S * 1000))

    def start() -> None:
        CLOCK.sleep(1)
        broker.server_activate()
        broker.serve_forever(poll_interval=0.01)

    threading.Thread(target=start, daemon=True).start()
    deadline = Deadline.after(CLOCK, BUDGET_S * 1000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline, waits=True) as cluster:
        assert sorted(cluster.brokers) == [1]
    broker.die()


@pytest.mark.parametrize("servers", ["127.0.0.1:1", "no-such-host.invalid:9092"])
def test_the_wait_for_a_cluster_ends(servers: str) -> None:
    """At the deadline, with the reason. The name of a broker that restarts may be unknown for a while, as in Kubernetes."""
    settings = short_timeouts(FakeCluster(), bootstrap_servers=servers)
    started = time.monotonic()
    with pytest.raises(ConnectionFailed, match=r"refused|resolve"):
        Cluster.connect(settings, CLOCK, RequestStats(), Deadline.after(CLOCK, 1_000), waits=True)
    assert 1 <= time.monotonic() - started < BUDGET_S


def test_asking_for_a_topic_does_not_create_it() -> None:
    """Brokers create a topic that is asked for, by default, unless the request says otherwise."""
    assert metadata_request({"orders"}).allow_auto_topic_creation is False
    assert metadata_request(None).allow_auto_topic_creation is False


def test_asking_for_everything_creates_nothing(state: FakeCluster, connect: Connect) -> None:
    """Metadata requests forbid auto-creation, and no coordinator is looked up."""
    seen = []
    state.faults.append(Fault(METADATA.key, Altered(lambda answer: seen.append(answer) or answer), times=5))
    cluster = connect()
    cluster.refresh(None, Deadline.after(CLOCK, 1_000))
    assert len(seen) == 2
    assert state.count(FIND_COORDINATOR.key) == 0


@pytest.mark.parametrize("highest", [6, 3])
def test_coordinators_are_found_in_every_version(
    state: FakeCluster, connect: Callable[[], Cluster], highest: int
) -> None:
    """Many groups are looked up in one request if brokers can, else one by one."""
    state.groups = {f"g{i}": FakeGroup(coordinator_id=i % 3 + 1) for i in range(4)}
    state.highest[FIND_COORDINATOR.key] = highest
    cluster = connect()
    cluster.find_coordinators(list(state.groups), Deadline.after(CLOCK, 2_000))
    expected = {name: group.coordinator_id for name, group in state.groups.items()}
    assert {name: cluster.coordinator_of(name) for name in state.groups} == expected
    assert state.count(FIND_COORDINATOR.key) == (1 if highest >= 4 else 4)


class _Counted(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_the_time_to_find_coordinators_is_linear(
    connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key of an answer is looked up, and not compared with every key of the request."""
    keys = [f"g{number}" for number in range(200)]
    answered = tuple(Coordinator(key=_Counted(key), node_id=1) for key in reversed(keys))
    cluster = connect()
    monkeypatch.setattr(cluster, "ask_any", lambda *_, **__: FindCoordinatorResponse(coordinators=answered))
    cluster.find_coordinators(keys, Deadline.after(CLOCK, 2_000))
    assert _Counted.compared < 5 * len(keys)
    assert cluster.coordinator_of("g7") == 1


@pytest.mark.parametrize("action", [Close(), Close(sent=9), Hang(), Raw(b"\x00\x00\x00\x02hi"), WrongCorrelation()])
def test_another_broker_answers_instead(
    state: FakeCluster, connect: Callable[[], Cluster], action: Close | Hang | Raw | WrongCorrelation
) -> None:
    """A request for any broker survives a broker that closes, hangs or sends garbage."""
    cluster = connect()
    state.faults.append(Fault(METADATA.key, action, node_id=1, times=10))
    answer = cluster.refresh(None, Deadline.after(CLOCK, 5_000))
    assert [topic.name for topic in answer.topics] == ["orders"]


def test_a_broker_that_closes_new_connections(state: FakeCluster, connect: Connect) -> None:
    """A broker that closes two connections before it answers ApiVersions, as a starting one may, is tried a third time."""
    state.faults.append(Fault(API_VERSIONS.key, Close(), times=2))
    (first, *_) = short_timeouts(state).bootstrap_servers.split(",")
    assert sorted(connect(bootstrap_servers=first).brokers) == [1, 2, 3]


def test_a_broker_that_never_answers(state: FakeCluster, connect: Connect) -> None:
    """The message names both likely causes: a listener with TLS, and the quota of connections."""
    state.faults.append(Fault(API_VERSIONS.key, Close(), times=100))
    with pytest.raises(
        ConnectionFailed, match=r"want TLS, see security_protocol, and brokers whose quota connection_crea"
    ):
        connect()


def test_a_broker_that_speaks_less_is_believed(state: FakeCluster, connect: Connect) -> None:
    """A broker that refuses our version of ApiVersions returns its own versions in v0, which are then used."""

    state.highest[API_VERSIONS.key] = 2
    frame = bytes.fromhex("00000010 00000000 0023 00000001 0012 0000 0002".replace(" ", ""))
    state.faults.append(Fault(API_VERSIONS.key, Raw(frame), times=1))
    cluster = connect()
    assert [version for _, key, version in state.requests if key == API_VERSIONS.key][:2] == [5, 2]
    assert sorted(cluster.brokers) == [1, 2, 3]


def test_a_broker_that_could_create_topics(state: FakeCluster, connect: Connect) -> None:
    """Before Kafka 0.11 a metadata request could create a topic: nothing is sent, and the error names the missing version."""
    state.highest[METADATA.key] = 3
    with pytest.raises(UnsupportedVersion) as refused:
        connect()
    host, port = state.addresses[1]
    assert str(refused.value) == f"Metadata needs Kafka 0.11 or newer; the broker at {host}:{port} is older"
    assert not state.count(METADATA.key)


def test_any_broker_that_offers_an_api_answers(state: FakeCluster, connect: Connect) -> None:
    """In a cluster that is being upgraded brokers without the API are skipped, and a broker with the API is found."""
    state.missing = {1: {DESCRIBE_CLUSTER.key}, 2: {DESCRIBE_CLUSTER.key}}
    cluster = connect()
    answer = cluster.ask_any(DESCRIBE_CLUSTER, DescribeClusterRequest(), Deadline.after(CLOCK, 2_000))
    assert answer.cluster_id == "fake"
    assert {node for node, key, _ in state.requests if key == DESCRIBE_CLUSTER.key} == {3}


def test_an_api_that_no_broker_offers(state: FakeCluster, brokers: dict[int, FakeBroker], connect: Connect) -> None:
    """UnsupportedVersion is raised after each broker was tried, also if one cannot be reached, and without a wait."""
    state.missing = {node: {DESCRIBE_CLUSTER.key} for node in (1, 2, 3)}
    cluster = connect()
    brokers[2].die()
    for _ in range(2):
        with pytest.raises(UnsupportedVersion) as refused:
            cluster.ask_any(DESCRIBE_CLUSTER, DescribeClusterRequest(), Deadline.after(CLOCK, 2_000))
        assert "broker 1" in str(refused.value)
    assert cluster.brokers[3].versions, "the last broker was looked at"
    assert not state.count(DESCRIBE_CLUSTER.key)


def of_another_cluster(state: FakeCluster, api: Api[Any, Any], node_id: int | None) -> None:
    """Make the address of one broker, or of all (None), lead to a broker of another cluster."""
    change = Altered(lambda answer: replace(answer, cluster_id="another"))
    state.faults.append(Fault(api.key, change, node_id=node_id, times=1_000))


@pytest.mark.parametrize("is_old", [False, True])
def test_an_address_that_leads_to_another_cluster(state: FakeCluster, connect: Connect, is_old: bool) -> None:
    """The broker there is asked nothing but its cluster's id, and costs its own partitions. Before Kafka 2.8 it is Metadata."""
    if is_old:
        state.missing = {node: {DESCRIBE_CLUSTER.key} for node in (1, 2, 3)}
    of_another_cluster(state, METADATA if is_old else DESCRIBE_CLUSTER, 3)
    orders = [TopicPartition("orders", partition) for partition in range(3)]
    gathered = list_offsets(connect(), orders, [HIGH_WATERMARK], Deadline.after(CLOCK, 3_000))[HIGH_WATERMARK]
    assert gathered.answers.keys() == {orders[0], orders[1]}
    message = str(gathered.failures[orders[2]].message)
    assert "a broker of cluster `another` listens there, not of cluster fake: correct the broker's address" in message
    assert {node for node, key, _ in state.requests if key == LIST_OFFSETS.key} == {1, 2}


def test_an_address_that_leads_to_another_broker(state: FakeCluster, connect: Connect) -> None:
    """From Kafka 4.4 on the broker there says so (KIP-1242); it is asked nothing, and costs the partitions of the other one."""
    refused = Altered(lambda answer: replace(answer, error_code=REBOOTSTRAP_REQUIRED))
    state.faults.append(Fault(API_VERSIONS.key, refused, node_id=3, times=1_000))
    orders = [TopicPartition("orders", partition) for partition in range(3)]
    gathered = list_offsets(connect(), orders, [HIGH_WATERMARK], Deadline.after(CLOCK, 3_000))[HIGH_WATERMARK]
    assert gathered.answers.keys() == {orders[0], orders[1]}
    message = str(gathered.failures[orders[2]].message)
    assert "broker 3 of cluster fake does not listen there: correct the broker's address" in message
    assert {key for node, key, _ in state.requests if node == 3} == {API_VERSIONS.key}


@pytest.mark.parametrize("error_code", [31, 0])
def test_a_broker_that_does_not_describe_its_cluster(state: FakeCluster, connect: Connect, error_code: int) -> None:
    """Metadata has the id, too."""
    refused = Altered(lambda answer: replace(answer, error_code=error_code, cluster_id=""))
    state.faults.append(Fault(DESCRIBE_CLUSTER.key, refused, times=1_000))
    orders = [TopicPartition("orders", partition) for partition in range(3)]
    gathered = list_offsets(connect(), orders, [HIGH_WATERMARK], Deadline.after(CLOCK, 3_000))[HIGH_WATERMARK]
    assert gathered.answers.keys() == set(orders)


def test_a_cluster_that_was_created_again(state: FakeCluster, connect: Connect) -> None:
    """If the bootstrap servers lead to it, too, the run ends."""
    cluster = connect()
    of_another_cluster(state, DESCRIBE_CLUSTER, None)
    for broker in cluster.brokers.values():
        broker.close()
    with pytest.raises(ClusterRefused, match=r"was cluster fake and is now cluster `another`$"):
        cluster.find_coordinators(["g"], Deadline.after(CLOCK, 3_000))


def test_a_leader_that_another_broker_names(connect: Connect) -> None:
    """The leader is accepted if its epoch is newer and the broker is known."""
    cluster, orders_0 = connect(), TopicPartition("orders", 0)
    assert (cluster.leader_of(orders_0), cluster.topics.leader_epoch_of(orders_0)) == (None, -1)
    cluster.refresh(None, Deadline.after(CLOCK, 1_000))
    assert (cluster.leader_of(orders_0), cluster.topics.leader_epoch_of(orders_0)) == (1, 0)
    assert not cluster.learn_leader(orders_0, 2, 0)
    assert not cluster.learn_leader(orders_0, 9, 1)
    assert not cluster.learn_leader(orders_0, 2, 1, topic_id="of another topic of that name")
    assert cluster.learn_leader(orders_0, 2, 1, topic_id=cluster.topics.id_of("orders"))
    assert (cluster.leader_of(orders_0), cluster.topics.leader_epoch_of(orders_0)) == (2, 1)


def identified(state: FakeCluster, *cluster_ids: str | None) -> None:
    """Make Metadata responses with these ids, one after the other."""
    for cluster_id in cluster_ids:
        answer = Altered(lambda answer, cluster_id=cluster_id: replace(answer, cluster_id=cluster_id))
        state.faults.append(Fault(METADATA.key, answer))


@pytest.mark.parametrize("cluster_id", ["../victim", "", "a b", "a\x1b[2J", "a\udcff", ".", "a" * 101])
def test_an_id_that_no_cluster_has_ends_the_run(state: FakeCluster, connect: Connect, cluster_id: str) -> None:
    """The error is one line, and nothing of the response is kept."""
    identified(state, cluster_id)
    with pytest.raises(ClusterRefused, match="is not a cluster id") as raised:
        connect()
    assert str(raised.value).isprintable()


def test_no_id_is_allowed(state: FakeCluster, connect: Connect) -> None:
    """Brokers before 0.10.1 and Azure Event Hubs have no id; an id that is returned later is kept."""
    identified(state, None, "fake", None)
    cluster, deadline = connect(), Deadline.after(CLOCK, 2_000)
    assert cluster.cluster_id is None
    for _ in range(2):
        assert cluster.refresh((), deadline).cluster_id == "fake"


def test_another_cluster_than_before_ends_the_run(state: FakeCluster, connect: Connect) -> None:
    """The name of a bootstrap server, or a broker's address, may lead to another cluster at any time."""
    cluster = connect()
    identified(state, "other")
    with pytest.raises(ClusterRefused, match="was cluster fake and is now cluster other"):
        cluster.refresh((), Deadline.after(CLOCK, 2_000))


@pytest.mark.parametrize(("cluster_id", "got"), [("other", "is fake"), ("fake", None)])
def test_a_cluster_id_of_the_settings(state: FakeCluster, connect: Connect, cluster_id: str, got: str | None) -> None:
    """Another cluster is refused in one line that names both."""
    if got is None:
        assert connect(cluster_id=cluster_id).cluster_id == cluster_id
        identified(state, None)
        got, cluster_id = "has no id", "fake"
    with pytest.raises(ConfigError) as raised:
        connect(cluster_id=cluster_id)
    (line,) = raised.value.problems
    assert line.startswith(f"cluster_id: expected {cluster_id}, and the cluster at 127.0.0.1:")
    assert line.endswith(f" {got}: correct it, or bootstrap_servers")


def test_a_cluster_id_of_the_settings_on_an_executor(state: FakeCluster, brokers: dict[int, FakeBroker]) -> None:
    """Tasks get the driver's metadata, and send Metadata first."""
    assert brokers
    with (
        Cluster(short_timeouts(state, cluster_id="other"), CLOCK, RequestStats()) as cluster,
        pytest.raises(ConfigError, match="expected other"),
    ):
        cluster.refresh({"orders"}, Deadline.after(CLOCK, 2_000))


@pytest.mark.parametrize(
    ("api_key", "change"),
    [
        (API_VERSIONS.key, {"error_code": 15}),
        (API_VERSIONS.key, {"api_keys": ()}),
        (METADATA.key, {"error_code": 129}),
        (METADATA.key, {"brokers": ()}),
    ],
)
def test_a_bootstrap_server_that_refuses_does_not_matter(
    state: FakeCluster, connect: Connect, api_key: int, change: dict[str, Any]
) -> None:
    """A broker that refuses or returns a useless response is skipped: the next broker is tried at once."""
    state.faults.append(Fault(api_key, Altered(lambda answer: replace(answer, **change)), node_id=1, times=1_000))
    cluster = connect()
    assert sorted(cluster.brokers) == [1, 2, 3]
    assert state.count(METADATA.key, 2) == 1


def test_what_is_left_out_of_answers_is_kept_once(state: FakeCluster, connect: Connect) -> None:
    """Repeated requests do not add to it."""
    topic = state.add_topic("../x", 1)
    cluster, deadline = connect(), Deadline.after(CLOCK, 2_000)
    for _ in range(3):
        assert [one.name for one in cluster.refresh(None, deadline).topics] == ["orders"]
    assert topic.partitions
    assert [(one.scope.topic, one.name) for one in cluster.refusals] == [("../x", "NAME_REFUSED")]


def test_records_have_the_time_of_a_request_from_a_broker_that_was_silent(
    state: FakeCluster, connect: Callable[..., Cluster]
) -> None:
    """It may be slow, and would never answer within the short time that the requests of a command have."""
    cluster = connect(request_timeout_ms=5_000)
    cluster.unreachable.add(cluster.brokers[2].address)
    call = Call(METADATA, metadata_request(()), CREATES_NOTHING)
    answered = []
    for is_brief in (True, False):
        state.faults = [Fault(METADATA.key, Slow(1), 2)]
        ((_, (reply,)),) = cluster.ask_brokers({2: [call]}, Deadline.after(CLOCK, 4_000), is_brief=is_brief)
        answered.append(not isinstance(reply.outcome, Exception))
    assert answered == [False, True]
