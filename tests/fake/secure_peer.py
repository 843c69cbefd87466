"""A peer that speaks TLS and runs a test's function for each connection."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Talk = Callable[[ssl.SSLSocket], object]


def echo(stream: ssl.SSLSocket) -> None:
    """Send received bytes back until the client closes."""
    while said := stream.recv(1 << 16):
        stream.sendall(said)


@dataclass(slots=True)
class SecurePeer:
    """The address of the peer, and its errors and results."""

    port: int
    faults: list[OSError] = field(default_factory=list)
    heard: list[object] = field(default_factory=list)


@contextmanager
def secure_peer(context: ssl.SSLContext, talk: Talk = echo) -> Iterator[SecurePeer]:
    """Run a server that accepts clients one after the other, does the handshake, runs the function, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = SecurePeer(server.getsockname()[1])

        def serve() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:
                    return
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    with context.wrap_socket(stream, server_side=True, suppress_ragged_eofs=False) as secured:
                        peer.heard.append(talk(secured))
                except OSError as fault:
                    peer.faults.append(fault)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield peer
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@contextmanager
def chopped(port: int) -> Iterator[int]:
    """Run a proxy that passes on one byte at a time, to `port` and back; return its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            target = socket.create_connection(("127.0.0.1", port))
            for stream in (client, target):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_pass_on, args=(client, target), daemon=True).start()
            _pass_on(target, client)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while said := source.recv(1 << 16):
            for byte in said:
                target.sendall(bytes([byte]))
                time.sleep(0)  # gives the reader time between two bytes
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
