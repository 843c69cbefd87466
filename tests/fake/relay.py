"""A relay before a broker of a real cluster that changes Metadata responses; all other bytes pass unchanged.

Metadata names the relay as the address of that broker, so clients that ask it stay with it. It shares our codec for this one
message, and proves what a client does with the answer.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kafka_lagoon.protocol.headers import ResponseHeader, decode_response_header
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

_HEADER = struct.Struct(">hhi")


@contextmanager
def relay(
    broker_id: int, address: tuple[str, int], change: Callable[[MetadataResponse], MetadataResponse]
) -> Iterator[str]:
    """Run a relay to the broker at `address`, which describes topics as changed by `change`; return its address."""
    opened: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]

        def altered(response: MetadataResponse) -> MetadataResponse:
            for broker in response.brokers:
                if broker.node_id == broker_id:
                    broker.host, broker.port = "127.0.0.1", port  # type: ignore[misc]  frozen to the checker
            return change(response)

        def accept() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                broker = socket.create_connection(address)
                opened.extend((client, broker))
                threading.Thread(target=_pass_on, args=(client, broker, altered), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            for stream in opened:
                stream.close()


def _pass_on(
    client: socket.socket, broker: socket.socket, altered: Callable[[MetadataResponse], MetadataResponse]
) -> None:
    """Pass on frames: brokers respond to the requests of a connection in order."""
    versions: dict[int, int] = {}  # Metadata requests, by correlation id

    def requests() -> None:
        with suppress(OSError):
            while frame := _frame(client):
                key, version, correlation_id = _HEADER.unpack_from(frame)
                if key == METADATA.key:
                    versions[correlation_id] = version
                broker.sendall(struct.pack(">i", len(frame)) + frame)

    threading.Thread(target=requests, daemon=True).start()
    with suppress(OSError):
        while frame := _frame(broker):
            (correlation_id,) = struct.unpack_from(">i", frame)
            if correlation_id in versions:
                frame = _altered(frame, versions.pop(correlation_id), altered)
            client.sendall(struct.pack(">i", len(frame)) + frame)
    client.close()


def _altered(frame: bytes, version: int, altered: Callable[[MetadataResponse], MetadataResponse]) -> bytes:
    correlation_id, body = decode_response_header(METADATA, version, frame)
    flexible = METADATA.is_flexible(version)
    response = altered(decode(METADATA.response, version, flexible, frame, body))
    header = encode(ResponseHeader(correlation_id=correlation_id), 1 if flexible else 0, flexible)
    return header + encode(response, version, flexible)


def _frame(stream: socket.socket) -> bytes:
    """Return the next frame without its length; empty at the end."""
    prefix = _read(stream, 4)
    return _read(stream, struct.unpack(">i", prefix)[0]) if prefix else b""


def _read(stream: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = stream.recv(size - len(parts))
        if not part:
            return b""
        parts += part
    return parts
