"""A peer that is not a broker: it sends the same bytes to every client."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def peer(answer: bytes) -> Iterator[int]:
    """Run a server that waits for a byte and sends `answer`, or stays silent for b""; return its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        opened: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:
                    return
                opened.append(stream)
                if answer:
                    stream.recv(1)
                    stream.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for stream in opened:
            stream.close()
