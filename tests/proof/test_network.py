"""The proxies of histories pass on every byte, and break what a rule names."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.proof.network import HOST, Network, Networks, Rule

FETCH, METADATA = 1, 3


def read(stream: socket.socket, size: int) -> bytes:
    """Read so many bytes, or up to the end."""
    content = b""
    while len(content) < size and (part := stream.recv(size - len(content))):
        content += part
    return content


def answer(stream: socket.socket) -> None:
    """Answer each request with itself, as a broker does with frames."""
    with suppress(OSError):
        while length := read(stream, 4):
            stream.sendall(length + read(stream, *struct.unpack(">i", length)))


@pytest.fixture
def broker() -> Iterator[int]:
    """Run something that answers; return its port."""
    with socket.create_server((HOST, 0)) as server:

        def accept() -> None:
            while True:
                try:
                    stream, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(stream,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, port)) as stream:
        stream.settimeout(5)
        yield stream


def request(key: int, size: int = 100, client_id: bytes = b"") -> bytes:
    """Make a frame of an API."""
    sender = struct.pack(">h", len(client_id)) + client_id if client_id else b""
    body = struct.pack(">hhi", key, 0, 7) + sender + bytes(size)
    return struct.pack(">i", len(body)) + body


def test_bytes_pass(broker: int) -> None:
    """Frames of every size, several at once, and the same proxy after the broker's port has changed."""
    with Network() as network:
        port = network.front(1, 1)
        assert network.front(1, broker) == port
        with connected(port) as stream:
            sent = b"".join(request(FETCH, size) for size in (0, 1, 100_000))
            stream.sendall(sent)
            assert read(stream, len(sent)) == sent
        assert network.mend() == {}


@pytest.mark.parametrize(("action", "received"), [("swallow", None), ("reset", b""), ("truncate", 56), ("delay", 112)])
def test_responses_that_are_broken(broker: int, action: str, received: int | bytes | None) -> None:
    """A rule breaks responses of its API and its broker, as often as it says; it counts them."""
    with Network() as network:
        port = network.front(1, broker)
        network.add(Rule(action, "fetch", 2, 0, 5))
        network.add(Rule(action, "fetch", 1, 1, 1))
        with connected(port) as stream:
            stream.sendall(request(METADATA))
            assert read(stream, 112) == request(METADATA)
            stream.sendall(request(FETCH))
            if received is None:
                stream.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    stream.recv(1)
            elif received == b"":
                with pytest.raises(ConnectionResetError):
                    stream.recv(1)
            else:
                assert read(stream, 112) == request(FETCH)[: int(received)]
        with connected(port) as stream:
            stream.sendall(request(FETCH))
            assert read(stream, 112) == request(FETCH)
        assert network.mend() == {f"network {action}": 1}


def test_a_broker_that_is_cut_off(broker: int) -> None:
    """Its connections end, and others are refused, until it is mended; other brokers are reached."""
    with Network() as network:
        cut, other = network.front(1, broker), network.front(2, broker)
        with connected(cut) as stream, connected(other) as reached:
            stream.sendall(request(FETCH))
            assert read(stream, 112)
            reached.sendall(request(FETCH))
            assert read(reached, 112)
            network.add(Rule("cut", "any", 1, 0, 100))
            with pytest.raises(ConnectionResetError):
                stream.recv(1)
            reached.sendall(request(FETCH))
            assert read(reached, 112)
        with connected(cut) as stream, pytest.raises(ConnectionResetError):
            stream.recv(1)
        assert network.mend() == {"network cut": 1}
        with connected(cut) as stream:
            stream.sendall(request(FETCH))
            assert read(stream, 112)


@pytest.mark.parametrize("client_id", [b"2", b"broker-2-fetcher-0", b"raft-client-2"])
def test_requests_of_a_broker_that_is_cut_off(broker: int, client_id: bytes) -> None:
    """It reaches no other broker; others, and clients, do, although their ports are the same."""
    with Network() as peers, Network() as controllers, Network() as clients:
        port = peers.front(1, broker)
        networks = Networks(clients=clients, peers=peers, controllers=controllers)
        sent = request(FETCH, client_id=client_id)
        with connected(port) as stream:
            stream.sendall(sent)
            assert read(stream, len(sent)) == sent
            networks.cut_off(2, "peers")
            with pytest.raises(ConnectionResetError):
                stream.recv(1)
        with connected(port) as stream:
            stream.sendall(sent)
            with pytest.raises(ConnectionResetError):
                stream.recv(1)
        for other in (b"3", b"broker-22-fetcher-0", b"lagoon-2"):
            with connected(port) as stream:
                sent = request(FETCH, client_id=other)
                stream.sendall(sent)
                assert read(stream, len(sent)) == sent
        assert networks.mend() == {"peers cut": 1}
