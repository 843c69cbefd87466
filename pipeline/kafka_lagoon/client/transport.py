"""Opens sockets and moves bytes over them, with or without TLS; no other module opens sockets.

Every wait has a deadline, and both directions move at once: a broker stops reading while it waits to write, so a client
that only writes would wait for it forever.
"""

import select
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kafka_lagoon.client import tls_faults
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import AddressRefused, ConnectionFailed, ConnectionLost, DeadlinePassed

Vet: TypeAlias = Callable[[str], str | None]

_CHUNK = 1 << 20
_TLS_RECORD = 1 << 14  # OpenSSL takes and gives one record at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSession:
    """The version of TLS, and the peer's chain of certificates as `ssl` describes them, its own first."""

    version: str
    chain: Sequence[Mapping[str, Any]]


class _Stream(Protocol):
    """Moves bytes in whichever direction is ready, and waits for that at most `wait_ms`.

    Returns how many bytes were received, None when nothing moved in time. EOFError when the peer has closed.
    """

    def move(self, outgoing: bytearray, room: memoryview, wait_ms: float) -> int | None: ...

    def close(self) -> None: ...


class Transport:
    """One open stream to `address`; callers need not know whether it is encrypted."""

    def __init__(self, stream: socket.socket, address: str) -> None:
        stream.setblocking(False)
        self._socket = stream
        self._stream: _Stream = _Secure(stream, address) if isinstance(stream, ssl.SSLSocket) else _Plain(stream)
        self.address = address

    @classmethod
    def connect(
        cls, host: str, port: int, deadline: Deadline, tls: ssl.SSLContext | None = None, vet: Vet | None = None
    ) -> "Transport":
        """A stream to the first of the host's addresses that accepts, through TLS if there is a context for it.

        `vet` returns the reason against a numeric address. ConnectionFailed names the last refusal, or the fault of a
        certificate.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        stream = _first(host, port, address, deadline, vet)
        return cls(_secured(stream, tls, host, address, deadline) if tls else stream, address)

    def exchange(self, outgoing: bytearray, room: memoryview, deadline: Deadline, phase: str) -> int:
        """Move bytes in whichever direction is ready: sent bytes are removed from `outgoing`, received ones put into `room`.

        Waits until something moves and returns how many bytes were received. ConnectionLost when the peer closes,
        DeadlinePassed when nothing moves in time, ConnectionFailed when the peer refuses our certificate: in TLS 1.3 it
        says so only after the handshake.
        """
        try:
            received = self._stream.move(outgoing, room, deadline.remaining() * 1000)
        except EOFError as cause:
            raise ConnectionLost(self.address, phase, "closed by the peer", in_flight=0) from cause
        except ssl.SSLError as cause:
            raise ConnectionLost(self.address, phase, tls_faults.other(cause), in_flight=0) from cause
        except OSError as cause:
            raise ConnectionLost(self.address, phase, cause.strerror or str(cause), in_flight=0) from cause
        if received is None:
            raise DeadlinePassed(self.address, phase, deadline.budget_ms)
        return received

    def tls_session(self) -> TlsSession | None:
        """The encryption of the connection, and the certificates that were verified; None without TLS."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return None
        chain: Sequence[Mapping[str, Any]] = ()
        with suppress(AttributeError, ValueError, ssl.SSLError):
            verified = self._socket._sslobj.get_verified_chain()  # type: ignore[attr-defined]  # noqa: SLF001  public from 3.13 on
            chain = [certificate.get_info() for certificate in verified or ()]
        return TlsSession(version=self._socket.version() or "TLS", chain=chain or [self._socket.getpeercert() or {}])

    def interrupt(self) -> None:
        """End an exchange that another thread waits for, with ConnectionLost there."""
        with suppress(OSError):  # it is closed already, by the peer or by us
            # Not the method of SSLSocket: that throws the TLS state away while the other thread uses it.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the stream; later calls do nothing."""
        self._stream.close()


class _Plain:
    """A stream without TLS."""

    def __init__(self, stream: socket.socket) -> None:
        self._socket = stream
        self._poll = select.poll()

    def move(self, outgoing: bytearray, room: memoryview, wait_ms: float) -> int | None:
        self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if outgoing else 0))
        ready = self._poll.poll(wait_ms)
        if not ready:
            return None
        try:
            if ready[0][1] & select.POLLOUT and outgoing:
                del outgoing[: self._socket.send(memoryview(outgoing)[:_CHUNK].tobytes())]
            if not ready[0][1] & (select.POLLIN | select.POLLHUP | select.POLLERR):
                return 0
            received = self._socket.recv_into(room)
        except BlockingIOError:
            return 0
        if not received:
            raise EOFError
        return received

    def close(self) -> None:
        self._socket.close()


class _Secure:
    """A stream with TLS. It tries first and then waits: poll does not see what OpenSSL has read already."""

    def __init__(self, stream: ssl.SSLSocket, address: str) -> None:
        self._socket, self._address = stream, address
        self._poll = select.poll()
        self._wants = 0  # either direction may wait for either: TLS has messages of its own
        self._end: OSError | EOFError | None = None
        self._has_received = False

    def move(self, outgoing: bytearray, room: memoryview, wait_ms: float) -> int | None:
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


def _first(host: str, port: int, address: str, deadline: Deadline, vet: Vet | None) -> socket.socket:
    """A connection to the first of the host's addresses that accepts."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as cause:
        raise ConnectionFailed(address, "resolve", cause.strerror or str(cause)) from cause
    except ValueError as cause:  # an advertised host can be any text
        raise ConnectionFailed(address, "resolve", "not a host's name") from cause
    refusal: OSError | None = None
    refused: str | None = None
    for family, kind, protocol, _, endpoint in addresses:
        if vet and (refused := vet(str(endpoint[0]))):
            continue
        try:
            return _open(family, kind, protocol, endpoint, deadline)
        except OSError as cause:
            refusal = cause
    if refused and not refusal:
        raise AddressRefused(address, "resolve", refused)
    if isinstance(refusal, TimeoutError):
        raise DeadlinePassed(address, "connect", deadline.budget_ms) from refusal
    reason = (refusal.strerror or str(refusal)) if refusal else "the name has no address"
    raise ConnectionFailed(address, "connect", reason) from refusal


def _open(
    family: socket.AddressFamily, kind: socket.SocketKind, protocol: int, endpoint: object, deadline: Deadline
) -> socket.socket:
    stream = socket.socket(family, kind, protocol)
    try:
        stream.settimeout(max(deadline.remaining(), 0.001))
        stream.connect(endpoint)  # type: ignore[arg-type]
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        stream.close()
        raise
    return stream


def server_name(host: str) -> str:
    """The name that a broker's certificate must have: the advertised host, without the dot that may end a full name."""
    return host.rstrip(".").partition("%")[0]  # fe80::1%eth0 is fe80::1 on that network


def _secured(stream: socket.socket, tls: ssl.SSLContext, host: str, address: str, deadline: Deadline) -> ssl.SSLSocket:
    """The connection with TLS in it; closed when that fails."""
    stream.setblocking(False)
    name = server_name(host)
    try:
        secured = tls.wrap_socket(stream, server_hostname=name, do_handshake_on_connect=False)
    except ValueError as cause:
        stream.close()
        raise ConnectionFailed(address, "tls", f"{name!r} is not a name that a certificate can have") from cause
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
        if not _wait(poll, stream, wants, deadline.remaining() * 1000):
            raise DeadlinePassed(address, "tls", deadline.budget_ms)


def _wait(poll: select.poll, stream: socket.socket, events: int, wait_ms: float) -> bool:
    poll.register(stream, events)
    return bool(poll.poll(wait_ms))
