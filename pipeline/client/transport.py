"""Addresses in, byte streams out: the only module that opens sockets.

Guards one rule: every wait has a deadline, and both directions move at once. A broker stops reading while it waits to
write, so a client that only writes would wait for it forever.
"""

import select
import socket
from contextlib import suppress

from pipeline.client.deadline import Deadline
from pipeline.errors import ConnectionFailed, ConnectionLost, DeadlinePassed

_CHUNK = 1 << 20


class Transport:
    """One open stream to `address`. TLS wraps the socket in `connect`; nothing above this module sees which it is."""

    def __init__(self, stream: socket.socket, address: str) -> None:
        stream.setblocking(False)
        self._stream = stream
        self._poll = select.poll()
        self.address = address

    @classmethod
    def connect(cls, host: str, port: int, deadline: Deadline) -> "Transport":
        """A stream to the first of the host's addresses that accepts; ConnectionFailed names the last refusal."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as cause:
            raise ConnectionFailed(address, "resolve", cause.strerror or str(cause)) from cause
        refusal: OSError | None = None
        for family, kind, protocol, _, endpoint in found:
            try:
                return cls(_open(family, kind, protocol, endpoint, deadline), address)
            except OSError as cause:
                refusal = cause
        if isinstance(refusal, TimeoutError):
            raise DeadlinePassed(address, "connect", deadline.budget_ms) from refusal
        reason = (refusal.strerror or str(refusal)) if refusal else "the name has no address"
        raise ConnectionFailed(address, "connect", reason) from refusal

    def exchange(self, outgoing: bytearray, room: memoryview, deadline: Deadline, phase: str) -> int:
        """Move bytes in whichever direction is ready: what was sent leaves `outgoing`, what came is put into `room`.

        Waits until something moves and returns how many bytes came. ConnectionLost when the peer closes, DeadlinePassed
        when nothing moves in time.
        """
        self._poll.register(self._stream, select.POLLIN | (select.POLLOUT if outgoing else 0))
        ready = self._poll.poll(deadline.remaining() * 1000)
        if not ready:
            raise DeadlinePassed(self.address, phase, deadline.budget_ms)
        try:
            if ready[0][1] & select.POLLOUT and outgoing:
                del outgoing[: self._stream.send(memoryview(outgoing)[:_CHUNK].tobytes())]
            if not ready[0][1] & (select.POLLIN | select.POLLHUP | select.POLLERR):
                return 0
            received = self._stream.recv_into(room)
        except BlockingIOError:
            return 0
        except OSError as cause:
            raise ConnectionLost(self.address, phase, cause.strerror or str(cause), in_flight=0) from cause
        if not received:
            raise ConnectionLost(self.address, phase, "closed by the peer", in_flight=0)
        return received

    def interrupt(self) -> None:
        """End an exchange that another thread waits in, with ConnectionLost there."""
        with suppress(OSError):  # it is closed already, by the peer or by us
            self._stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the stream; later calls do nothing."""
        self._stream.close()


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
