"""Implements the protocol of one connection without its socket: frames requests and matches responses to them.

Responses come in the order of the requests, and each must carry its request's correlation id. After any error the
connection must not be used again, or a late response could be matched to a later request.
"""

from collections import deque
from collections.abc import Generator, Iterator
from functools import cache
from typing import Any

from kafka_lagoon import __version__
from kafka_lagoon.errors import CorrelationMismatch, DecodeError, UnsupportedVersion
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNSUPPORTED_VERSION
from kafka_lagoon.protocol.headers import decode_response, decode_response_header, encode_request
from kafka_lagoon.protocol.messages.api_versions import (
    ANY_BROKER,
    API_VERSIONS,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.protocol.releases import release_needed
from kafka_lagoon.wire.frames import FrameBuffer
from kafka_lagoon.wire.primitives import Frame
from kafka_lagoon.wire.schema import Api, Array, Blob, Nested, Versions, fields_of, keeps_views

_PREFIX = 4  # bytes of a frame's length
SOFTWARE_NAME = "kafka-lagoon"  # brokers refuse anything but letters, digits, dots and dashes (KIP-511)


# The peer has proven nothing yet, so its responses are limited, as brokers limit requests before authentication
# (sasl.server.max.receive.size). The limit is a few hundred times the response of any release.
HANDSHAKE_MAX_BYTES = 512 << 10
# Responses without a list: numbers and some texts, of which each has at most 32 KiB before flexible versions.
PLAIN_MAX_BYTES = 1 << 20
UNLIMITED = 1 << 62  # but for the setting receive_message_max_bytes
_OF_HANDSHAKES = frozenset({API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key})


@cache
def largest_response(api: Api[Any, Any]) -> int:
    """The largest response of an API that is read, in bytes."""
    if api.key in _OF_HANDSHAKES:
        return HANDSHAKE_MAX_BYTES
    has_lists_or_records = any(isinstance(field.kind, Array | Nested | Blob) for field in fields_of(api.response))
    return UNLIMITED if has_lists_or_records else PLAIN_MAX_BYTES


@frozen(kw_only=False)
class InFlight:
    """A request that waits for its response."""

    api: Api[Any, Any]
    version: int
    correlation_id: int


@frozen(kw_only=False)
class ReceivedResponse:
    """A decoded response, its request, and its number of bytes, length included."""

    request: InFlight
    message: Any
    size: int


class Connection:
    """Frames requests and matches responses. `limit` is the largest response in bytes."""

    def __init__(self, client_id: str, limit: int) -> None:
        self._client_id = client_id
        self._limit = limit
        self._frames = FrameBuffer(limit)
        self._waiting: deque[InFlight] = deque()
        self._next_id = 0

    @property
    def in_flight(self) -> int:
        """Number of requests that wait for their response."""
        return len(self._waiting)

    def room(self) -> memoryview:
        """The memory that the next bytes must be put into; WireError when a response claims to be too long."""
        self._limit_next()
        return self._frames.room()

    def frame(self, api: Api[Any, Any], version: int, request: object) -> bytearray:
        """The frame of a request, which from now on waits for its response."""
        correlation_id = self._next_id
        frame = self.unanswered_frame(api, version, request)
        self._waiting.append(InFlight(api, version, correlation_id))
        return frame

    def unanswered_frame(self, api: Api[Any, Any], version: int, request: object) -> bytearray:
        """The frame of a request that has no response: Produce with acks=0."""
        frame = encode_request(api, version, self._next_id, self._client_id, request)
        self._next_id = (self._next_id + 1) & 0x7FFFFFFF
        return frame

    def filled(self, count: int) -> Iterator[ReceivedResponse]:
        """The responses that `count` more bytes in the last room complete; WireError when one is not for its request."""
        self._frames.filled(count)
        self._limit_next()
        while (frame := self._frames.take()) is not None:
            yield self._answer(frame)

    def _limit_next(self) -> None:
        """Bound the next frame by the largest response to the oldest request. Only memory of records is used again."""
        self._frames.limit = self._limit
        if self._waiting:
            api = self._waiting[0].api
            self._frames.limit = min(self._limit, largest_response(api))
            self._frames.keeps_memory = keeps_views(api.response)  # type: ignore[arg-type]  # as in reading.reader

    def _answer(self, frame: Frame) -> ReceivedResponse:
        if not self._waiting:
            raise CorrelationMismatch(-1, int.from_bytes(frame[:4], "big", signed=True))
        request = self._waiting[0]
        if not keeps_views(request.api.response):  # type: ignore[arg-type]  # as in reading.reader
            frame = bytes(frame)  # values are read faster from bytes than from a view
        correlation_id, body = decode_response_header(request.api, request.version, frame)
        if correlation_id != request.correlation_id:
            raise CorrelationMismatch(request.correlation_id, correlation_id)
        self._waiting.popleft()
        self._limit_next()
        if request.api is API_VERSIONS and frame[body : body + 2] == UNSUPPORTED_VERSION.to_bytes(2, "big"):
            return ReceivedResponse(request, _refused_version(frame), _PREFIX + len(frame))
        return ReceivedResponse(request, decode_response(request.api, request.version, frame), _PREFIX + len(frame))


def _refused_version(frame: Frame) -> ApiVersionsResponse:
    """The response of a broker that does not know our version of ApiVersions: always v0 (KIP-511).

    librdkafka's mock brokers write the list in a form of their own. Then v0 is sent next, which all brokers know.
    """
    try:
        return decode_response(API_VERSIONS, 0, frame)
    except DecodeError:
        return ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=())


def negotiate(
    cluster_id: str | None = None, node_id: int = ANY_BROKER
) -> Generator[tuple[int, ApiVersionsRequest], ApiVersionsResponse, ApiVersionsResponse]:
    """The handshake as a generator: yields (version, request), is sent the response, returns the last response.

    A broker that does not know our highest version answers in v0 and names its own highest; an empty list means v0. From
    Kafka 4.4 on it answers REBOOTSTRAP_REQUIRED if it is not the broker of this id in this cluster (KIP-1242).
    """
    request = ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME, client_software_version=__version__, cluster_id=cluster_id, node_id=node_id
    )
    response = yield API_VERSIONS.versions.highest, request
    if response.error_code == UNSUPPORTED_VERSION:
        own = [known.max_version for known in response.api_keys if known.api_key == API_VERSIONS.key]
        response = yield min([*own, API_VERSIONS.versions.highest]) if own else 0, request
    return response


def choose_version(
    api: Api[Any, Any], offered: dict[int, Versions], broker: str, within: Versions | None = None
) -> int:
    """The highest version that we and the broker share, within bounds if given; UnsupportedVersion when there is none."""
    ours = api.versions.common(within) if within else api.versions
    theirs = offered.get(api.key)
    shared = ours.common(theirs) if ours and theirs else None
    if shared is None:
        requested = ours or api.versions
        bounds = (theirs.lowest, theirs.highest) if theirs else None
        needed = release_needed(api.key, requested)
        raise UnsupportedVersion(api.name, (requested.lowest, requested.highest), bounds, broker, needed)
    return shared.highest
