"""A transport without sockets: a function answers requests at once in this process."""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from kafka_lagoon.client.access import access_to
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Access
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import ConnectionLost
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.headers import ResponseHeader
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, ApiVersionsResponse, OfferedApi
from kafka_lagoon.wire.schema import Versions
from kafka_lagoon.wire.writing import encode

Answers = Mapping[int, Callable[[], object]]  # API key -> its response; a request of another API closes the connection

_HEADER = struct.Struct(">ihhi")


def access(clock: Clock, **settings: object) -> Access:
    """Make the values that connections to a cluster with these settings share, without TLS."""
    kafka = checked({"bootstrap_servers": "127.0.0.1:9092", **settings})
    return access_to(kafka, clock, RequestStats())


class Loopback:
    """Answers requests from a table, in the order in which they are sent."""

    def __init__(self, answers: Answers, offered: Mapping[int, Versions] | None = None) -> None:
        self.address, self.ip_address = "127.0.0.1:9092", "127.0.0.1"
        self.requests: list[int] = []  # API keys, in order of arrival
        self.is_closed = False
        self._answers = {API_VERSIONS.key: lambda: _offering(offered), **answers}
        self._responses = bytearray()

    def exchange(self, outgoing: bytearray, room: memoryview, _deadline: Deadline, phase: str) -> int:
        """Take every complete request, and return as much of the responses as fits."""
        while outgoing:
            size, key, version, correlation_id = _HEADER.unpack_from(outgoing)
            del outgoing[: 4 + size]
            self.requests.append(key)
            if key in self._answers:
                self._responses += _frame(key, version, correlation_id, self._answers[key]())
            elif not self._responses:
                raise ConnectionLost(self.address, phase, "closed by the peer", in_flight=0)
        count = min(len(room), len(self._responses))
        room[:count] = self._responses[:count]
        del self._responses[:count]
        return count

    def interrupt(self) -> None:
        """Do nothing: no call waits here."""

    def close(self) -> None:
        """Record the call."""
        self.is_closed = True


def _offering(offered: Mapping[int, Versions] | None) -> ApiVersionsResponse:
    ranges = {key: api.versions for key, api in APIS.items()} if offered is None else offered
    keys = tuple(
        OfferedApi(api_key=key, min_version=versions.lowest, max_version=versions.highest)
        for key, versions in ranges.items()
    )
    return ApiVersionsResponse(api_keys=keys)


def _frame(key: int, version: int, correlation_id: int, response: Any) -> bytes:
    api = APIS[key]
    flexible = api.is_flexible(version)
    header = encode(ResponseHeader(correlation_id=correlation_id), 0, flexible and api.flexible_response_header)
    frame = header + encode(response, version, flexible)
    return len(frame).to_bytes(4, "big") + frame
