"""Asks an address whether a broker answers there, and which brokers it knows.

A broker counts as started when it answers requests, not when its port is open. The two requests are raw bytes in versions that
every release since 0.10 understands, so that testing our client needs no client of ours.
"""

import socket
import struct

_TIMEOUT_S = 2.0
_CLIENT_ID = b"probe!"  # makes the whole ApiVersions request 20 bytes
_API_VERSIONS, _METADATA = 18, 3


def answers(port: int) -> bool:
    """Return true if a server on the loopback answers ApiVersions v0 without an error."""
    body = _ask(port, _API_VERSIONS, 0, b"")
    return body is not None and body[:2] == b"\0\0"


def listens(port: int) -> bool:
    """Return true if a port of the loopback accepts connections of any protocol."""
    try:
        socket.create_connection(("127.0.0.1", port), _TIMEOUT_S).close()
    except OSError:
        return False
    return True


def known_brokers(port: int) -> frozenset[int]:
    """Node ids that the broker gives to clients; empty when it does not answer."""
    body = _ask(port, _METADATA, 1, struct.pack(">i", 0))  # v1 without topics
    if body is None:
        return frozenset()
    (count,) = struct.unpack_from(">i", body)
    position, node_ids = 4, list[int]()
    for _ in range(count):
        node_ids.append(struct.unpack_from(">i", body, position)[0])
        position = _after_string(body, position + 4) + 4  # host, then the port
        position = _after_string(body, position)  # rack
    return frozenset(node_ids)


def _after_string(body: bytes, position: int) -> int:
    size = int.from_bytes(body[position : position + 2], "big", signed=True)
    return position + 2 + max(size, 0)


def _ask(port: int, api_key: int, api_version: int, request: bytes) -> bytes | None:
    head = struct.pack(">hhih", api_key, api_version, 1, len(_CLIENT_ID)) + _CLIENT_ID
    try:
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as connection:
            connection.sendall(struct.pack(">i", len(head) + len(request)) + head + request)
            with connection.makefile("rb") as answer:
                (size,) = struct.unpack(">i", answer.read(4))
                return answer.read(size)[4:] or None  # after the correlation id
    except (OSError, struct.error):
        return None
