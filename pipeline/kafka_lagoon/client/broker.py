"""One broker: requests in, answers out, over one connection that is opened when it is needed.

Guards one rule: a connection that surprised us is closed with the first cause as the answer to everything in flight;
transport failures are retried here and nowhere else, and only for requests that may be repeated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_lagoon.client.connection import Answer
from kafka_lagoon.client.policy import admit
from kafka_lagoon.client.session import Access, Session
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    PipelineError,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.wire.schema import Api, Versions

R = TypeVar("R")

_ATTEMPTS = 3
_ON_THE_WAY = ("resolve", "connect")  # where it is the address that fails


@dataclass(frozen=True, slots=True)
class Call:
    """A request to one broker; `within` narrows the versions where others ask, or answer, another question.

    One that is to arrive `once` is not sent again after it may have arrived.
    """

    api: Api[Any, Any]
    request: Any
    within: Versions | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a call: a response, or the error that kept it from coming, and when (epoch milliseconds)."""

    outcome: Any | PipelineError
    at_ms: int


class Broker:
    """A broker at an address. `node_id` is None until the cluster has said who listens there."""

    def __init__(self, node_id: int | None, host: str, port: int, access: Access) -> None:
        self.node_id, self.host, self.port = node_id, host, port
        self._access = access
        self._session: Session | None = None
        self.failing = False  # the last attempt failed: ask once and do not insist
        self._interrupted = False

    @property
    def versions(self) -> ApiVersionsResponse | None:
        """What the broker said it speaks, None while there is no connection."""
        return self._session.versions if self._session else None

    def assign_node_id(self, node_id: int) -> None:
        """Be known by a number from now on; the open connection stays."""
        self.node_id = node_id
        if self._session:
            self._session.node_id = node_id

    def ask(self, api: Api[Any, R], request: object, deadline: Deadline, within: Versions | None = None) -> R:
        """The answer to one request; raises what kept it from coming."""
        (reply,) = self.ask_all([Call(api, request, within)], deadline)
        if isinstance(reply.outcome, PipelineError):
            raise reply.outcome
        answer: R = reply.outcome
        return answer

    def ask_all(self, calls: Sequence[Call], deadline: Deadline) -> list[Reply]:
        """The answers to several requests, pipelined; a call that failed has its error in its place.

        What a lost connection left open is asked again: that does no harm where an API only reads, or where the broker
        knows what it has done already. Other calls are to be sent `once`.
        """
        replies: list[Reply | None] = [None] * len(calls)
        settings = self._access.settings
        pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        attempts = 1 if self.failing else _ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                self._run(calls, _open(replies), replies, deadline)
                self.failing = False
                break
            except (ConnectionFailed, WireError, BrokerError) as error:
                self._fail(error, replies)
                again = _worth_another(error) and attempt < attempts and not self._interrupted
                again = again and not (may_have_arrived(error) and any(calls[i].once for i in _open(replies)))
                if not again or not deadline.pause(next(pauses)):
                    break
        return [reply for reply in replies if reply is not None]

    def send_unanswered(
        self, api: Api[Any, Any], request: object, deadline: Deadline, within: Versions | None = None
    ) -> None:
        """Send a request that has no answer (Produce with acks=0); returns when its last byte has left."""
        try:
            session = self._ready(deadline)
            version = session.version(api, within)
            outgoing = bytearray(session.unanswered_frame(api, version, request))
            while outgoing:
                list(self._move(session, outgoing, deadline))  # an answer is a CorrelationMismatch
        except (ConnectionFailed, WireError, BrokerError) as error:
            self._fail(error, [])
            raise

    def interrupt(self) -> None:
        """Make a request that another thread waits for end now, with ConnectionLost; `close` must follow."""
        self._interrupted = True
        if session := self._session:
            session.interrupt()

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._interrupted = False
        self._disconnect()

    def _disconnect(self) -> None:
        if self._session:
            self._session.close()
            self._session = None

    def _fail(self, error: PipelineError, replies: list[Reply | None]) -> None:
        self._disconnect()
        self.failing = not self._interrupted
        for i in _open(replies):
            if (before := replies[i]) is None or not may_have_arrived(before.outcome):  # else that is what matters
                replies[i] = Reply(error, self._access.clock.now_ms())

    def _run(self, calls: Sequence[Call], order: list[int], replies: list[Reply | None], deadline: Deadline) -> None:
        """Send the calls of `order`, at most a few ahead of the answers, and put the answers into `replies`."""
        session, clock = self._ready(deadline), self._access.clock
        ready = [(i, v) for i in order if (v := self._version(calls[i], session, replies, i)) is not None]
        outgoing, answered = bytearray(), 0
        sent_at: list[float] = []
        while answered < len(ready):
            if not session.in_flight:
                session = self._ready(deadline)
            while len(sent_at) < len(ready) and session.in_flight < session.most_in_flight and not session.must_renew:
                i, version = ready[len(sent_at)]
                outgoing += session.frame(calls[i].api, version, calls[i].request)
                sent_at.append(clock.monotonic())
            for answer in self._move(session, outgoing, deadline):
                replies[ready[answered][0]] = Reply(answer.message, clock.now_ms())
                session.record(answer, sent_at[answered])
                answered += 1

    def _version(self, call: Call, session: Session, replies: list[Reply | None], i: int) -> int | None:
        try:
            return session.version(call.api, call.within)
        except UnsupportedVersion as error:
            replies[i] = Reply(error, self._access.clock.now_ms())
            return None

    def _move(self, session: Session, outgoing: bytearray, deadline: Deadline) -> Iterator[Answer]:
        if self._interrupted:
            raise ConnectionLost(session.address, "exchange", "interrupted", session.in_flight)
        return session.move(outgoing, deadline)

    def _ready(self, deadline: Deadline) -> Session:
        """The open session, or a new one, as soon as it wants to be asked something; nothing may be in flight."""
        session = self._session or self._connected(
            deadline.within(self._access.settings.socket_connection_setup_timeout_ms)
        )
        session.obey_throttle(deadline)
        if session.must_renew:
            session.authenticate(deadline)
        return session

    def _connected(self, deadline: Deadline) -> Session:
        if self.node_id is not None:
            admit(self._access.settings, self.host, self.port)
        try:
            self._session = Session.open(self.node_id, self.host, self.port, self._access, deadline)
        except ConnectionFailed as failure:
            if failure.phase in _ON_THE_WAY and self._is_advertised():
                failure.hint = (
                    f"; broker {self.node_id} advertises this address: make it reachable from here, or change the "
                    f"broker's advertised.listeners"
                )
            raise
        return self._session

    def _is_advertised(self) -> bool:
        """Whether we have the address from the cluster and not from our settings."""
        return self.node_id is not None and (self.host, self.port) not in self._access.settings.addresses()


def _open(replies: Sequence[Reply | None]) -> list[int]:
    """The calls that a new connection may still answer."""
    return [i for i, reply in enumerate(replies) if reply is None or isinstance(reply.outcome, ConnectionFailed)]


def _worth_another(error: PipelineError) -> bool:
    """Whether the same bytes to the same broker may fare better: it refused or dropped us before it was asked anything.

    A deadline is spent, and neither another protocol, nor a certificate, nor a password gets right by itself.
    """
    if isinstance(error, DeadlinePassed | AddressRefused | AuthenticationFailed):
        return False
    if isinstance(error, ConnectionLost):
        return error.phase != "handshake"
    return isinstance(error, ConnectionFailed) and error.phase in (*_ON_THE_WAY, "exchange")


def may_have_arrived(error: object) -> bool:
    """Whether the broker may have got, and done, what we got no answer to."""
    return isinstance(error, ConnectionFailed) and error.phase == "exchange"
