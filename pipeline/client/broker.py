"""One broker: requests in, answers out, over one connection that is opened when it is needed.

Guards one rule: a connection that surprised us is closed with the first cause as the answer to everything in flight;
transport failures are retried here and nowhere else, and only for requests that may be repeated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pipeline.client.connection import Answer, Connection, choose_version, negotiate
from pipeline.client.deadline import Clock, Deadline, backoff
from pipeline.client.journal import Exchange, Journal, Sent
from pipeline.client.transport import Transport
from pipeline.errors import (
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    FrameTooLarge,
    PipelineError,
    UnsupportedVersion,
    WireError,
)
from pipeline.kafka_settings import KafkaSettings
from pipeline.protocol.error_codes import error_code
from pipeline.protocol.messages.api_versions import API_VERSIONS, ApiVersionsResponse
from pipeline.wire.schema import Api, Versions

R = TypeVar("R")

# Java's max.in.flight.requests.per.connection. The broker works on one request of a connection at a time, so more would
# only fill its socket buffer.
_PIPELINED = 5
_ATTEMPTS = 3


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


@dataclass(slots=True)
class _Session:
    transport: Transport
    connection: Connection
    versions: ApiVersionsResponse | None = None
    offered: dict[int, Versions] = field(default_factory=dict)
    quiet_until: float = 0.0  # monotonic; KIP-219: the broker answers a throttled request at once and we wait


class Broker:
    """A broker at an address. `node_id` is None until the cluster has said who listens there."""

    def __init__(
        self,
        node_id: int | None,
        host: str,
        port: int,
        settings: KafkaSettings,
        clock: Clock,
        journal: Journal,
    ) -> None:
        self.node_id, self.host, self.port = node_id, host, port
        self._settings, self._clock, self._journal = settings, clock, journal
        self._session: _Session | None = None
        self.failing = False  # the last attempt failed: ask once and do not insist
        self._interrupted = False

    @property
    def versions(self) -> ApiVersionsResponse | None:
        """What the broker said it speaks, None while there is no connection."""
        return self._session.versions if self._session else None

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
        pauses = backoff(self._settings.retry_backoff_ms, self._settings.retry_backoff_max_ms)
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

    def tell(self, api: Api[Any, Any], request: object, deadline: Deadline, within: Versions | None = None) -> None:
        """Send a request that has no answer (Produce with acks=0); returns when its last byte has left."""
        try:
            session = self._connected(deadline)
            version = choose_version(api, session.offered, self.node_id, within)
            self._obey_throttle(session, deadline)
            frame = session.connection.tell(api, version, request)
            self._journal.sent.append(Sent(api.name, self.node_id, len(frame)))
            outgoing = bytearray(frame)
            while outgoing:
                list(self._move(session, outgoing, deadline, "exchange"))  # an answer is a CorrelationMismatch
        except (ConnectionFailed, WireError, BrokerError) as error:
            self._fail(error, [])
            raise

    def interrupt(self) -> None:
        """Make a request that another thread waits for end now, with ConnectionLost; `close` must follow."""
        self._interrupted = True
        if session := self._session:
            session.transport.interrupt()

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._interrupted = False
        self._disconnect()

    def _disconnect(self) -> None:
        if self._session:
            self._session.transport.close()
            self._session = None

    def _fail(self, error: PipelineError, replies: list[Reply | None]) -> None:
        self._disconnect()
        self.failing = not self._interrupted
        for i in _open(replies):
            replies[i] = Reply(error, self._clock.now_ms())

    def _run(self, calls: Sequence[Call], order: list[int], replies: list[Reply | None], deadline: Deadline) -> None:
        """Send the calls of `order`, at most a few ahead of the answers, and put the answers into `replies`."""
        session = self._connected(deadline)
        ready = [(i, v) for i in order if (v := self._version(calls[i], session, replies, i)) is not None]
        outgoing, answered = bytearray(), 0
        sent_at: list[float] = []
        while answered < len(ready):
            self._obey_throttle(session, deadline)
            while len(sent_at) < len(ready) and len(sent_at) - answered < _PIPELINED:
                i, version = ready[len(sent_at)]
                outgoing += self._frame(session, calls[i].api, version, calls[i].request)
                sent_at.append(self._clock.monotonic())
            for answer in self._move(session, outgoing, deadline, "exchange"):
                replies[ready[answered][0]] = Reply(answer.message, self._clock.now_ms())
                self._record(session, answer, sent_at[answered])
                answered += 1

    def _version(self, call: Call, session: _Session, replies: list[Reply | None], i: int) -> int | None:
        try:
            return choose_version(call.api, session.offered, self.node_id, call.within)
        except UnsupportedVersion as error:
            replies[i] = Reply(error, self._clock.now_ms())
            return None

    def _frame(self, session: _Session, api: Api[Any, Any], version: int, request: object) -> bytes:
        frame = session.connection.send(api, version, request)
        self._journal.sent.append(Sent(api.name, self.node_id, len(frame)))
        return frame

    def _move(self, session: _Session, outgoing: bytearray, deadline: Deadline, phase: str) -> Iterator[Answer]:
        patience = deadline.within(self._settings.request_timeout_ms)
        if self._interrupted:
            raise ConnectionLost(
                session.transport.address, phase, "interrupted", in_flight=session.connection.in_flight
            )
        try:
            with session.connection.room() as room:
                count = session.transport.exchange(outgoing, room, patience, phase)
            yield from session.connection.filled(count)
        except ConnectionLost as lost:
            in_flight = session.connection.in_flight
            raise ConnectionLost(lost.address, lost.phase, lost.reason, in_flight) from lost

    def _obey_throttle(self, session: _Session, deadline: Deadline) -> None:
        wait = session.quiet_until - self._clock.monotonic()
        if wait > 0 and not session.connection.in_flight and not deadline.pause(wait):
            raise DeadlinePassed(session.transport.address, "throttled", deadline.budget_ms)

    def _record(self, session: _Session, answer: Answer, sent_at: float) -> None:
        now = self._clock.monotonic()
        throttle_ms = getattr(answer.message, "throttle_time_ms", 0)
        session.quiet_until = max(session.quiet_until, now + throttle_ms / 1000)
        request = answer.request
        self._journal.exchanges.append(
            Exchange(
                api=request.api.name,
                api_version=request.version,
                node_id=self.node_id,
                response_bytes=answer.size,
                at=now,
                elapsed_ms=(now - sent_at) * 1000,
                throttle_ms=throttle_ms,
            )
        )

    def _connected(self, deadline: Deadline) -> _Session:
        """The open session, or a new one: connect, then agree on versions."""
        if self._session:
            return self._session
        patience = deadline.within(self._settings.socket_connection_setup_timeout_ms)
        transport = Transport.connect(self.host, self.port, patience)
        try:
            connection = Connection(self._settings.client_id, self._settings.receive_message_max_bytes)
            session = _Session(transport, connection)
            versions = self._negotiate(session, patience)
        except BaseException:
            transport.close()
            raise
        session.versions = versions
        session.offered = {one.api_key: Versions(one.min_version, one.max_version) for one in versions.api_keys}
        self._session = session
        return session

    def _negotiate(self, session: _Session, deadline: Deadline) -> ApiVersionsResponse:
        conversation = negotiate()
        version, request = next(conversation)
        try:
            while True:
                version, request = conversation.send(self._handshake(session, version, request, deadline))
        except StopIteration as end:
            response: ApiVersionsResponse = end.value
        if response.error_code:
            raise BrokerError(
                response.error_code, error_code(response.error_code).name, API_VERSIONS.name, session.transport.address
            )
        return response

    def _handshake(self, session: _Session, version: int, request: object, deadline: Deadline) -> ApiVersionsResponse:
        outgoing = bytearray(self._frame(session, API_VERSIONS, version, request))
        sent_at = self._clock.monotonic()
        try:
            answers: list[Answer] = []
            while not answers:
                answers += self._move(session, outgoing, deadline, "handshake")
        except FrameTooLarge as cause:
            hint = "; see security_protocol" if cause.looks_like == "TLS" else ""
            raise ConnectionFailed(session.transport.address, "handshake", f"{cause}{hint}") from cause
        except WireError as cause:
            raise ConnectionFailed(session.transport.address, "handshake", f"not Kafka: {cause}") from cause
        self._record(session, answers[0], sent_at)
        response: ApiVersionsResponse = answers[0].message
        return response


def _open(replies: Sequence[Reply | None]) -> list[int]:
    """The calls that a new connection may still answer."""
    return [i for i, reply in enumerate(replies) if reply is None or isinstance(reply.outcome, ConnectionFailed)]


def _worth_another(error: PipelineError) -> bool:
    """Whether the same bytes to the same broker may fare better: it refused or dropped us, or was slow."""
    if isinstance(error, ConnectionFailed):
        return error.phase != "handshake" and not isinstance(error, DeadlinePassed)
    return False


def may_have_arrived(error: PipelineError) -> bool:
    """Whether the broker may have got, and done, what we got no answer to."""
    return isinstance(error, ConnectionFailed) and error.phase == "exchange"
