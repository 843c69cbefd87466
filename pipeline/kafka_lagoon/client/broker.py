"""Sends requests to one broker, over one connection that is opened when it is needed.

A connection is closed after anything unexpected, and every request in flight gets the same error. Requests that a lost
connection left unanswered are sent again here, unless they must arrive only once. A response that is too large is an error of
its own request only.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

from kafka_lagoon.client.connection import ReceivedResponse
from kafka_lagoon.client.impossible_values import impossible_value
from kafka_lagoon.client.policy import admit
from kafka_lagoon.client.session import Access, Session
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    ConnectionLost,
    DeadlinePassed,
    EncodeError,
    FrameTooLarge,
    PipelineError,
    TokenUnavailable,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.wire.schema import Api, Versions

R = TypeVar("R")

_ATTEMPTS = 3
_ENOUGH = 1 << 18  # bytes to be sent: more requests are only made when less than these are left
_BEFORE_LOGIN = ("tls", "handshake")
_ADDRESS_PHASES = ("resolve", "connect")  # a failure in these phases concerns the address


@frozen(kw_only=False)
class Call:
    """A request to one broker; `within` narrows its versions, where others mean something else.

    A request with `once` is not sent again after it may have arrived.
    """

    api: Api[Any, Any]
    request: Any
    within: Versions | None = None
    once: bool = False


@frozen(kw_only=False)
class Reply:
    """The response to a call, or the error instead of it, and when it was received (epoch milliseconds)."""

    outcome: Any | PipelineError
    at_ms: int


class Broker:
    """A broker at an address. `node_id` is None for a bootstrap server whose broker is not known yet."""

    def __init__(self, node_id: int | None, host: str, port: int, access: Access) -> None:
        self.node_id, self.host, self.port = node_id, host, port
        self._access = access
        self._session: Session | None = None
        self._opening: Transport | None = None  # of a session that is being opened
        self.failing = False  # the last attempt failed: the next request is tried only once
        self._interrupted = False
        self.quiet_until = 0.0  # of the last connection: brokers throttle clients, and not connections

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    @property
    def versions(self) -> ApiVersionsResponse | None:
        """The broker's ApiVersions response, None while there is no connection."""
        return self._session.versions if self._session else None

    def assign_node_id(self, node_id: int) -> None:
        """Set the id of the broker that has this address; the open connection stays, and is asked before its next request."""
        self.node_id = node_id
        if self._session:
            self._session.node_id, self._session.is_confirmed = node_id, False

    def replace(self, former: "Broker") -> None:
        """Wait for the throttle time of the same broker at its former address, which is closed."""
        self.quiet_until = max(self.quiet_until, former.quiet_until)
        if self._session:
            self._session.quiet_until = max(self._session.quiet_until, self.quiet_until)

    def open(self, deadline: Deadline) -> None:
        """Open a connection unless there is one; raises the error of one attempt."""
        try:
            self._opened(deadline)
        except (ConnectionFailed, WireError, BrokerError) as error:
            self._fail(error, [], set())
            raise

    def ask(self, api: Api[Any, R], request: object, deadline: Deadline, within: Versions | None = None) -> R:
        """The response to one request; raises the error if there is none."""
        (reply,) = self.ask_all([Call(api, request, within)], deadline)
        if isinstance(reply.outcome, PipelineError):
            raise reply.outcome
        answer: R = reply.outcome
        return answer

    def ask_all(self, calls: Sequence[Call], deadline: Deadline) -> list[Reply]:
        """The responses to several requests, pipelined; a call that failed has its error in its place.

        Requests that a lost connection left unanswered are sent again. That does no harm where an API only reads, or where
        the broker recognises a repeated request. Other calls must be sent `once`.
        """
        replies: list[Reply | None] = [None] * len(calls)
        sent: set[int] = set()  # positions of calls that may have arrived
        settings = self._access.settings
        pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        attempts = 1 if self.failing else _ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                while not self._run(calls, replies, sent, deadline):
                    self._disconnect()  # a response was too large: at least one more request has its error now
                self.failing = False
                break
            except (ConnectionFailed, WireError, BrokerError) as error:
                self._fail(error, replies, sent)
                may_retry = _may_succeed_again(error) or self._has_other_address(error)
                may_retry = may_retry and attempt < attempts and not self._interrupted
                may_retry = may_retry and not any(calls[i].once and i in sent for i in _open(replies))
                if not may_retry or not deadline.pause(next(pauses)):
                    break
            except BaseException:
                # After Ctrl-C, for example: the next request would get the answer that is still on its way.
                self._disconnect()
                raise
        return [reply for reply in replies if reply is not None]

    def send_unanswered(
        self, api: Api[Any, Any], request: object, deadline: Deadline, within: Versions | None = None
    ) -> None:
        """Send a request that has no response (Produce with acks=0); returns when its last byte has been sent."""
        try:
            self._ready(deadline).keep_pace(deadline)
            session = self._ready(deadline)  # once more: the session may have expired during the wait
            version = session.version(api, within)
            outgoing = bytearray(session.unanswered_frame(api, version, request))
            while outgoing:
                list(self._move(session, outgoing, deadline))  # a response is a CorrelationMismatch
        except (ConnectionFailed, WireError, BrokerError) as error:
            self._fail(error, [], set())
            raise
        except BaseException:
            self._disconnect()  # after Ctrl-C, for example: a part of the request may have been sent
            raise

    def interrupt(self) -> None:
        """End a request that another thread waits for, with ConnectionLost there; `close` must follow."""
        self._interrupted = True
        if stream := self._session or self._opening:
            stream.interrupt()

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._interrupted = False
        self._disconnect()

    def _disconnect(self) -> None:
        if self._session:
            self.quiet_until = self._session.quiet_until
            self._session.close()
            self._session = None

    def _fail(self, error: PipelineError, replies: list[Reply | None], sent: set[int]) -> None:
        self._disconnect()
        self.failing = not self._interrupted
        for i in _open(replies):
            earlier = replies[i]
            if earlier is None or not may_have_arrived(earlier.outcome):  # a request that may have arrived stays so
                replies[i] = Reply(error if i in sent else _before_sending(error), self._access.clock.now_ms())

    def _run(self, calls: Sequence[Call], replies: list[Reply | None], sent: set[int], deadline: Deadline) -> bool:
        """Send the open calls, with at most a few unanswered, and put the responses into `replies`.

        False after a response that is too large: it ends the connection, and the others need another one.
        """
        session, clock = self._ready(deadline), self._access.clock
        ready = [(i, v) for i in _open(replies) if (v := self._version(calls[i], session, replies, i)) is not None]
        outgoing, answered = bytearray(), 0
        sent_at: list[float] = []
        while answered < len(ready):
            if not session.in_flight:
                session.keep_pace(deadline)  # before `_ready`: the session may expire during the wait
                session = self._ready(deadline)
            while (
                len(sent_at) < len(ready)
                and session.in_flight < session.max_in_flight
                and len(outgoing) < _ENOUGH
                and not session.must_reauthenticate
            ):
                if session.in_flight:
                    session.keep_pace(deadline)
                if not (frame := self._next_frame(session, calls, ready, len(sent_at), replies)):
                    break
                outgoing += frame
                sent.add(ready[len(sent_at)][0])
                sent_at.append(clock.monotonic())
            try:
                for answer in self._move(session, outgoing, deadline) if session.in_flight else ():
                    outcome = impossible_value(answer.message) or answer.message
                    replies[ready[answered][0]] = Reply(outcome, clock.now_ms())
                    session.record(answer, sent_at[answered])
                    answered += 1
            except FrameTooLarge as error:
                if not error.is_beyond_limit or answered == len(sent_at):
                    raise
                in_flight = [i for i, _ in ready[answered : len(sent_at)]]
                for i in in_flight[:1] + [i for i in in_flight[1:] if calls[i].once]:
                    replies[i] = Reply(error, clock.now_ms())
                return False
        return True

    def _next_frame(
        self,
        session: Session,
        calls: Sequence[Call],
        ready: list[tuple[int, int]],
        position: int,
        replies: list[Reply | None],
    ) -> bytearray | None:
        """The frame of the next call that can be encoded, None if there is none.

        The others are taken out of `ready`: nothing of them is sent, and their error is not that of other calls.
        """
        while position < len(ready):
            i, version = ready[position]
            try:
                return session.frame(calls[i].api, version, calls[i].request)
            except EncodeError as error:
                replies[i] = Reply(error, self._access.clock.now_ms())
                del ready[position]
        return None

    def _version(self, call: Call, session: Session, replies: list[Reply | None], i: int) -> int | None:
        try:
            return session.version(call.api, call.within)
        except UnsupportedVersion as error:
            replies[i] = Reply(error, self._access.clock.now_ms())
            return None

    def _move(self, session: Session, outgoing: bytearray, deadline: Deadline) -> Iterator[ReceivedResponse]:
        if self._interrupted:
            raise ConnectionLost(session.address, "exchange", "interrupted", session.in_flight)
        return session.move(outgoing, deadline)

    def _ready(self, deadline: Deadline) -> Session:
        """The open session or a new one, once it is neither throttled nor expired. Nothing may be in flight."""
        session = self._opened(deadline)
        session.obey_throttle(deadline)
        if session.must_reauthenticate:
            session.authenticate(deadline)
        if not session.is_confirmed:
            session.confirm_broker(deadline)
        return session

    def _opened(self, deadline: Deadline) -> Session:
        """The open session or a new one.

        A session that was closed meanwhile, or was idle for so long that it may have been, is replaced: a request that must not
        be sent twice would be lost on it.
        """
        if self._session and self._session.is_stale and not self._interrupted:
            self._disconnect()
        return self._session or self._connected(
            deadline.within(self._access.settings.socket_connection_setup_timeout_ms)
        )

    def _connected(self, deadline: Deadline) -> Session:
        if self.node_id is not None:
            admit(self._access.settings, self.host, self.port)
        try:
            self._session = Session.open(self.node_id, self.host, self.port, self._access, deadline, self._begin)
        except ConnectionFailed as failure:
            is_ours = failure.address in (self.address, f"[{self.host}]:{self.port}")  # and not of a token endpoint
            if is_ours and failure.phase in _ADDRESS_PHASES and self._is_advertised():
                failure.hint = (
                    f"; broker {self.node_id} advertises this address: make it reachable from here, or change the "
                    f"broker's advertised.listeners"
                )
            raise
        finally:
            self._opening = None
        self._session.quiet_until = max(self._session.quiet_until, self.quiet_until)
        return self._session

    def _begin(self, opened: Transport) -> None:
        """Let `interrupt` end the exchanges that open a session: a frozen broker accepts connections and is silent."""
        self._opening = opened
        if self._interrupted:
            opened.interrupt()

    def _has_other_address(self, error: PipelineError) -> bool:
        """True if an IP address accepted the connection and was silent then, and the host has others to try."""
        is_silent = isinstance(error, DeadlinePassed) and error.phase in _BEFORE_LOGIN
        return is_silent and None in self._access.ip_addresses.get((self.host, self.port), {}).values()

    def _is_advertised(self) -> bool:
        """True if the address is from metadata and not from our settings."""
        return self.node_id is not None and (self.host, self.port) not in self._access.settings.addresses()


def _open(replies: Sequence[Reply | None]) -> list[int]:
    """Positions of the calls that a new connection may still answer."""
    return [i for i, reply in enumerate(replies) if reply is None or isinstance(reply.outcome, ConnectionFailed)]


def _may_succeed_again(error: PipelineError) -> bool:
    """True if it may help to send the same bytes to the same broker again: it refused or closed the connection.

    So it may if a token endpoint does not work for now. It does not help after a deadline, or where a certificate or a
    password is the cause. A broker that closes a connection before it answers ApiVersions may want TLS, or may be starting,
    stopping or busy, and no credentials were sent until then.
    """
    if isinstance(error, DeadlinePassed | AddressRefused | AuthenticationFailed):
        return False
    if isinstance(error, ConnectionLost | TokenUnavailable):
        return True
    return isinstance(error, ConnectionFailed) and error.phase in (*_ADDRESS_PHASES, "exchange")


def may_have_arrived(error: object) -> bool:
    """True if the broker may have received, and processed, a request without an answer that can be read."""
    if not isinstance(error, PipelineError) or error.is_unsent:
        return False
    if isinstance(error, WireError):
        return not isinstance(error, EncodeError)
    return isinstance(error, ConnectionFailed) and error.phase == "exchange"


def _before_sending(error: PipelineError) -> PipelineError:
    """The error of a call that still waited to be sent when the connection failed during the calls before it."""
    if not may_have_arrived(error):
        return error
    unsent = copy(error)
    unsent.is_unsent = True
    return unsent
