"""Brokers that were silent for too long."""

from kafka_lagoon.client.unreachable import UnreachableBrokers
from kafka_lagoon.errors import BrokerError, ConnectionFailed, DeadlinePassed
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from tests.clock import Hands

LONGEST_MS, HALF_S = 60_000, 30
SILENCE, ANSWER = ConnectionFailed("127.0.0.1:1", "connect", "refused"), MetadataResponse()


def unreachable_brokers(hands: Hands) -> UnreachableBrokers:
    return UnreachableBrokers(hands.clock(), LONGEST_MS)


def test_half_of_the_time_of_a_request() -> None:
    """Attempts in a row are counted together."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(HALF_S - 1)
    unreachable.learn("a:1", [SILENCE], 0, LONGEST_MS)
    assert "a:1" not in unreachable
    hands.move(1)
    unreachable.learn("a:1", [SILENCE], hands.seconds - 1, LONGEST_MS)
    assert "a:1" in unreachable
    assert "b:1" not in unreachable


def test_an_attempt_that_had_half_of_the_time_that_was_left() -> None:
    """It ends a moment before half of the time of the request, which began before it."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(HALF_S - 0.01)
    unreachable.learn("a:1", [SILENCE], 0, LONGEST_MS)
    assert "a:1" in unreachable


def test_a_request_with_less_time() -> None:
    """Half of its own time is enough."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(5)
    unreachable.learn("a:1", [SILENCE], 0, 10_000)
    unreachable.learn("b:1", [SILENCE], 0, 12_000)
    assert "a:1" in unreachable
    assert "b:1" not in unreachable


def test_attempts_of_long_before() -> None:
    """They do not count with those of now, nor do those before an answer."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(HALF_S - 1)
    unreachable.learn("a:1", [SILENCE], 0, LONGEST_MS)
    unreachable.learn("b:1", [SILENCE], 0, LONGEST_MS)
    unreachable.learn("b:1", [SILENCE, ANSWER], 0, LONGEST_MS)
    hands.move(2)
    unreachable.learn("b:1", [SILENCE], hands.seconds - 1, LONGEST_MS)
    assert "b:1" not in unreachable
    hands.move(HALF_S)
    unreachable.learn("a:1", [SILENCE], hands.seconds, LONGEST_MS)
    assert "a:1" not in unreachable


def test_an_answer_ends_it() -> None:
    """The broker is waited for again. An error that it gave is no silence, and does not show that it has come back."""
    unreachable = unreachable_brokers(Hands())
    unreachable.add("a:1")
    refused = BrokerError(41, "NOT_CONTROLLER", "Metadata", "cluster")
    unreachable.learn("a:1", [SILENCE, refused], 0, LONGEST_MS)
    assert "a:1" in unreachable
    unreachable.learn("a:1", [SILENCE, ANSWER], 0, LONGEST_MS)
    assert "a:1" not in unreachable


def test_addresses_that_no_broker_has_any_more() -> None:
    """They are forgotten, and what was counted for them."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(HALF_S - 1)
    for address in ("a:1", "b:1"):
        unreachable.learn(address, [SILENCE], 0, LONGEST_MS)
    for address in ("c:1", "d:1"):
        unreachable.add(address)
    unreachable.keep({"b:1", "d:1"})
    assert "c:1" not in unreachable
    assert "d:1" in unreachable
    hands.move(1)
    for address in ("a:1", "b:1"):
        unreachable.learn(address, [SILENCE], hands.seconds - 1, LONGEST_MS)
    assert "a:1" not in unreachable
    assert "b:1" in unreachable


def test_an_attempt_that_another_one_follows() -> None:
    """Its silence is forgotten, and an answer in it is not; the silence before it counts on."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    unreachable.add("a:1")
    hands.move(HALF_S - 1)
    for address in ("d:1", "e:1"):
        unreachable.learn(address, [SILENCE], 0, LONGEST_MS)
    with unreachable.unchanged():
        unreachable.learn("a:1", [ANSWER], 0, LONGEST_MS)
        unreachable.add("b:1")
        unreachable.learn("c:1", [SILENCE], 0, LONGEST_MS)
        unreachable.learn("e:1", [ANSWER], 0, LONGEST_MS)
    assert not any(address in unreachable for address in ("a:1", "b:1", "c:1"))
    hands.move(1)
    for address in ("c:1", "d:1", "e:1"):
        unreachable.learn(address, [SILENCE], hands.seconds - 1, LONGEST_MS)
    assert [address in unreachable for address in ("c:1", "d:1", "e:1")] == [False, True, False]


def test_what_is_silence() -> None:
    """A frozen broker may accept connections and not answer; a broker that throttles, or refuses a password, is there."""
    for phase in ("connect", "tls", "handshake", "exchange"):
        assert _is_unreachable_after(DeadlinePassed("127.0.0.1:1", phase, 1)), phase
    assert not _is_unreachable_after(DeadlinePassed("127.0.0.1:1", "throttled", 1))
    assert not _is_unreachable_after(ConnectionFailed("127.0.0.1:1", "exchange", "closed"))
    assert not _is_unreachable_after(ConnectionFailed("127.0.0.1:1", "authenticate", "wrong password"))


def _is_unreachable_after(outcome: ConnectionFailed) -> bool:
    """True if a broker is unreachable after half of a request's time with this outcome."""
    hands = Hands()
    unreachable = unreachable_brokers(hands)
    hands.move(HALF_S)
    unreachable.learn("a:1", [outcome], 0, LONGEST_MS)
    return "a:1" in unreachable
