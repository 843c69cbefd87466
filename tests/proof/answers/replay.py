"""Records the answers of real brokers, and replays them to our client without sockets, altered or not.

The client's transport is replaced, so that everything above it is the product's: connections, versions, retries, decoders. An
answer is found by the bytes of its request. A request that was not recorded, because an altered answer led to it, is sent to
the brokers and recorded while they run; without brokers its connection is lost, and it is counted.
"""

import pickle
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed, ConnectionLost, DeadlinePassed
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api

_HEADER = struct.Struct(">hhih")
_CORRELATION = 4
_TIMEOUT_S = 30
_NO_PORT_S = 5
# Requests that change a cluster are recorded once; an altered answer never causes another one on the brokers.
# Answers of the active controller, which brokers pass on: another broker would give the same one at the same moment.
_PASSED_ON = frozenset({"DescribeQuorum", "ListPartitionReassignments"})
_WRITES = frozenset({"Produce", "InitProducerId", "CreateTopics", "OffsetCommit", "AddOffsetsToTxn", "EndTxn"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the broker at `address` receives it; `client` is not part of it."""

    address: str
    api_key: int
    version: int
    body: bytes

    @property
    def api(self) -> Api[Any, Any]:
        """The API."""
        return APIS[self.api_key]

    def message(self) -> Any:
        """Decode the body."""
        return decode(self.api.request, self.version, self.api.is_flexible(self.version), self.body)


Alter = Callable[[Request, bytes], bytes]  # a request and its answer after the correlation id -> the answer as received


def unaltered(_request: Request, answer: bytes) -> bytes:
    """Return the answer as the broker gave it."""
    return answer


@dataclass(slots=True)
class Recording:
    """Answers by request, in the order in which equal requests were answered; recorded at `at_ms`, from `servers`."""

    servers: str
    at_ms: int
    answers: dict[Request, list[bytes]] = field(default_factory=dict)
    is_live: bool = True
    missed: int = 0  # requests that were neither recorded nor could be sent
    _lock: Any = field(default_factory=Lock)
    _streams: dict[str, socket.socket] = field(default_factory=dict)

    def answer(self, request: Request, number: int) -> bytes:
        """Return the answer to the `number`-th request of this kind; the last one that is known if there were fewer."""
        with self._lock:
            known = self.answers.setdefault(request, [])
            if number < len(known) or (known and not self._is_recording):
                return known[min(number, len(known) - 1)]
            if request.api.name in _PASSED_ON and (passed_on := self._of_another_broker(request)):
                return passed_on
            if not self.is_live or (request.api.name in _WRITES and not self._is_recording):
                self.missed += 1
                raise ConnectionLost(request.address, "exchange", "not recorded", in_flight=1)
            known.append(self._sent(request))
            return known[-1]

    _is_recording: bool = True

    def _of_another_broker(self, request: Request) -> bytes | None:
        several = (
            answers
            for known, answers in self.answers.items()
            if replace(known, address="") == replace(request, address="")
        )
        return next((answers[-1] for answers in several if answers), None)

    def ask_all_brokers(self) -> None:
        """Send each recorded request to the other brokers, too: an altered answer may lead our client to any of them."""
        for request in list(self.answers):
            for address in self.servers.split(","):
                same = replace(request, address=address)
                if request.api.name not in _WRITES and not self.answers.get(same):
                    self.answer(same, 0)

    def finish(self) -> None:
        """Return known answers from now on, where there are any."""
        self._is_recording = False

    def resume(self) -> None:
        """Record every request that is more than were answered."""
        self._is_recording = True

    def close(self) -> None:
        """Close the connections to the brokers."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()

    def save(self, path: Path) -> None:
        """Keep the answers in a file."""
        path.write_bytes(pickle.dumps((self.servers, self.at_ms, self.answers)))

    @classmethod
    def load(cls, path: Path) -> "Recording":
        """Read what `save` has written."""
        servers, at_ms, answers = pickle.loads(path.read_bytes())  # noqa: S301  written by this machine's own run
        return cls(servers, at_ms, answers, is_live=False, _is_recording=False)

    def _sent(self, request: Request) -> bytes:
        """Ask the broker; of its answer all but the correlation id."""
        try:
            stream = self._streams.get(request.address) or self._opened(request.address)
            flexible = request.api.is_flexible(request.version)
            header = _HEADER.pack(request.api_key, request.version, 1, -1) + (b"\0" if flexible else b"")
            frame = header + request.body
            stream.sendall(struct.pack(">i", len(frame)) + frame)
            size = struct.unpack(">i", _exactly(stream, 4))[0]
            return _exactly(stream, size)[_CORRELATION:]
        except OSError as cause:
            if stream := self._streams.pop(request.address, None):
                stream.close()
            raise ConnectionLost(request.address, "exchange", str(cause), in_flight=1) from cause

    def _opened(self, address: str) -> socket.socket:
        host, _, port = address.rpartition(":")
        stream = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)
        self._streams[address] = stream
        return stream


def _exactly(stream: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = stream.recv(size - len(parts))
        if not part:
            raise ConnectionResetError("closed by the broker")
        parts += part
    return bytes(parts)


class _Replayed:
    """A transport that answers from a recording. The clock of its deadlines advances where a broker would be silent."""

    is_closed = False

    def __init__(self, run: "_Run", address: str) -> None:
        self.address, self.ip_address, self._run = address, address, run
        self._received = bytearray()

    def exchange(self, outgoing: bytearray, room: memoryview, deadline: Deadline, phase: str) -> int:
        """Answer the frames of `outgoing`; put as much of the answers into `room` as it holds."""
        while len(outgoing) >= 4:
            size = 4 + int.from_bytes(outgoing[:4], "big")
            frame = bytes(outgoing[4:size])
            del outgoing[:size]
            self._received += self._run.answered(self.address, frame)
        if not self._received:
            deadline.pause(deadline.remaining())
            raise DeadlinePassed(self.address, phase, deadline.budget_ms)
        count = min(len(room), len(self._received))
        room[:count] = self._received[:count]
        del self._received[:count]
        return count

    def tls_session(self) -> None:
        """No TLS."""

    def interrupt(self) -> None:
        """Do nothing: no answer is waited for."""

    def close(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class _Run:
    recording: Recording
    alter: Alter
    sent: dict[Request, int] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    def answered(self, address: str, frame: bytes) -> bytes:
        key, version, correlation_id, client = _HEADER.unpack_from(frame)
        body = _HEADER.size + max(client, 0) + (1 if APIS[key].is_flexible(version) else 0)
        request = Request(address, key, version, frame[body:])
        with self.lock:
            number = self.sent.get(request, 0)
            self.sent[request] = number + 1
        answer = self.recording.answer(request, number)
        with self.lock:
            answer = self.alter(request, answer)
        return struct.pack(">ii", _CORRELATION + len(answer), correlation_id) + answer


@contextmanager
def replayed(recording: Recording, alter: Alter = unaltered) -> Iterator[None]:
    """Answer all connections of our client from a recording until the context ends."""
    run, known = _Run(recording, alter), set(recording.servers.split(","))

    def connect(host: str, port: int, *_: object) -> _Replayed:
        address = f"{host}:{port}"
        if address not in known:
            raise ConnectionFailed(address, "connect", "Connection refused")
        return _Replayed(run, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transport, "connect", connect)
        yield
