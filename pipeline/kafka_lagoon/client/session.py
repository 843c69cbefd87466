"""An address and settings in, an open connection whose broker knows our versions and us out.

Guards one rule: nothing is asked before the connection is as safe as the settings want it: TLS first, then versions, then
who we are; and who we are is said anew before the broker forgets it (KIP-368).
"""

import random
import ssl
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from kafka_lagoon.client.connection import Answer, Connection, choose_version, negotiate
from kafka_lagoon.client.policy import vet
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import (
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    FrameTooLarge,
    WireError,
)
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, ApiVersionsResponse
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.wire.schema import Api, Versions

R = TypeVar("R")

# Java's max.in.flight.requests.per.connection. The broker works on one request of a connection at a time, so more would
# only fill its socket buffer.
_PIPELINED = 5
# Brokers before 3.3 let what they have read ahead of a TLS connection lie for 300 ms (KAFKA-13559). This version of Fetch
# came with 3.5; those between lose nothing but the pipelining.
_READS_ON = 14
_RENEWED_AT = (0.85, 0.95)  # of the session's life, as Kafka's own clients do, so that not all come back at once
_RENEWED_AFTER_S = 1.0  # brokers refuse to be told more often; too late is no harm, they wait for the next request


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the connections to a cluster have in common: `tls` is None without it, `request_stats` is where all is noted."""

    settings: KafkaSettings
    tls: ssl.SSLContext | None
    clock: Clock
    request_stats: RequestStats


class Session:
    """One connection, from `open` to its first surprise."""

    def __init__(self, transport: Transport, node_id: int | None, host: str, access: Access) -> None:
        self.address = transport.address
        self.node_id = node_id  # None until the cluster has said who listens there
        self._transport, self._host = transport, host
        self._settings, self._clock, self._request_stats = access.settings, access.clock, access.request_stats
        self._connection = Connection(self._settings.client_id, self._settings.receive_message_max_bytes)
        self.versions: ApiVersionsResponse | None = None  # what the broker said it speaks
        self._offered: dict[int, Versions] = {}
        self._is_secure = access.tls is not None
        self._is_used = False  # something was answered besides what opening takes
        self._quiet_until = 0.0  # monotonic; KIP-219: the broker answers a throttled request at once and we wait
        self._renew_at: float | None = None  # monotonic

    @classmethod
    def open(
        cls,
        node_id: int | None,
        host: str,
        port: int,
        access: Access,
        deadline: Deadline,
    ) -> "Session":
        """A new connection on which anything may be asked."""
        is_told = (host, port) in access.settings.addresses()  # by whoever wrote the settings, not by a broker
        transport = Transport.connect(
            host, port, deadline, access.tls, None if is_told else partial(vet, access.settings)
        )
        try:
            session = cls(transport, node_id, host, access)
            session.versions = session._agree(deadline)
            if access.settings.uses_sasl():
                session.authenticate(deadline)
        except BaseException:
            transport.close()
            raise
        return session

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answer."""
        return self._connection.in_flight

    @property
    def most_in_flight(self) -> int:
        """How many requests may wait for their answer."""
        told = self._offered.get(FETCH.key)
        return 1 if self._is_secure and (told is None or told.highest < _READS_ON) else _PIPELINED

    @property
    def must_renew(self) -> bool:
        """Whether to authenticate anew before anything else is sent."""
        return self._renew_at is not None and self._clock.monotonic() >= self._renew_at

    def version(self, api: Api[Any, Any], within: Versions | None) -> int:
        """The version to speak; UnsupportedVersion when there is none in common."""
        broker = f"the broker at {self.address}" if self.node_id is None else f"broker {self.node_id}"
        return choose_version(api, self._offered, broker, within)

    def frame(self, api: Api[Any, Any], version: int, request: object) -> bytes:
        """The bytes of a request, which from now on waits for its answer."""
        return self._sent(api, version, self._connection.frame(api, version, request))

    def unanswered_frame(self, api: Api[Any, Any], version: int, request: object) -> bytes:
        """The bytes of a request that brokers do not answer: Produce with acks=0."""
        return self._sent(api, version, self._connection.unanswered_frame(api, version, request))

    def move(self, outgoing: bytearray, deadline: Deadline, phase: str = "exchange") -> Iterator[Answer]:
        """Move bytes both ways once; the answers that are complete with them."""
        deadline = deadline.within(self._settings.request_timeout_ms)
        try:
            with self._connection.room() as room:
                count = self._transport.exchange(outgoing, room, deadline, phase)
            yield from self._connection.filled(count)
        except ConnectionLost as lost:
            told = ConnectionLost(lost.address, lost.phase, lost.reason, self.in_flight)
            told.hint = lost.hint or self._hint()
            raise told from lost

    def obey_throttle(self, deadline: Deadline) -> None:
        """Wait as long as the broker's last answers wanted, unless answers are still to come."""
        wait = self._quiet_until - self._clock.monotonic()
        if wait > 0 and not self.in_flight and not deadline.pause(wait):
            raise DeadlinePassed(self.address, "throttled", deadline.budget_ms)

    def record(self, answer: Answer, sent_at: float) -> None:
        """Note an answer in the request_stats, and how long it wants us to be quiet."""
        self._is_used = self.versions is not None
        now = self._clock.monotonic()
        throttle_ms = getattr(answer.message, "throttle_time_ms", 0)
        self._quiet_until = max(self._quiet_until, now + throttle_ms / 1000)
        self._request_stats.answered((answer.request.api.name, self.node_id), answer.size, sent_at, now, throttle_ms)

    def authenticate(self, deadline: Deadline) -> None:
        """Say who we are, for the first time or anew; nothing may be in flight. AuthenticationFailed when refused."""
        from kafka_lagoon.client.authentication import authenticate  # noqa: PLC0415  most verbs need none of this
        from kafka_lagoon.client.sasl.mechanism import mechanism_for  # noqa: PLC0415

        def ask(api: Api[Any, R], request: object) -> R:
            return self._ask(api, self.version(api, None), request, deadline, "authenticate")

        mechanism = mechanism_for(self._settings, self._host, self._clock)
        lifetime_ms = _converse(authenticate(mechanism, self.address), ask)
        share = random.uniform(*_RENEWED_AT)  # noqa: S311  jitter, not a secret
        rest = max(lifetime_ms / 1000 * share, _RENEWED_AFTER_S)
        self._renew_at = self._clock.monotonic() + rest if lifetime_ms else None

    def interrupt(self) -> None:
        """End an exchange that another thread waits in, with ConnectionLost there."""
        self._transport.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _agree(self, deadline: Deadline) -> ApiVersionsResponse:
        def ask(version: int, request: object) -> ApiVersionsResponse:
            return self._ask(API_VERSIONS, version, request, deadline, "handshake")

        response = _converse(negotiate(), ask)
        if response.error_code:
            raise BrokerError(
                response.error_code, error_code(response.error_code).name, API_VERSIONS.name, self.address
            )
        self._offered = {one.api_key: Versions(one.min_version, one.max_version) for one in response.api_keys}
        return response

    def _ask(self, api: Api[Any, R], version: int, request: object, deadline: Deadline, phase: str) -> R:
        """One request and its answer, while the connection is being opened or renewed."""
        outgoing = bytearray(self.frame(api, version, request))
        sent_at = self._clock.monotonic()
        try:
            answers: list[Answer] = []
            while not answers:
                answers += self.move(outgoing, deadline, phase)
        except FrameTooLarge as cause:
            hint = "; see security_protocol" if cause.looks_like == "TLS" else ""
            raise ConnectionFailed(self.address, phase, f"{cause}{hint}") from cause
        except WireError as cause:
            raise ConnectionFailed(self.address, phase, f"not Kafka: {cause}") from cause
        self.record(answers[0], sent_at)
        response: R = answers[0].message
        return response

    def _sent(self, api: Api[Any, Any], version: int, frame: bytes) -> bytes:
        self._request_stats.sent((api.name, self.node_id), version, len(frame))
        return frame

    def _hint(self) -> str:
        """What a connection that is dropped at once is a sign of.

        Listeners that want SASL agree on versions, and then drop whoever asks anything else.
        """
        if self._is_used:
            return ""
        if not self._offered:
            return "" if self._settings.uses_tls() else ", as some listeners do that want TLS; see security_protocol"
        if self._settings.uses_sasl():
            return ""
        return ", after the first request, as listeners do that want SASL; see security_protocol"


def _converse(conversation: Generator[tuple[Any, Any], Any, R], ask: Callable[[Any, Any], Any]) -> R:
    """What a conversation comes to when each of its questions is asked."""
    try:
        question = next(conversation)
        while True:
            question = conversation.send(ask(*question))
    except StopIteration as end:
        result: R = end.value
        return result
