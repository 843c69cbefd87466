"""Streams through TLS for tests: opened, used, and refused connections."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_lagoon.client.tls import context
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from tests.certificates import tls_settings
from tests.clock import CLOCK

_TIMEOUT_MS = 60_000  # no test waits for it, but busy machines need seconds for many small pieces
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@contextmanager
def connected(port: int, host: str = "127.0.0.1", **given: object) -> Iterator[Transport]:
    """Open a stream through TLS, and close it at the end."""
    transport = Transport.connect(host, port, Deadline.after(CLOCK, _TIMEOUT_MS), context(tls_settings(**given)))
    yield transport
    transport.close()


def exchanged(
    transport: Transport, outgoing: bytes, expected: int, room: int = 1 << 16, budget_ms: int = _TIMEOUT_MS
) -> bytes:
    """Return the received bytes while `outgoing` is sent, at most `room` at a time, until `expected` bytes have arrived."""
    deadline = Deadline.after(CLOCK, budget_ms)
    left, here, memory = bytearray(outgoing), bytearray(), memoryview(bytearray(room))
    while left or len(here) < expected:
        here += memory[: transport.exchange(left, memory, deadline, "exchange")]
    return bytes(here)


def refused(
    port: int, host: str = "127.0.0.1", pause_s: float = 0, said: bytes = b"hello", **given: object
) -> ConnectionFailed:
    """Return the reason of a refused connection, even if the peer reports it only at the first exchange."""

    def say() -> None:
        with connected(port, host, **given) as transport:
            time.sleep(pause_s)
            exchanged(transport, said, len(said))

    with pytest.raises(ConnectionFailed) as caught:
        say()
    assert caught.value.address.endswith(f":{port}")
    return caught.value
