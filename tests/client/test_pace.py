"""A limit of bytes per second applies to all brokers of a cluster, a limit of requests in flight to each connection."""

import pytest

from kafka_lagoon.client.broker import Broker, Call, may_have_arrived
from kafka_lagoon.client.pace import Pace
from kafka_lagoon.client.session import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import DeadlinePassed
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.produce import NO_ACKS, PRODUCE, ProduceRequest
from tests.client.loopback import Loopback, access
from tests.clock import Hands


def test_bytes_have_their_time() -> None:
    """Requests wait for the bytes of all connections at the rate; idle time is not credited."""
    hands = Hands()
    pace = Pace(hands.clock(), 1_000)
    deadline = Deadline.after(hands.clock(), 60_000)
    for size, waited in ((500, 0.5), (2_000, 2.5), (0, 2.5)):
        pace.spent(size)
        assert pace.wait(deadline)
        assert hands.seconds == pytest.approx(waited)
    hands.move(10)
    pace.spent(1_000)
    assert pace.wait(deadline)
    assert hands.seconds == pytest.approx(13.5)


def test_without_a_limit_nothing_waits() -> None:
    """Without a limit no request waits."""
    hands = Hands()
    pace = Pace(hands.clock())
    pace.spent(1 << 40)
    assert pace.wait(Deadline.after(hands.clock(), 1))
    assert hands.seconds == 0


def requested(monkeypatch: pytest.MonkeyPatch, requests: int, **settings: object) -> tuple[Broker, Hands]:
    """A broker that got this many requests at once, with a clock that advances when a request waits."""
    hands = Hands()
    monkeypatch.setattr(Transport, "connect", lambda *_: Loopback({LIST_GROUPS.key: ListGroupsResponse}))
    broker = Broker(1, "127.0.0.1", 9092, access(hands.clock(), **settings))
    calls = [Call(LIST_GROUPS, ListGroupsRequest())] * requests
    replies = broker.ask_all(calls, Deadline.after(hands.clock(), 60_000))
    for reply in replies:
        if isinstance(reply.outcome, DeadlinePassed):
            raise reply.outcome
    return broker, hands


def exchanged(broker: Broker) -> int:
    """Return the bytes in both directions."""
    by_api = broker._access.request_stats.by_api.values()
    return sum(stats.request_bytes + stats.answer_bytes for stats in by_api)


def test_requests_wait_for_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many requests take as long as their bytes at the rate, except requests that were in flight."""
    broker, hands = requested(monkeypatch, 200, max_bytes_per_second=1_000)
    seconds = exchanged(broker) / 1_000
    assert 0.9 * seconds < hands.seconds <= seconds


def test_a_deadline_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that is too short for the rate is an error, and does not make the run longer."""
    with pytest.raises(DeadlinePassed):
        requested(monkeypatch, 200, max_bytes_per_second=10)


def test_a_request_that_was_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An alteration whose time has passed before the pace let it out cannot have been carried out."""
    broker, hands = requested(monkeypatch, 1, max_bytes_per_second=1_000)
    broker._access.pace.spent(1_000_000)
    call = Call(LIST_GROUPS, ListGroupsRequest(), once=True)
    (reply,) = broker.ask_all([call], Deadline.after(hands.clock(), 60_000))
    assert isinstance(reply.outcome, DeadlinePassed)
    assert not may_have_arrived(reply.outcome)


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_requests_in_flight(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """No more requests are in flight than the setting allows, and the statistics count them."""
    broker, _ = requested(monkeypatch, 20, max_in_flight_requests_per_connection=limit)
    assert broker._access.request_stats.by_api[LIST_GROUPS.name, 1].most_in_flight == limit


class Acks0(Loopback):
    """Takes Produce without a response."""

    def exchange(self, outgoing: bytearray, room: memoryview, _deadline: Deadline, phase: str) -> int:
        """Take what is sent, and answer the other requests."""
        if not outgoing.startswith(PRODUCE.key.to_bytes(2, "big"), 4):
            return super().exchange(outgoing, room, _deadline, phase)
        outgoing.clear()
        return 0


def test_requests_without_a_response_wait_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Produce with acks=0 keeps the pace, though no response shows how much the broker has taken."""
    hands = Hands()
    monkeypatch.setattr(Transport, "connect", lambda *_: Acks0({}))
    broker = Broker(1, "127.0.0.1", 9092, access(hands.clock(), max_bytes_per_second=1_000))
    deadline, request = (
        Deadline.after(hands.clock(), 900_000),
        ProduceRequest(acks=NO_ACKS, timeout_ms=0, topic_data=()),
    )
    for _ in range(100):
        broker.send_unanswered(PRODUCE, request, deadline)
    seconds = exchanged(broker) / 1_000
    assert 0.9 * seconds < hands.seconds <= seconds


def test_a_wait_that_outlasts_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker closes a connection that was idle while we kept the pace: a request that is sent once gets a new one after it."""
    hands, connected = Hands(), list[Loopback]()

    def connect(*_: object) -> Loopback:
        connected.append(Loopback({LIST_GROUPS.key: ListGroupsResponse}))
        return connected[-1]

    monkeypatch.setattr(Transport, "connect", connect)
    broker = Broker(1, "127.0.0.1", 9092, access(hands.clock(), max_bytes_per_second=1_000))
    call, deadline = Call(LIST_GROUPS, ListGroupsRequest(), once=True), Deadline.after(hands.clock(), 900_000)
    broker.ask_all([call], deadline)
    broker._access.pace.spent(400_000)  # by the connections to other brokers
    (reply,) = broker.ask_all([call], deadline)
    assert isinstance(reply.outcome, ListGroupsResponse)
    assert [transport.is_closed for transport in connected] == [True, False]
