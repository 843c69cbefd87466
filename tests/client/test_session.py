"""The session of a connection: its first requests, its waits, and its errors."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Session, Transport
from kafka_lagoon.client.token_endpoint import TokenEndpoint
from kafka_lagoon.client.transport import Tried
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import (
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    TokenUnavailable,
    UnsupportedVersion,
)
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol.error_codes import REBOOTSTRAP_REQUIRED
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, BY_BROKER, ApiVersionsResponse, OfferedApi
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER, DescribeClusterResponse
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse
from kafka_lagoon.protocol.messages.produce import NO_ACKS, PRODUCE, ProduceRequest
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE, SaslAuthenticateResponse
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeResponse
from kafka_lagoon.sasl.token import Token
from kafka_lagoon.wire.schema import Versions
from tests.client.loopback import Answers, Loopback, access
from tests.clock import Hands

PLAIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": "s3cr3t",
    "allow_plaintext_credentials": True,
}


@pytest.fixture
def hands() -> Hands:
    """A clock that advances when the session waits."""
    return Hands()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, hands: Hands) -> Callable[..., tuple[Session, Loopback]]:
    """Open a session of broker 7 to a peer with these responses."""

    def open_session(
        answers: Answers, offered: dict[int, Versions] | None = None, **settings: object
    ) -> tuple[Session, Loopback]:
        loopback = Loopback(answers, offered)
        monkeypatch.setattr(Transport, "connect", lambda *_: loopback)
        shared = access(hands.clock(), **settings)
        return Session.open(7, "127.0.0.1", 9092, shared, soon(hands)), loopback

    return open_session


Opened = Callable[..., tuple[Session, Loopback]]


def soon(hands: Hands, budget_ms: int = 1_000) -> Deadline:
    """Make a deadline by the test's clock."""
    return Deadline.after(hands.clock(), budget_ms)


def ask(session: Session, hands: Hands) -> Any:
    """Return the response to a ListGroups request."""
    outgoing = bytearray(session.frame(LIST_GROUPS, 4, ListGroupsRequest()))
    answers: list[Any] = []
    while not answers:
        answers += session.move(outgoing, soon(hands))
    session.record(answers[0], hands.seconds)
    return answers[0].message


def test_versions_are_agreed_before_anything_else(opened: Opened, hands: Hands) -> None:
    """ApiVersions is the first request; the version is the highest that both sides have, or UnsupportedVersion is raised."""
    session, loopback = opened(
        {LIST_GROUPS.key: ListGroupsResponse},
        {API_VERSIONS.key: API_VERSIONS.versions, LIST_GROUPS.key: Versions(0, 4)},
    )
    assert ask(session, hands) == ListGroupsResponse()
    assert loopback.requests == [API_VERSIONS.key, LIST_GROUPS.key]
    assert session.version(LIST_GROUPS, None) == 4
    assert session.version(LIST_GROUPS, Versions(1, 2)) == 2
    with pytest.raises(UnsupportedVersion, match="broker 7"):
        session.version(FETCH, None)


def test_a_handshake_that_fails_closes_the_connection(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error code of ApiVersions is raised, and the connection is closed."""
    closed: list[Loopback] = []
    monkeypatch.setattr(Loopback, "close", lambda loopback: closed.append(loopback))  # noqa: PLW0108  bound as a method
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        opened({API_VERSIONS.key: lambda: ApiVersionsResponse(error_code=31)})
    assert len(closed) == 1


def test_a_listener_of_controllers(opened: Opened) -> None:
    """It answers ApiVersions as a broker does, and is not taken for a broker that is too old for Metadata."""
    offered = {API_VERSIONS.key: API_VERSIONS.versions, 52: Versions(0, 2), 55: Versions(0, 2), 60: Versions(0, 2)}
    with pytest.raises(
        ConnectionFailed, match=r"^127.0.0.1:9092: handshake: this is a listener of controllers, not of"
    ):
        opened({}, offered)


def test_a_throttled_session_waits(opened: Opened, hands: Hands) -> None:
    """The next request waits for the throttle time (KIP-219), but not longer than its deadline."""
    session, _ = opened({LIST_GROUPS.key: lambda: ListGroupsResponse(throttle_time_ms=300)})
    ask(session, hands)
    before = hands.seconds
    session.obey_throttle(soon(hands))
    assert hands.seconds - before == pytest.approx(0.3)
    session.obey_throttle(soon(hands))
    assert hands.seconds - before == pytest.approx(0.3), "once is enough"
    ask(session, hands)
    with pytest.raises(DeadlinePassed, match="throttled"):
        session.obey_throttle(soon(hands, 100))


@pytest.mark.parametrize(("newest", "waits_s"), [(1, 0.0), (2, 0.3)])
def test_an_old_broker_has_waited_already(opened: Opened, hands: Hands, newest: int, waits_s: float) -> None:
    """Brokers before Kafka 2.0 delay the answer itself: another wait would halve what the quota allows."""
    offered = {API_VERSIONS.key: Versions(0, newest), LIST_GROUPS.key: Versions(0, 4)}
    session, _ = opened({LIST_GROUPS.key: lambda: ListGroupsResponse(throttle_time_ms=300)}, offered)
    ask(session, hands)
    before = hands.seconds
    session.obey_throttle(soon(hands))
    assert hands.seconds - before == pytest.approx(waits_s)


def test_a_new_connection_waits_for_the_throttle_time_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch, hands: Hands
) -> None:
    """Quotas are those of a client: a client that connects again is throttled like one that stays."""
    answers = {LIST_GROUPS.key: lambda: ListGroupsResponse(throttle_time_ms=300)}
    monkeypatch.setattr(Transport, "connect", lambda *_: Loopback(answers))
    broker = Broker(7, "127.0.0.1", 9092, access(hands.clock()))
    broker.ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
    broker.close()
    broker.ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
    assert hands.seconds == pytest.approx(0.3)


def test_a_broker_at_another_address_waits_for_the_throttle_time_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch, hands: Hands
) -> None:
    """It is the same broker, with the same quotas."""
    answers = {LIST_GROUPS.key: lambda: ListGroupsResponse(throttle_time_ms=300)}
    monkeypatch.setattr(Transport, "connect", lambda *_: Loopback(answers))
    cluster = Cluster(checked({"bootstrap_servers": "127.0.0.1:9092"}), hands.clock(), RequestStats())
    cluster.learn_brokers([MetadataBroker(node_id=7, host="127.0.0.1", port=9092)])
    cluster.brokers[7].ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
    cluster.learn_brokers([MetadataBroker(node_id=7, host="127.0.0.1", port=9093)])
    cluster.brokers[7].ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
    assert hands.seconds == pytest.approx(0.3)


def test_requests_in_flight_are_not_held_back(opened: Opened, hands: Hands) -> None:
    """A throttle time does not delay responses that are on their way."""
    session, _ = opened({LIST_GROUPS.key: lambda: ListGroupsResponse(throttle_time_ms=300)})
    ask(session, hands)
    session.frame(LIST_GROUPS, 4, ListGroupsRequest())
    session.obey_throttle(soon(hands))
    assert (session.in_flight, hands.seconds) == (1, 0)


def test_a_request_without_a_response_does_not_wait(opened: Opened, hands: Hands) -> None:
    """Produce with acks=0 has no response; the next response is still matched to its request."""
    session, loopback = opened(
        {LIST_GROUPS.key: ListGroupsResponse}, {API_VERSIONS.key: API_VERSIONS.versions, PRODUCE.key: Versions(3, 9)}
    )
    frame = session.unanswered_frame(PRODUCE, 9, ProduceRequest(acks=NO_ACKS, timeout_ms=0, topic_data=()))
    assert frame[4:6] == PRODUCE.key.to_bytes(2, "big")
    assert session.in_flight == 0
    assert ask(session, hands) == ListGroupsResponse()
    assert loopback.requests == [API_VERSIONS.key, LIST_GROUPS.key]


@pytest.mark.parametrize(("lifetime_ms", "expires"), [(10_000, True), (0, False), (-1, False)])
def test_a_session_that_expires_is_authenticated_again(
    opened: Opened, hands: Hands, lifetime_ms: int, expires: bool
) -> None:
    """It is authenticated again after 85 to 95 percent of its lifetime (KIP-368); without a lifetime it never is."""
    answers = {
        SASL_HANDSHAKE.key: lambda: SaslHandshakeResponse(mechanisms=("PLAIN",)),
        SASL_AUTHENTICATE.key: lambda: SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms),
    }
    session, loopback = opened(answers, **PLAIN)
    assert loopback.requests == [API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key]
    hands.move(8.4)
    assert not session.must_reauthenticate
    hands.move(1.2)
    assert session.must_reauthenticate == expires
    session.authenticate(soon(hands))
    assert not session.must_reauthenticate
    assert loopback.requests[3:] == [SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key]


@pytest.mark.parametrize("newest", [4, 5])
def test_another_broker_is_found_once_we_are_authenticated(
    monkeypatch: pytest.MonkeyPatch, hands: Hands, newest: int
) -> None:
    """Brokers from 4.4 on look at the ids after SASL only; older ones, which have no ids, are not asked again."""
    ranges = {
        SASL_HANDSHAKE.key: Versions(1, 1),
        SASL_AUTHENTICATE.key: Versions(2, 2),
        DESCRIBE_CLUSTER.key: Versions(0, 2),
    }
    offered = tuple(
        OfferedApi(api_key=key, min_version=versions.lowest, max_version=versions.highest)
        for key, versions in {API_VERSIONS.key: Versions(0, newest), **ranges}.items()
    )
    codes = iter([0, REBOOTSTRAP_REQUIRED])
    loopback = Loopback(
        {
            API_VERSIONS.key: lambda: ApiVersionsResponse(error_code=next(codes), api_keys=offered),
            SASL_HANDSHAKE.key: lambda: SaslHandshakeResponse(mechanisms=("PLAIN",)),
            SASL_AUTHENTICATE.key: SaslAuthenticateResponse,
            DESCRIBE_CLUSTER.key: lambda: DescribeClusterResponse(cluster_id="ours", brokers=()),
        }
    )
    monkeypatch.setattr(Transport, "connect", lambda *_: loopback)
    shared = replace(access(hands.clock(), **PLAIN), cluster_id=lambda: "ours")
    first = [API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key]
    if newest < BY_BROKER.lowest:
        Session.open(7, "127.0.0.1", 9092, shared, soon(hands))
        assert loopback.requests == [*first, DESCRIBE_CLUSTER.key]
    else:
        with pytest.raises(ConnectionFailed, match="broker 7 of cluster ours does not listen there"):
            Session.open(7, "127.0.0.1", 9092, shared, soon(hands))
        assert loopback.requests == [*first, API_VERSIONS.key]


@pytest.mark.parametrize("code", [0, REBOOTSTRAP_REQUIRED])
def test_a_bootstrap_server_that_is_taken_for_a_broker(
    monkeypatch: pytest.MonkeyPatch, hands: Hands, code: int
) -> None:
    """Before its connection is used for the broker, it is asked whether it leads there: several may have one address."""
    codes = iter([0, code])
    offered = tuple(
        OfferedApi(api_key=key, min_version=versions.lowest, max_version=versions.highest)
        for key, versions in {API_VERSIONS.key: API_VERSIONS.versions, LIST_GROUPS.key: Versions(0, 4)}.items()
    )
    loopback = Loopback(
        {
            API_VERSIONS.key: lambda: ApiVersionsResponse(error_code=next(codes), api_keys=offered),
            LIST_GROUPS.key: ListGroupsResponse,
        }
    )
    monkeypatch.setattr(Transport, "connect", lambda *_: loopback)
    known: list[str] = []
    shared = replace(access(hands.clock()), cluster_id=lambda: known[0] if known else None)
    broker = Broker(None, "127.0.0.1", 9092, shared)
    assert broker.ask(LIST_GROUPS, ListGroupsRequest(), soon(hands)) == ListGroupsResponse()
    known.append("ours")
    broker.assign_node_id(7)
    first = [API_VERSIONS.key, LIST_GROUPS.key]
    if code:
        with pytest.raises(ConnectionFailed, match="broker 7 of cluster ours does not listen there"):
            broker.ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
        assert loopback.requests == [*first, API_VERSIONS.key]
    else:
        for _ in range(2):
            broker.ask(LIST_GROUPS, ListGroupsRequest(), soon(hands))
        assert loopback.requests == [*first, API_VERSIONS.key, LIST_GROUPS.key, LIST_GROUPS.key]


def test_sessions_are_not_all_renewed_at_once(opened: Opened, hands: Hands) -> None:
    """The share of the lifetime differs from session to session."""
    answers = {
        SASL_HANDSHAKE.key: lambda: SaslHandshakeResponse(mechanisms=("PLAIN",)),
        SASL_AUTHENTICATE.key: lambda: SaslAuthenticateResponse(session_lifetime_ms=10_000_000),
    }
    sessions = [opened(answers, **PLAIN)[0] for _ in range(40)]
    hands.move(9_000)
    assert {session.must_reauthenticate for session in sessions} == {True, False}


def test_a_closed_connection_says_what_may_be_wrong(opened: Opened, hands: Hands) -> None:
    """A listener that closes at the first request after ApiVersions may require SASL; a used connection has no hint."""
    session, _ = opened({})
    with pytest.raises(ConnectionLost, match=re.escape("as listeners do that want SASL; see security_protocol")):
        ask(session, hands)
    answered = iter([ListGroupsResponse()])
    session, loopback = opened({LIST_GROUPS.key: lambda: next(answered)})
    ask(session, hands)
    loopback._answers.pop(LIST_GROUPS.key)
    with pytest.raises(ConnectionLost) as lost:
        ask(session, hands)
    assert (lost.value.hint, lost.value.in_flight) == ("", 1)


def test_how_many_requests_are_in_flight(opened: Opened) -> None:
    """Five as in Java; one with TLS to brokers that do not process buffered requests (KAFKA-13559)."""
    session, _ = opened({})
    assert session.max_in_flight == 5
    for highest, expected in ((13, 1), (14, 5)):
        session, _ = opened({}, {API_VERSIONS.key: API_VERSIONS.versions, FETCH.key: Versions(0, highest)})
        session._is_secure = True
        assert session.max_in_flight == expected


def test_the_address_that_worked_is_tried_first(monkeypatch: pytest.MonkeyPatch, hands: Hands) -> None:
    """A host may have several addresses, of which one never answers: it is waited for only once."""
    tried: list[object] = []

    def connect(*arguments: object) -> Loopback:
        tried.append(dict(cast("Tried", arguments[-1])))
        return Loopback({})

    monkeypatch.setattr(Transport, "connect", connect)
    shared = access(hands.clock())
    for host in ("two", "two", "other"):
        Session.open(7, host, 9092, shared, soon(hands))
    assert tried == [{}, {"127.0.0.1": True}, {}]


@pytest.mark.parametrize("failures", [1, 4])
def test_a_token_endpoint_that_is_out_of_order_for_now(
    monkeypatch: pytest.MonkeyPatch, hands: Hands, failures: int
) -> None:
    """A token is requested again after a pause, also after the attempts of one request to a broker."""
    answers: Answers = {
        SASL_HANDSHAKE.key: lambda: SaslHandshakeResponse(mechanisms=("OAUTHBEARER",)),
        SASL_AUTHENTICATE.key: SaslAuthenticateResponse,
        METADATA.key: lambda: MetadataResponse(
            brokers=(MetadataBroker(node_id=7, host="127.0.0.1", port=9092),), topics=()
        ),
    }
    attempts = iter(range(failures))

    def fetch(_endpoint: TokenEndpoint, _clock: Clock) -> Token:
        if next(attempts, None) is not None:
            raise TokenUnavailable("idp:443", "authenticate", "the token endpoint answered 503")
        return Token("abc")

    url = f"https://idp/{failures}"  # tokens are kept by URL for the whole process
    oauth = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": url,
        "sasl_oauthbearer_allowed_urls": url,
        "sasl_oauthbearer_client_id": "lagoon",
        "sasl_oauthbearer_client_secret": "s3cr3t",
        "allow_plaintext_credentials": True,
    }
    monkeypatch.setattr(Transport, "connect", lambda *_: Loopback(answers))
    monkeypatch.setattr(TokenEndpoint, "fetch", fetch)
    settings = checked({"bootstrap_servers": "127.0.0.1:9092", **oauth})
    cluster = Cluster.connect(settings, hands.clock(), RequestStats(), soon(hands, 60_000))
    assert list(cluster.brokers) == [7]
