"""Encodes requests and decodes responses with their headers, as whole frames.

Flexible requests have header v2 and flexible responses header v1. The response of ApiVersions always has header v0 (KIP-511),
and the client id is never compact.
"""

from typing import Any, TypeVar

from kafka_lagoon.wire.primitives import Frame
from kafka_lagoon.wire.reading import decode, decode_start
from kafka_lagoon.wire.schema import Api, Int16, Int32, String, struct, wire
from kafka_lagoon.wire.writing import append

R = TypeVar("R")
_PREFIX = 4  # bytes of the length


@struct
class RequestHeader:
    """The header of every request. v0, without a client id, was used only by brokers and is gone since 4.0."""

    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: String | None = wire(since=1, legacy=True)


@struct
class ResponseHeader:
    """The header of every response; v1 adds only a tag section."""

    correlation_id: Int32


def encode_request(
    api: Api[Any, Any], version: int, correlation_id: int, client_id: str | None, request: object
) -> bytearray:
    """The frame of a request with its length prefix; EncodeError for what the version cannot carry.

    It is made in one piece of memory: half a megabyte of records takes 20 us, and 370 where header, message and prefix are
    put together afterwards.
    """
    flexible = api.is_flexible(version)
    header = RequestHeader(
        request_api_key=api.key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    frame = bytearray(_PREFIX)
    append(frame, header, 2 if flexible else 1, flexible)
    append(frame, request, version, flexible)
    frame[:_PREFIX] = (len(frame) - _PREFIX).to_bytes(_PREFIX, "big")
    return frame


def decode_response_header(api: Api[Any, Any], version: int, frame: Frame) -> tuple[int, int]:
    """The correlation id of a frame (without its length prefix) and the position of its body.

    Read before the body, so that a response to another request is recognised before it is decoded as the wrong message.
    """
    flexible = api.is_flexible(version) and api.flexible_response_header
    header, body = decode_start(ResponseHeader, 1 if flexible else 0, flexible, frame)
    return header.correlation_id, body


def decode_response(api: Api[Any, R], version: int, frame: Frame) -> R:
    """The response in a frame (without its length prefix); DecodeError for anything else, left-over bytes too."""
    _, body = decode_response_header(api, version, frame)
    return decode(api.response, version, api.is_flexible(version), frame, body)
