"""Proxies before the brokers that count requests by API, and bytes in both directions, whichever client sends them.

Brokers advertise the port of their proxy at a listener of its own. The proxies know frames and the key of their API, and no more of
the protocol.
"""

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import Self

from kafka_lagoon.sandbox.node import Listener

LISTENER = "COUNTED"
_HOST = "127.0.0.1"
_CHUNK = 1 << 18


class CountedNetwork:
    """The proxies of a cluster, in threads of this process, until the context ends."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()  # by API key
        self.request_bytes = 0
        self.response_bytes = 0
        self._lock = threading.Lock()
        self._targets: dict[int, int] = {}
        self._servers: dict[int, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            server.close()

    def listener(self) -> Listener:
        """Return the listener that brokers need."""
        return Listener(name=LISTENER, protocol="PLAINTEXT", advertised=self._front)

    def _front(self, broker: int, port: int) -> int:
        """Put a proxy before a broker's port, and return the port of the proxy."""
        self._targets[broker] = port
        if broker not in self._servers:
            server = self._servers[broker] = socket.create_server((_HOST, 0))
            threading.Thread(target=self._accept, args=(broker, server), daemon=True).start()
        proxy_port: int = self._servers[broker].getsockname()[1]
        return proxy_port

    def _accept(self, broker: int, server: socket.socket) -> None:
        with suppress(OSError):  # the context has ended
            while True:
                client, _ = server.accept()
                threading.Thread(target=self._serve, args=(broker, client), daemon=True).start()

    def _serve(self, broker: int, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection((_HOST, self._targets[broker])) as target:
            for end in (client, target):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._responses, args=(target, client), daemon=True).start()
            self._send_requests(client, target)

    def _send_requests(self, client: socket.socket, target: socket.socket) -> None:
        with client.makefile("rb", _CHUNK) as stream:
            while len(length := stream.read(4)) == 4:
                frame = stream.read(int.from_bytes(length, "big"))
                with self._lock:
                    self.requests[int.from_bytes(frame[:2], "big")] += 1
                    self.request_bytes += 4 + len(frame)
                target.sendall(length + frame)

    def _responses(self, target: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while chunk := target.recv(_CHUNK):
                with self._lock:
                    self.response_bytes += len(chunk)
                client.sendall(chunk)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
