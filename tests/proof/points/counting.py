"""Counts the requests that pass between a broker and the clients of ours, outside of both: a relay that changes nothing.

The broker advertises the relay's address, so that every connection goes through it.
"""

import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from typing import Self

from kafka_lagoon.protocol.apis import APIS

_HEADER = struct.Struct(">ihhih")  # length, API key, version, correlation id, length of the client id
OURS = b"kafka-lagoon"


class CountingRelay:
    """Passes bytes on to `target` and counts the requests of our clients by API."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._server.getsockname()[1]
        self.target: tuple[str, int] = ("127.0.0.1", 0)
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self.target) as broker:
            for stream in (client, broker):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_copy, args=(broker, client), daemon=True)
            back.start()
            self._pass_requests(client, broker)
            with suppress(OSError):
                broker.shutdown(socket.SHUT_WR)
            back.join()

    def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        """Pass on requests; each is counted once it is there as a whole, as the broker sees it."""
        waiting = bytearray()
        with suppress(OSError):
            while data := client.recv(1 << 18):
                waiting += data
                while len(waiting) >= _HEADER.size:
                    length, key, _, _, size = _HEADER.unpack_from(waiting)
                    if len(waiting) < 4 + length:
                        break
                    if waiting[_HEADER.size : _HEADER.size + size].startswith(OURS):
                        with self._lock:
                            self.counts[APIS[key].name] += 1
                    del waiting[: 4 + length]
                broker.sendall(data)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 18):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
