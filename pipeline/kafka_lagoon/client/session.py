"""Opens one connection to a broker (TLS, ApiVersions, SASL) and exchanges requests and responses on it.

Nothing else is sent before the connection is as secure as the settings require, and its broker has named the cluster's id: an
address that metadata names may belong to another cluster by now. A session that the broker limits in time is authenticated
again before it expires (KIP-368).
"""

import random
from collections.abc import Callable, Generator, Iterator
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_lagoon.client.connection import Connection, ReceivedResponse, choose_version, negotiate
from kafka_lagoon.client.identity import printable_name
from kafka_lagoon.client.impossible_values import impossible_value
from kafka_lagoon.client.pace import Pace
from kafka_lagoon.client.policy import vet
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.transport import Transport, Tried
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import (
    BrokerError,
    ClusterRefused,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    FrameTooLarge,
    WireError,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import REBOOTSTRAP_REQUIRED, error_code
from kafka_lagoon.protocol.messages.api_versions import ANY_BROKER, API_VERSIONS, BY_BROKER, ApiVersionsResponse
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER, DescribeClusterRequest
from kafka_lagoon.protocol.messages.metadata import CREATES_NOTHING, METADATA, MetadataRequest
from kafka_lagoon.wire.budget import BUDGET
from kafka_lagoon.wire.schema import Api, Versions

if TYPE_CHECKING:  # see transport.py
    import ssl

    from kafka_lagoon.client.tls_stream import TlsSession
    from kafka_lagoon.sasl.conversation import Login

R = TypeVar("R")

_ANY = (None, ANY_BROKER)
_VOTE = 52  # key of an API that only KRaft's controllers offer
_OF_CONNECTIONS = frozenset({API_VERSIONS.name})
_WITHOUT_ANSWER = (
    ", as some listeners do that want TLS, see security_protocol, "
    "and brokers whose quota connection_creation_rate is exceeded"
)
_RENEWED_AT = (0.85, 0.95)  # of the session's lifetime, at random as in Kafka's clients, so that renewals are spread
_RENEWED_AFTER_S = 1.0  # brokers refuse to re-authenticate more often
_ANSWERS_AT_ONCE = Versions(2, 2)  # of ApiVersions: the first version of brokers that do not delay throttled responses
_IDLE_S = 180.0  # brokers close a connection after 10 minutes (connections.max.idle.ms), load balancers after 4 or 5


@frozen
class Access:
    """Values that the connections to a cluster share; `tls` is None without TLS, `login` without SASL."""

    settings: KafkaSettings
    tls: "ssl.SSLContext | None"
    login: "Callable[[str], Login] | None"  # the login of one connection to the broker at this host
    clock: Clock
    request_stats: RequestStats
    pace: Pace
    cluster_id: Callable[[], str | None]  # the id in the cluster's first answer, None before it
    ip_addresses: dict[tuple[str, int], Tried] = field(default_factory=dict)  # by host and port


class Session:
    """A connection, from `open` to its first error."""

    def __init__(self, transport: Transport, node_id: int | None, host: str, access: Access) -> None:
        self.address = transport.address
        self.node_id = node_id  # None for a bootstrap server whose broker is not known yet
        self._transport, self._host = transport, host
        self._settings, self._clock, self._request_stats = access.settings, access.clock, access.request_stats
        self._login, self._pace, self._known_cluster = access.login, access.pace, access.cluster_id
        self._connection = Connection(self._settings.client_id, self._settings.receive_message_max_bytes)
        self.versions: ApiVersionsResponse | None = None  # its ApiVersions response
        self._offered: dict[int, Versions] = {}
        self._is_secure = access.tls is not None
        self._is_used = False  # there was a response beside those of opening
        self.is_confirmed = True  # False if `node_id` was learned later, until the broker has been asked
        # Monotonic. KIP-219: the response to a throttled request comes at once, and the client waits (see `record`).
        self.quiet_until = 0.0
        self._renew_at: float | None = None  # monotonic
        self._answered_at = self._clock.monotonic()

    @classmethod
    def open(
        cls,
        node_id: int | None,
        host: str,
        port: int,
        access: Access,
        deadline: Deadline,
        connected: Callable[[Transport], None] = lambda _: None,
    ) -> "Session":
        """A new connection, ready for any request. `connected` gets its stream before anything is exchanged on it."""
        is_bootstrap = (host, port) in access.settings.addresses()  # named by the settings, not by a broker
        vetted = None if is_bootstrap else partial(vet, access.settings)
        tried = access.ip_addresses.setdefault((host, port), {})
        transport = Transport.connect(host, port, deadline, access.tls, vetted, tried)
        try:
            connected(transport)
            session = cls(transport, node_id, host, access)
            session.versions = session._negotiate(deadline)
            session.authenticate(deadline)
            if (cluster_id := access.cluster_id()) is not None:
                session._confirm(cluster_id, deadline)
            tried.clear()
            tried[transport.ip_address] = True
        except BaseException:
            transport.close()
            raise
        return session

    @property
    def tls(self) -> "TlsSession | None":
        """The encryption of the connection, and the broker's certificates; None without TLS."""
        return self._transport.tls_session()

    @property
    def in_flight(self) -> int:
        """Number of requests that wait for their response."""
        return self._connection.in_flight

    @property
    def max_in_flight(self) -> int:
        """Number of requests that may wait for their response."""
        if self._is_secure:
            from kafka_lagoon.client.tls_pipelining import may_pipeline  # noqa: PLC0415  not needed without TLS

            if not may_pipeline(self._offered):
                return 1
        return self._settings.max_in_flight_requests_per_connection

    @property
    def must_reauthenticate(self) -> bool:
        """True if the connection must authenticate again before any other request."""
        return self._renew_at is not None and self._clock.monotonic() >= self._renew_at

    @property
    def is_stale(self) -> bool:
        """True if the broker has closed the connection between two requests, or may have: the last response is long ago."""
        if self.in_flight:
            return False
        return self._clock.monotonic() - self._answered_at >= _IDLE_S or self._transport.is_closed

    def version(self, api: Api[Any, Any], within: Versions | None) -> int:
        """The version to use; UnsupportedVersion when there is none in common."""
        broker = f"the broker at {self.address}" if self.node_id is None else f"broker {self.node_id}"
        return choose_version(api, self._offered, broker, within)

    def frame(self, api: Api[Any, Any], version: int, request: object) -> bytearray:
        """The bytes of a request, which from now on waits for its response."""
        return self._sent(api, version, self._connection.frame(api, version, request))

    def unanswered_frame(self, api: Api[Any, Any], version: int, request: object) -> bytearray:
        """The bytes of a request that has no response: Produce with acks=0."""
        return self._sent(api, version, self._connection.unanswered_frame(api, version, request))

    def move(self, outgoing: bytearray, deadline: Deadline, phase: str = "exchange") -> Iterator[ReceivedResponse]:
        """Move bytes both ways once, and return the responses that they complete."""
        deadline = deadline.within(self._settings.request_timeout_ms)
        BUDGET.obey(deadline.remaining)
        try:
            with self._connection.room() as room:
                count = self._transport.exchange(outgoing, room, deadline, phase)
            yield from self._connection.filled(count)
        except ConnectionLost as lost:
            counted = ConnectionLost(lost.address, lost.phase, lost.reason, self.in_flight)
            counted.hint = lost.hint or self._hint()
            raise counted from lost

    def obey_throttle(self, deadline: Deadline) -> None:
        """Wait for the throttle time of the last responses, unless there are requests in flight."""
        wait = self.quiet_until - self._clock.monotonic()
        if wait > 0 and not self.in_flight and not deadline.pause(wait):
            raise DeadlinePassed(self.address, "throttled", deadline.budget_ms)

    def keep_pace(self, deadline: Deadline) -> None:
        """Wait until another request may be sent, where a limit of bytes a second is set."""
        if not self._pace.wait(deadline):
            phase = "exchange" if self.in_flight else "throttled"  # throttled: no request has been sent
            raise DeadlinePassed(self.address, phase, deadline.budget_ms)

    def record(self, answer: ReceivedResponse, sent_at: float) -> None:
        """Count a response in the request stats, and remember its throttle time."""
        self._is_used = self.versions is not None
        self._answered_at = now = self._clock.monotonic()
        self._pace.spent(answer.size)
        throttle_ms = getattr(answer.message, "throttle_time_ms", 0)
        # A broker before Kafka 2.0 has let the response wait. KIP-219 raised the versions of all APIs in the same release.
        if self._offered.get(API_VERSIONS.key, _ANSWERS_AT_ONCE).highest >= _ANSWERS_AT_ONCE.lowest:
            self.quiet_until = max(self.quiet_until, now + throttle_ms / 1000)
        self._request_stats.answered((answer.request.api.name, self.node_id), answer.size, sent_at, now, throttle_ms)

    def authenticate(self, deadline: Deadline) -> None:
        """Authenticate where SASL is used, or do so again; nothing may be in flight. AuthenticationFailed if refused."""
        if not self._login:
            return
        from kafka_lagoon.client.authentication import authenticate  # noqa: PLC0415  not needed without SASL

        def ask(api: Api[Any, R], request: object) -> R:
            return self._ask(api, self.version(api, None), request, deadline, "authenticate")

        lifetime_ms = _driven(authenticate(self._login(self._host), self.address), ask)
        share = random.uniform(*_RENEWED_AT)  # noqa: S311  jitter, not a secret
        wait_s = max(lifetime_ms / 1000 * share, _RENEWED_AFTER_S)
        self._renew_at = self._clock.monotonic() + wait_s if lifetime_ms > 0 else None  # as in Kafka's client

    def confirm_broker(self, deadline: Deadline) -> None:
        """ConnectionFailed if another broker listens there than the one of `node_id`, which brokers say from Kafka 4.4 on.

        Nothing may be in flight.
        """
        offered = self._offered.get(API_VERSIONS.key)
        if self._meant() != _ANY and offered and offered.highest >= BY_BROKER.lowest:
            self._negotiate(deadline)
        self.is_confirmed = True

    def interrupt(self) -> None:
        """End an exchange that another thread waits for, with ConnectionLost there."""
        self._transport.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _meant(self) -> tuple[str | None, int]:
        """The cluster and the broker that the connection is meant for, as `negotiate` takes them; none if one is unknown."""
        cluster_id = self._known_cluster()
        return _ANY if cluster_id is None or self.node_id is None else (cluster_id, self.node_id)

    def _negotiate(self, deadline: Deadline) -> ApiVersionsResponse:
        def ask(version: int, request: object) -> ApiVersionsResponse:
            return self._ask(API_VERSIONS, version, request, deadline, "handshake")

        cluster_id, node_id = meant = self._meant()
        response = _driven(negotiate(*meant), ask)
        if meant != _ANY and response.error_code == REBOOTSTRAP_REQUIRED:
            reason = f"broker {node_id} of cluster {cluster_id} does not listen there: correct the broker's address"
            raise ConnectionFailed(self.address, "handshake", reason)
        self._refuse_error(API_VERSIONS, response.error_code)
        if not response.api_keys:  # else no API could be requested, and everything would look absent
            raise ConnectionFailed(self.address, "handshake", "offers no APIs at all")
        self._offered = {api.api_key: Versions(api.min_version, api.max_version) for api in response.api_keys}
        if _VOTE in self._offered and METADATA.key not in self._offered:
            reason = "this is a listener of controllers, not of brokers: correct the port, see bootstrap_servers"
            raise ConnectionFailed(self.address, "handshake", reason)
        return response

    def _confirm(self, cluster_id: str, deadline: Deadline) -> None:
        """ConnectionFailed if the broker is of another cluster, or another broker; ClusterRefused if a bootstrap server is.

        Brokers do not look at the ids of an ApiVersions request before authentication, so it is sent again after it.
        """
        if self._login:
            self.confirm_broker(deadline)
        named = self._cluster_id(deadline)
        if named in ("", None, cluster_id):
            return
        if self.node_id is None:
            raise ClusterRefused(f"{self.address}: was cluster {cluster_id} and is now cluster {printable_name(named)}")
        reason = f"a broker of cluster {printable_name(named)} listens there, not of cluster {cluster_id}"
        raise ConnectionFailed(self.address, "handshake", f"{reason}: correct the broker's address")

    def _cluster_id(self, deadline: Deadline) -> str | None:
        """The id of the broker's cluster: from Metadata where DescribeCluster is not offered (before Kafka 2.8) or refused."""
        if DESCRIBE_CLUSTER.key in self._offered:
            version = self.version(DESCRIBE_CLUSTER, None)
            describe = DescribeClusterRequest(include_cluster_authorized_operations=False)
            described = self._ask(DESCRIBE_CLUSTER, version, describe, deadline, "handshake")
            if not described.error_code and described.cluster_id:
                return described.cluster_id
        request = MetadataRequest(topics=(), allow_auto_topic_creation=False)
        answer = self._ask(METADATA, self.version(METADATA, CREATES_NOTHING), request, deadline, "handshake")
        self._refuse_error(METADATA, answer.error_code)
        return answer.cluster_id

    def _refuse_error(self, api: Api[Any, Any], code: int) -> None:
        if code:
            raise BrokerError(code, error_code(code).name, api.name, self.address)

    def _ask(self, api: Api[Any, R], version: int, request: object, deadline: Deadline, phase: str) -> R:
        """One request and its response, while the connection is opened or authenticated again."""
        outgoing = bytearray(self.frame(api, version, request))
        sent_at = self._clock.monotonic()
        try:
            answers: list[ReceivedResponse] = []
            while not answers:
                answers += self.move(outgoing, deadline, phase)
        except FrameTooLarge as cause:
            hint = "; see security_protocol" if cause.looks_like == "TLS" else ""
            raise ConnectionFailed(self.address, phase, f"{cause}{hint}") from cause
        except WireError as cause:
            raise ConnectionFailed(self.address, phase, f"not Kafka: {cause}") from cause
        self.record(answers[0], sent_at)
        if fault := impossible_value(answers[0].message):
            raise ConnectionFailed(self.address, phase, f"not Kafka: {fault}") from fault
        response: R = answers[0].message
        return response

    def _sent(self, api: Api[Any, Any], version: int, frame: bytearray) -> bytearray:
        self._pace.spent(len(frame))
        self._request_stats.sent((api.name, self.node_id), version, len(frame), self.in_flight)
        return frame

    def _hint(self) -> str:
        """Likely causes when the broker closes a new connection.

        Listeners that require SASL answer ApiVersions, and close the connection on any other request. A broker closes a
        connection above its quota after a delay, without an answer (KIP-612).
        """
        if self._is_used:
            return ""
        if not self._offered:
            return "" if self._settings.uses_tls() else _WITHOUT_ANSWER
        if self._settings.uses_sasl() or self._request_stats.has_answer_of(_OF_CONNECTIONS):
            return ""  # an answer of any broker shows that the listener wants nothing before requests
        return ", after the first request, as listeners do that want SASL; see security_protocol"


def _driven(requests: Generator[tuple[Any, Any], Any, R], ask: Callable[[Any, Any], Any]) -> R:
    """The result of a generator that yields requests, when `ask` gets their responses."""
    try:
        request = next(requests)
        while True:
            request = requests.send(ask(*request))
    except StopIteration as end:
        result: R = end.value
        return result
