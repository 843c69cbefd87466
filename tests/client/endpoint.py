"""A fake token endpoint: a real socket with scripted responses, which keeps the requests."""

import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Script = Callable[[socket.socket], None]

JSON = "Content-Type: application/json"


def answering(status: str, body: bytes | dict[str, Any] = b"", *headers: str) -> Script:
    """Answer, and close the connection if requested."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(content)}", "", ""])
    return lambda peer: peer.sendall(head.encode() + content)


def raw(answer: bytes) -> Script:
    """Send these bytes unchanged."""
    return lambda peer: peer.sendall(answer)


def trickling(peer: socket.socket) -> None:
    """Send a byte of a header at intervals, as long as the client reads."""
    peer.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(200):
        peer.sendall(b"a")
        time.sleep(0.02)


def flooding(peer: socket.socket) -> None:
    """Send more than any client reads."""
    peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(200):
        peer.sendall(b" " * 65536)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server: Any = self.server
        with suppress(OSError):  # the client has refused our certificate, or has read enough
            if server.tls:
                self.connection = server.tls.wrap_socket(self.connection, server_side=True)
            server.requests.append(_request(self.connection.makefile("rb")))
            server.script(self.connection)
            if server.tls:
                self.connection.unwrap()


class Endpoint(socketserver.ThreadingTCPServer):
    """An endpoint on loopback; `requests` are all requests until now."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, script: Script, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.tls = script, tls
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        """Return the URL of the endpoint."""
        return f"{'https' if self.tls else 'http'}://localhost:{self.server_address[1]}/token"


@contextmanager
def endpoint(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    """Run an endpoint until the context ends."""
    with Endpoint(script, tls) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _request(stream: Any) -> str:
    lines = []
    while (line := stream.readline().decode()).strip():
        lines.append(line)
    length = next(int(line.partition(":")[2]) for line in lines if line.startswith("Content-Length"))
    return "".join(lines) + "\r\n" + stream.read(length).decode()
