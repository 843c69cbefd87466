"""Encrypts an open connection by TLS, and moves bytes over it."""

import select
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka_lagoon.client import tls_faults
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed, ConnectionLost, DeadlinePassed
from kafka_lagoon.frozen import frozen

if TYPE_CHECKING:
    import socket  # noqa: TID251  it opens none

_TLS_RECORD = 1 << 14  # OpenSSL takes and gives one record at a time


@frozen
class TlsSession:
    """The version of TLS, and the peer's chain of certificates as `ssl` describes them, its own first."""

    version: str
    chain: Sequence[Mapping[str, Any]]


class TlsStream:
    """A stream with TLS. It tries first and then waits: poll does not see what OpenSSL has read already."""

    def __init__(self, stream: ssl.SSLSocket, address: str) -> None:
        self._socket, self._address = stream, address
        self._poll = select.poll()
        self._wants = 0  # either direction may wait for either: TLS has messages of its own
        self._end: OSError | EOFError | None = None
        self._has_received = False

    def move(self, outgoing: bytearray, room: memoryview, wait_ms: float) -> int | None:
        """Move bytes in whichever direction is ready; see `_Stream` of transport.py."""
        try:
            received = self._try(outgoing, room)
            if received is None and _wait(self._poll, self._socket, self._wants, wait_ms):
                received = self._try(outgoing, room) or 0
        except ssl.SSLError as cause:
            reason = tls_faults.alert(cause) if self._has_received else tls_faults.first_words(cause)
            if reason is None:
                raise
            raise ConnectionFailed(self._address, "tls", reason) from cause
        self._has_received |= bool(received)
        return received

    def reason(self, error: OSError) -> str:
        """The reason of an error of `move` in one line."""
        return tls_faults.other(error) if isinstance(error, ssl.SSLError) else error.strerror or str(error)

    def tls_session(self) -> TlsSession:
        """The encryption, and the certificates that were verified."""
        chain: Sequence[Mapping[str, Any]] = ()
        with suppress(AttributeError, ValueError, ssl.SSLError):
            verified = self._socket._sslobj.get_verified_chain()  # type: ignore[attr-defined]  # noqa: SLF001  public from 3.13 on
            chain = [certificate.get_info() for certificate in verified or ()]
        return TlsSession(version=self._socket.version() or "TLS", chain=chain or [self._socket.getpeercert() or {}])

    def close(self) -> None:
        """Send close_notify if that can be done at once, and close."""
        with suppress(OSError, ValueError):  # nothing depends on it, and the peer may be gone
            self._socket.unwrap()
        self._socket.close()

    def _try(self, outgoing: bytearray, room: memoryview) -> int | None:
        """Number of bytes received, 0 when some were only sent, None when nothing moved.

        Reads first: the bytes that a peer sent before it closed tell the reason.
        """
        self._wants, before = 0, len(outgoing)
        received = self._pull(room)
        try:
            self._push(outgoing)
        except OSError as cause:
            received = received or self._pull(room)
            if not received:
                raise
            self._end = cause
        return received if received or len(outgoing) < before else None

    def _pull(self, room: memoryview) -> int:
        """Fill the room with what has arrived: a TLS record at a time, so that one wait serves many records.

        If bytes were received before the end or an error, the next call raises that.
        """
        position = 0
        try:
            while not self._end and position < len(room):
                if count := self._socket.recv_into(room[position:]):
                    position += count
                else:
                    self._end = EOFError()
        except ssl.SSLWantReadError:
            self._wants |= select.POLLIN
        except ssl.SSLWantWriteError:
            self._wants |= select.POLLOUT
        except OSError as cause:
            self._end = cause
        if self._end and not position:
            raise self._end
        return position

    def _push(self, outgoing: bytearray) -> None:
        try:
            while outgoing:
                del outgoing[: self._socket.send(outgoing[:_TLS_RECORD])]
        except ssl.SSLWantWriteError:
            self._wants |= select.POLLOUT
        except ssl.SSLWantReadError:
            self._wants |= select.POLLIN


def server_name(host: str) -> str:
    """The name that a broker's certificate must have: the advertised host, without the dot that may end a full name."""
    return host.rstrip(".").partition("%")[0]  # fe80::1%eth0 is fe80::1 on that network


def secured(stream: "socket.socket", tls: ssl.SSLContext, host: str, address: str, deadline: Deadline) -> ssl.SSLSocket:
    """The connection, which does not block, with TLS in it; closed when that fails."""
    name = server_name(host)
    try:
        secured = tls.wrap_socket(stream, server_hostname=name, do_handshake_on_connect=False)
    except ValueError as cause:
        stream.close()
        raise ConnectionFailed(address, "tls", f"{name!r} is not a name that a certificate can have") from cause
    except OSError as cause:  # wrapping fails if the peer has already reset the connection
        stream.close()
        raise ConnectionLost(address, "tls", tls_faults.CLOSED, in_flight=0) from cause
    try:
        _shake_hands(secured, name, address, deadline)
    except BaseException:
        secured.close()
        raise
    return secured


def _shake_hands(stream: ssl.SSLSocket, name: str, address: str, deadline: Deadline) -> None:
    poll = select.poll()
    while True:
        try:
            return stream.do_handshake()
        except ssl.SSLWantReadError:
            wants = select.POLLIN
        except ssl.SSLWantWriteError:
            wants = select.POLLOUT
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError) as cause:
            raise ConnectionLost(address, "tls", tls_faults.CLOSED, in_flight=0) from cause
        except ssl.SSLError as cause:
            raise ConnectionFailed(address, "tls", tls_faults.refusal(cause, name, stream)) from cause
        except OSError as cause:  # such as ENOTCONN after a reset, or EHOSTUNREACH
            raise ConnectionLost(address, "tls", cause.strerror or str(cause), in_flight=0) from cause
        if not _wait(poll, stream, wants, deadline.remaining() * 1000):
            raise DeadlinePassed(address, "tls", deadline.budget_ms)


def _wait(poll: select.poll, stream: ssl.SSLSocket, events: int, wait_ms: float) -> bool:
    poll.register(stream, events)
    return bool(poll.poll(wait_ms))
