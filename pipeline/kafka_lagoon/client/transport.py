"""Opens sockets and moves bytes over them, with or without TLS; no other module opens sockets.

Every wait has a deadline, and both directions move at once: a broker stops reading while it waits to write, so a client
that only writes would wait for it forever.
"""

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import AddressRefused, ConnectionFailed, ConnectionLost, DeadlinePassed

if TYPE_CHECKING:  # importing OpenSSL takes longer than a request
    import ssl

    from kafka_lagoon.client.tls_stream import TlsSession

Vet: TypeAlias = Callable[[str], str | None]
# A host's IP addresses: True for the one that worked last, False for those that did not work since then, None for others.
Tried: TypeAlias = dict[str, bool | None]

_CHUNK = 1 << 20
_UNTRIED = (0, 0)


class _Stream(Protocol):
    """Moves bytes in whichever direction is ready, and waits for that at most `wait_ms`.

    Returns how many bytes were received, None when nothing moved in time. EOFError when the peer has closed.
    """

    def move(self, outgoing: bytearray, room: memoryview, wait_ms: float) -> int | None: ...

    def reason(self, error: OSError) -> str:
        """The reason of an error of `move` in one line."""
        ...

    def tls_session(self) -> "TlsSession | None":
        """The encryption, and the certificates that were verified; None without TLS."""

    def close(self) -> None: ...


class Transport:
    """One open stream to `address`; callers need not know whether it is encrypted."""

    def __init__(self, opened: socket.socket, stream: _Stream, address: str, ip_address: str) -> None:
        self._socket, self._stream = opened, stream
        self.address, self.ip_address = address, ip_address

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        deadline: Deadline,
        tls: "ssl.SSLContext | None" = None,
        vet: Vet | None = None,
        tried: Tried | None = None,
    ) -> "Transport":
        """A stream to the first of the host's addresses that accepts, through TLS if there is a context for it.

        `vet` returns the reason against an IP address. `tried` gives their order, and has the one that accepted as one that did
        not work, until the caller knows better: a load balancer also accepts connections for brokers that are away.
        ConnectionFailed names the last refusal, or the fault of a certificate.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        tried = {} if tried is None else tried
        opened, ip_address = _first(host, port, address, deadline, vet, tried)
        tried.pop(ip_address, None)
        tried[ip_address] = False
        opened.setblocking(False)
        if tls is None:
            return cls(opened, _Plain(opened), address, ip_address)
        from kafka_lagoon.client.tls_stream import TlsStream, secured  # noqa: PLC0415  not needed without TLS

        encrypted = secured(opened, tls, host, address, deadline)
        return cls(encrypted, TlsStream(encrypted, address), address, ip_address)

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
        except OSError as cause:
            raise ConnectionLost(self.address, phase, self._stream.reason(cause), in_flight=0) from cause
        if received is None:
            raise DeadlinePassed(self.address, phase, deadline.budget_ms)
        return received

    def tls_session(self) -> "TlsSession | None":
        """The encryption of the connection, and the certificates that were verified; None without TLS."""
        return self._stream.tls_session()

    @property
    def is_closed(self) -> bool:
        """True if the peer has closed or reset the stream, as far as that has arrived."""
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)
        return bool(poll.poll(0))

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

    def reason(self, error: OSError) -> str:
        return error.strerror or str(error)

    def tls_session(self) -> None:
        return None

    def close(self) -> None:
        self._socket.close()


def _first(
    host: str, port: int, address: str, deadline: Deadline, vet: Vet | None, tried: Tried
) -> tuple[socket.socket, str]:
    """A connection to the first of the host's addresses that accepts, and that IP address.

    Each address gets an equal share of the time that is left, so that one without an answer leaves time for the others.
    """
    name = host.encode() if host.isascii() else host  # Python loads its IDNA codec, for 4 ms, for any text
    try:
        addresses = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as cause:
        raise ConnectionFailed(address, "resolve", cause.strerror or str(cause)) from cause
    except ValueError as cause:  # an advertised host can be any text
        raise ConnectionFailed(address, "resolve", "not a host's name") from cause
    reasons = [vet(str(endpoint[0])) if vet else None for *_, endpoint in addresses]
    allowed = [entry for entry, reason in zip(addresses, reasons, strict=True) if not reason]
    if not allowed and any(reasons):
        raise AddressRefused(address, "resolve", reasons[-1] or "")
    ranks = {known: _rank(outcome, i) for i, (known, outcome) in enumerate(list(tried.items()))}
    allowed.sort(key=lambda entry: ranks.get(str(entry[-1][0]), _UNTRIED))
    for *_, endpoint in allowed:
        tried.setdefault(str(endpoint[0]))
    refusal: OSError | None = None
    for i, (family, kind, protocol, _, endpoint) in enumerate(allowed):
        try:
            share_s = deadline.remaining() / (len(allowed) - i)
            return _open(family, kind, protocol, endpoint, share_s), str(endpoint[0])
        except OSError as cause:
            refusal, tried[str(endpoint[0])] = cause, False
    if isinstance(refusal, TimeoutError):
        raise DeadlinePassed(address, "connect", deadline.budget_ms) from refusal
    reason = (refusal.strerror or str(refusal)) if refusal else "the name has no address"
    raise ConnectionFailed(address, "connect", reason) from refusal


def _rank(outcome: bool | None, position: int) -> tuple[int, int]:
    """The order in which IP addresses are connected to; those that are equal stay in the order of the resolver."""
    if outcome is None:
        return _UNTRIED
    return (-1, 0) if outcome else (1, position)


def _open(
    family: socket.AddressFamily, kind: socket.SocketKind, protocol: int, endpoint: object, wait_s: float
) -> socket.socket:
    stream = socket.socket(family, kind, protocol)
    try:
        stream.settimeout(max(wait_s, 0.001))
        stream.connect(endpoint)  # type: ignore[arg-type]
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        stream.close()
        raise
    return stream
