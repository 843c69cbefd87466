"""One broker: large responses, and a request that another thread interrupts."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.broker import Broker, Call, _before_sending, may_have_arrived
from kafka_lagoon.client.cluster import Cluster, metadata_request
from kafka_lagoon.client.session import Session
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import (
    ConnectionFailed,
    ConnectionLost,
    CorrelationMismatch,
    DeadlinePassed,
    DecodeError,
    EncodeError,
    FrameTooLarge,
)
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.fetch import BY_NAME, FETCH, FetchPartition, FetchRequest, FetchTopic
from kafka_lagoon.protocol.messages.metadata import (
    CREATES_NOTHING,
    METADATA,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_lagoon.protocol.messages.produce import NO_ACKS, PRODUCE, ProduceRequest
from kafka_lagoon.wire.schema import Versions
from tests.client.loopback import Loopback, access
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault, Hang, WrongCorrelation

EVERYTHING = FetchRequest(
    max_wait_ms=10,
    min_bytes=1,
    topics=(
        FetchTopic(
            topic="orders", partitions=(FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 30),)
        ),
    ),
)


def fetched(broker: Broker) -> memoryview:
    """Return all records of the partition, in one response."""
    answer = broker.ask(FETCH, EVERYTHING, Deadline.after(CLOCK, 30_000), BY_NAME)
    records = answer.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    return records


@pytest.mark.parametrize("size", [10, 60_000, 100_000, 3_000_000])
def test_answers_of_any_size(state: FakeCluster, connect: Callable[[], Cluster], size: int) -> None:
    """Record data is a view of the response, which stays unchanged while others arrive."""
    log = state.topics["orders"].partitions[0]
    log.high_watermark = 0
    log.append(batch(0, [bytes(size)]))
    broker = connect().brokers[1]
    first = fetched(broker)
    log.log[0] = batch(0, [b"\x01" * size])
    second = fetched(broker)
    third = fetched(broker)
    assert bytes(first) == batch(0, [bytes(size)]).data
    assert second == third == log.log[0].data


def test_a_connection_that_is_interrupted_while_it_is_opened(
    state: FakeCluster, connect: Callable[..., Cluster]
) -> None:
    """A frozen broker accepts connections and is silent: Ctrl-C does not wait for it."""
    broker = connect(request_timeout_ms=20_000, socket_connection_setup_timeout_ms=20_000).brokers[2]
    broker.close()
    state.faults.append(Fault(API_VERSIONS.key, Hang(), node_id=2, times=1_000))
    started = time.monotonic()
    timer = threading.Timer(0.3, broker.interrupt)
    timer.start()
    with pytest.raises(ConnectionLost):
        broker.ask(METADATA, metadata_request(None), Deadline.after(CLOCK, 20_000))
    assert time.monotonic() - started < 5


def test_a_request_that_is_interrupted(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The interrupted request ends at once and is not repeated; after `close` the broker answers again."""
    broker = connect(request_timeout_ms=60_000).brokers[1]
    state.faults.append(Fault(FETCH.key, Hang()))
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            fetched(broker)
        except ConnectionLost as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not state.count(FETCH.key):
        time.sleep(0.005)
    broker.interrupt()
    thread.join(30)
    assert not thread.is_alive()  # long before the deadline of the request
    assert len(caught) == 1
    assert state.count(FETCH.key) == 1
    broker.close()
    assert fetched(broker) is not None


def test_a_response_that_is_too_large(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """It is an error of its own request; the others are sent again, unless they must be sent once."""
    state.topics["orders"].partitions[0].high_watermark = 0
    state.topics["orders"].partitions[0].append(batch(0, [bytes(100_000)]))
    broker = connect(receive_message_max_bytes=50_000).brokers[1]
    large, small = Call(FETCH, EVERYTHING, BY_NAME), Call(METADATA, metadata_request(None), CREATES_NOTHING)
    calls = [small, large, small, large, small, replace(small, once=True)]
    replies = broker.ask_all(calls, Deadline.after(CLOCK, 30_000))
    is_too_large = [isinstance(reply.outcome, FrameTooLarge) for reply in replies]
    assert is_too_large[:5] == [False, True, False, True, False]
    assert not broker.failing


def test_calls_behind_a_response_that_is_too_large(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """One that was sent, and must be sent once, has the error too; one that was not sent yet is sent, and has its answer."""
    state.topics["orders"].partitions[0].high_watermark = 0
    state.topics["orders"].partitions[0].append(batch(0, [bytes(100_000)]))
    settings = {"receive_message_max_bytes": 50_000, "max_in_flight_requests_per_connection": 2}
    broker = connect(**settings).brokers[1]
    once = Call(METADATA, metadata_request(()), CREATES_NOTHING, once=True)
    replies = broker.ask_all([Call(FETCH, EVERYTHING, BY_NAME), once, once, once], Deadline.after(CLOCK, 30_000))
    assert [may_have_arrived(reply.outcome) for reply in replies] == [True, True, False, False]
    assert [isinstance(reply.outcome, MetadataResponse) for reply in replies] == [False, False, True, True]


def test_a_connection_that_was_idle(connect: Callable[..., Cluster]) -> None:
    """Brokers close idle connections: a request that is sent once gets a new one after minutes, as after a long confirmation."""
    broker = connect().brokers[1]
    request = Call(METADATA, metadata_request(()), CREATES_NOTHING, once=True)
    deadline = Deadline.after(CLOCK, 10_000)
    broker.ask_all([request], deadline)
    first = broker._session
    broker.ask_all([request], deadline)
    assert first is not None
    assert broker._session is first
    first._transport._socket.shutdown(socket.SHUT_RDWR)
    first._answered_at -= 600
    (reply,) = broker.ask_all([request], deadline)
    assert not isinstance(reply.outcome, Exception)


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_connection_that_the_peer_has_closed(connect: Callable[..., Cluster], *, is_answered: bool) -> None:
    """Load balancers close a connection after seconds without a request: one that is sent once is not lost on it."""
    broker = connect().brokers[1]
    deadline = Deadline.after(CLOCK, 10_000)
    broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING)
    first = broker._session
    assert first is not None
    first._transport._socket.shutdown(socket.SHUT_RD)  # the end of the stream arrives, and requests could still be sent
    if is_answered:
        (reply,) = broker.ask_all([Call(METADATA, metadata_request(()), CREATES_NOTHING, once=True)], deadline)
        assert not isinstance(reply.outcome, Exception)
    else:
        broker.send_unanswered(
            PRODUCE, ProduceRequest(acks=NO_ACKS, timeout_ms=0, topic_data=()), deadline, Versions(9, 9)
        )
    assert broker._session is not first


@pytest.mark.parametrize("is_silent", [False, True])
def test_an_address_that_accepts_and_does_not_work(monkeypatch: pytest.MonkeyPatch, *, is_silent: bool) -> None:
    """A host may have several addresses: after one that accepts and closes, or stays silent, the next one is tried."""
    with fake_cluster(FakeCluster(), 1) as brokers, socket.create_server(("127.0.0.2", 0)) as dead:

        def close_all() -> None:
            with suppress(OSError):
                while True:
                    dead.accept()[0].close()

        if not is_silent:
            threading.Thread(target=close_all, daemon=True).start()
        addresses = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", end)
            for end in (dead.getsockname(), ("127.0.0.1", brokers[1].server_address[1]))
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        shared = access(CLOCK, bootstrap_servers="two:9092", socket_connection_setup_timeout_ms=300)
        broker = Broker(None, "two", 9092, shared)
        deadline = Deadline.after(CLOCK, 5_000)
        assert broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING).brokers
        broker.close()
        started = time.monotonic()
        assert broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING).brokers
        assert time.monotonic() - started < 0.3
        broker.close()


def test_a_token_endpoint_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A login that gets no token says nothing about the address that the broker advertises, which was reached."""
    connect = Transport.connect

    def reached(host: str, port: int, *more: Any) -> Any:
        return Loopback({}) if port == 9093 else connect(host, port, *more)

    monkeypatch.setattr(Transport, "connect", reached)
    oauth = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "allow_plaintext_credentials": True,
        "sasl_oauthbearer_token_endpoint_url": "http://127.0.0.1:1/token",
        "sasl_oauthbearer_allowed_urls": "http://127.0.0.1:1/token",
        "sasl_oauthbearer_client_id": "lagoon",
        "sasl_oauthbearer_client_secret": "word",
    }
    broker = Broker(2, "127.0.0.1", 9093, access(CLOCK, **oauth))
    with pytest.raises(ConnectionFailed) as caught:
        broker.ask(METADATA, metadata_request(()), Deadline.after(CLOCK, 5_000), CREATES_NOTHING)
    assert str(caught.value) == "127.0.0.1:1: connect: Connection refused"


def test_ctrl_c_while_a_response_is_awaited(connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is not used again, as its next response is that to the interrupted request."""
    broker, deadline = connect().brokers[1], Deadline.after(CLOCK, 5_000)
    broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING)
    move = Session.move

    def interrupted(session: Session, outgoing: bytearray, _deadline: Deadline) -> Any:
        while outgoing:
            next(move(session, outgoing, _deadline), None)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "move", interrupted)
        with pytest.raises(KeyboardInterrupt):
            broker.ask(METADATA, metadata_request(("orders",)), deadline, CREATES_NOTHING)
    answer = broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING)
    assert answer.topics == ()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeadlinePassed("127.0.0.1:1", "exchange", 1)])
def test_a_request_without_a_response_that_is_sent_in_part(
    connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """The connection is not used again: its next bytes would be read as the rest of the request."""
    broker, deadline = connect().brokers[1], Deadline.after(CLOCK, 5_000)
    broker.ask(METADATA, metadata_request(()), deadline, CREATES_NOTHING)

    def interrupted(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Session, "move", interrupted)
        with pytest.raises(type(error)):
            broker.send_unanswered(
                PRODUCE, ProduceRequest(acks=NO_ACKS, timeout_ms=0, topic_data=()), deadline, Versions(9, 9)
            )
    assert broker.versions is None


def test_a_broker_that_failed_is_tried_once(connect: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is down would otherwise take the time of several attempts from each request."""
    broker, attempts = connect().brokers[1], list[object]()
    broker.close()

    def refused(*of: object) -> None:
        attempts.append(of)
        raise ConnectionFailed(broker.address, "connect", "refused")

    monkeypatch.setattr(Session, "open", refused)
    numbers = []
    for _ in range(2):
        with pytest.raises(ConnectionFailed):
            broker.ask(METADATA, metadata_request(()), Deadline.after(CLOCK, 30_000), CREATES_NOTHING)
        numbers.append(len(attempts))
    assert numbers == [3, 4]


def test_calls_that_were_never_sent(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """They are not among those that may have arrived when the connection fails, and nothing is sent twice."""
    broker = connect(max_in_flight_requests_per_connection=2).brokers[1]
    before = state.count(METADATA.key, 1)
    state.faults.append(Fault(METADATA.key, Close(), node_id=1))
    calls = [Call(METADATA, metadata_request(()), CREATES_NOTHING, once=True)] * 5
    errors = [reply.outcome for reply in broker.ask_all(calls, Deadline.after(CLOCK, 5_000))]
    assert [may_have_arrived(error) for error in errors] == [True, True, False, False, False]
    assert {type(error) for error in errors} == {ConnectionLost}
    assert ": not sent: " in str(errors[-1])
    assert state.count(METADATA.key, 1) - before <= 2


def test_calls_behind_an_answer_that_cannot_be_read(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Those that were never sent have its error, and are not among those that may have arrived."""
    broker = connect(max_in_flight_requests_per_connection=2).brokers[1]
    state.faults.append(Fault(METADATA.key, WrongCorrelation(), node_id=1))
    calls = [Call(METADATA, metadata_request(()), CREATES_NOTHING, once=True)] * 3
    errors = [reply.outcome for reply in broker.ask_all(calls, Deadline.after(CLOCK, 5_000))]
    assert {type(error) for error in errors} == {CorrelationMismatch}
    assert [may_have_arrived(error) for error in errors] == [True, True, False]


@pytest.mark.parametrize("wrong", [{0}, {1}, {2}, {0, 1, 2}])
def test_a_request_that_cannot_be_encoded(connect: Callable[..., Cluster], wrong: set[int]) -> None:
    """Its error is that of this call alone: others before and after it have their answers."""
    broker = connect(max_in_flight_requests_per_connection=1).brokers[1]
    bad = MetadataRequest(topics=(MetadataRequestTopic(name="x" * 40_000),))
    requests = [bad if i in wrong else metadata_request(()) for i in range(3)]
    calls = [Call(METADATA, request, Versions(5, 5), once=True) for request in requests]
    replies = broker.ask_all(calls, Deadline.after(CLOCK, 5_000))
    assert {i for i, reply in enumerate(replies) if isinstance(reply.outcome, EncodeError)} == wrong
    assert all(isinstance(reply.outcome, EncodeError | MetadataResponse) for reply in replies)
    assert broker.versions is not None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DecodeError("ProduceResponse", 9, 4, "short"), True),
        (CorrelationMismatch(3, 4), True),
        (EncodeError("ProduceRequest", 9, "acks", "out of range"), False),
        (ConnectionLost("kafka-1:9092", "exchange", "closed", 1), True),
        (_before_sending(ConnectionLost("kafka-1:9092", "exchange", "closed", 1)), False),
        (_before_sending(DecodeError("ProduceResponse", 9, 4, "short")), False),
        (ConnectionFailed("kafka-1:9092", "connect", "refused"), False),
    ],
)
def test_requests_that_may_have_arrived(error: Exception, expected: bool) -> None:
    """An answer that cannot be read is an answer: the broker has the request, and may have carried it out."""
    assert may_have_arrived(error) == expected


def test_a_request_that_was_not_sent_says_so() -> None:
    """Its error has the reason why the connection failed, and does not look like an exchange."""
    lost = ConnectionLost("kafka-1:9092", "exchange", "closed", 1)
    assert str(_before_sending(lost)) == "kafka-1:9092: not sent: closed"
    assert str(lost) == "kafka-1:9092: exchange: closed"


def test_calls_behind_one_that_only_reads(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """A call that must be sent once is sent after the connection failed during a call before it, as it was not sent yet."""
    broker = connect(max_in_flight_requests_per_connection=1).brokers[1]
    state.faults.append(Fault(METADATA.key, Close(), node_id=1))
    calls = [Call(METADATA, metadata_request(()), CREATES_NOTHING, once=once) for once in (False, True)]
    replies = broker.ask_all(calls, Deadline.after(CLOCK, 5_000))
    assert not any(isinstance(reply.outcome, Exception) for reply in replies)
