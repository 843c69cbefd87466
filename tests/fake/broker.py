"""Fake brokers: real sockets, scripted faults, clusters of any size.

It shares our codec, so it proves behaviour and scale and never the codec: the oracle and real brokers do that. Not spoken:
TLS, SASL, transactional writes, quotas and DescribeTopicPartitions.
"""

import socket
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from kafka_lagoon.protocol.headers import ResponseHeader
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api, fields_of
from kafka_lagoon.wire.writing import encode
from tests.fake.answers import SPOKEN, UNSUPPORTED_VERSION
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Action, Altered, Close, Hang, Raw, Slow, WrongCorrelation

_HEADER = struct.Struct(">hhih")


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True  # as Kafka does: answers do not wait for TCP's delayed acknowledgements

    def handle(self) -> None:
        """Answer frame after frame until the client disconnects or a fault ends it."""
        server: Any = self.server
        self.server.connections.append(self.connection)  # type: ignore[attr-defined]
        while len(prefix := self._read(4)) == 4:
            frame = self._read(struct.unpack(">i", prefix)[0])
            if not self._answer(server.state, server.node_id, frame):
                return

    def _read(self, size: int) -> bytes:
        try:
            return self.rfile.read(size)
        except OSError:
            return b""

    def _answer(self, state: FakeCluster, node_id: int, frame: bytes) -> bool:
        key, version, correlation_id, client = _HEADER.unpack_from(frame)
        state.requests.append((node_id, key, version))
        state.received.append(4 + len(frame))
        api, answer = SPOKEN[key]
        body = _HEADER.size + max(client, 0) + (1 if api.is_flexible(version) else 0)
        fault = next((one for one in state.faults if one.strikes(node_id, key)), None)
        if fault is not None and isinstance(fault.action, Slow):
            time.sleep(fault.action.seconds)
        if fault is None or isinstance(fault.action, Altered | WrongCorrelation | Close | Slow):
            request = decode(api.request, version, api.is_flexible(version), frame, body)
            response = answer(state, node_id, version, request)
            if state.offered is not None:
                response = _as_of(response, version)
            if response is None:
                return not (fault and isinstance(fault.action, Close))
            return self._send(api, version, correlation_id, response, fault.action if fault else None)
        if isinstance(fault.action, Raw):
            self.wfile.write(fault.action.answer)
        return isinstance(fault.action, Hang | Raw)

    def _send(
        self, api: Api[Any, Any], version: int, correlation_id: int, response: Any, action: Action | None
    ) -> bool:
        if isinstance(action, Altered):
            response = action.change(response)
        if isinstance(action, WrongCorrelation):
            correlation_id += 1
        if api is API_VERSIONS and response.error_code == UNSUPPORTED_VERSION:
            version = 0  # with any requested version, because every client understands version 0
        flexible = api.is_flexible(version)
        header = encode(ResponseHeader(correlation_id=correlation_id), 0, flexible and api.flexible_response_header)
        frame = header + encode(response, version, flexible)
        frame = struct.pack(">i", len(frame)) + frame
        is_cut = isinstance(action, Close) and len(frame) > action.spared
        if not is_cut:
            self.server.state.sent.append(len(frame))  # type: ignore[attr-defined]
        self.wfile.write(frame[: action.sent] if isinstance(action, Close) and is_cut else frame)
        return not is_cut


def _as_of(message: Any, version: int) -> Any:
    """Return the message without fields that an older version lacks, as a broker of an older release would send it."""
    if isinstance(message, tuple):
        return tuple(_as_of(one, version) for one in message)
    if not hasattr(message, "__wire__"):
        return message
    present = {one.name for one in fields_of(type(message)) if one.spec.present(version)}
    return type(message)(**{name: _as_of(getattr(message, name), version) for name in present})


class FakeBroker(socketserver.ThreadingTCPServer):
    """A broker on a loopback port of its own."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, state: FakeCluster, node_id: int, *, listens: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=listens)
        if not listens:  # connections to its port are refused until `server_activate`
            self.server_bind()
        self.state, self.node_id = state, node_id
        self.connections: list[Any] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect before their response; socketserver would print a traceback."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @contextmanager
    def running(self) -> Iterator["FakeBroker"]:
        """Serve in a thread until the context ends."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.die()
            thread.join(5)

    def die(self) -> None:
        """Refuse connections from now on and drop those that are open."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def fake_cluster(state: FakeCluster, nodes: int = 3) -> Iterator[dict[int, FakeBroker]]:
    """Run brokers 1 to `nodes` of a cluster, all of which know each other."""
    with ExitStack() as stack:
        brokers = {node: stack.enter_context(FakeBroker(state, node).running()) for node in range(1, nodes + 1)}
        state.addresses = {node: ("127.0.0.1", broker.server_address[1]) for node, broker in brokers.items()}
        yield brokers
