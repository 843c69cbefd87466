"""Decoders of what brokers send, and of what clients and coordinators keep in bytes of their own."""

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any
from unittest.mock import patch

from kafka_lagoon.errors import DecodeError, FrameTooLarge
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.coordinator_records import GROUP_RECORDS, TRANSACTION_RECORDS, decode_record
from kafka_lagoon.protocol.embedded import Assignment, Subscription, decode_assignment, decode_subscription
from kafka_lagoon.protocol.headers import ResponseHeader, decode_response
from kafka_lagoon.wire import frames
from kafka_lagoon.wire.frames import FrameBuffer
from kafka_lagoon.wire.schema import Api
from kafka_lagoon.wire.writing import encode
from tests.examples import any_message
from tests.fake.answers import consumer_assignment, consumer_protocol

_LARGEST_FRAME = 1 << 20
_AT_ONCE = 64
_MOST_CHUNKS = 500
_CASES: list[tuple[Api[Any, Any], int]] = [(api, version) for api in APIS.values() for version in api.versions]
_NUMBER = 2  # bytes that choose the case


def responses(data: bytes) -> None:
    """The first two bytes choose API and version."""
    api, version = _CASES[int.from_bytes(data[:_NUMBER], "big") % len(_CASES)]
    with suppress(DecodeError):
        decode_response(api, version, data[_NUMBER:])


def responses_seeds() -> Iterator[bytes]:
    for number, (api, version) in enumerate(_CASES):
        body = encode(any_message(Random(number), api.response, version), version, api.is_flexible(version))
        header_is_flexible = api.is_flexible(version) and api.flexible_response_header
        header = encode(ResponseHeader(correlation_id=7), int(header_is_flexible), header_is_flexible)
        yield number.to_bytes(_NUMBER, "big") + header + body


def streams(data: bytes) -> None:
    """The first byte is the number of bytes that are received at a time; the frames are the same however they arrive."""
    at_once, received = max(1, len(data) // _MOST_CHUNKS, *data[:1]), data[1:]
    chunks = [received[start : start + at_once] for start in range(0, len(received), at_once)]
    # So that frames of a few bytes take the way of large ones.
    with patch.object(frames, "_CHUNK_BYTES", _AT_ONCE), patch.object(frames, "_FIRST_BYTES", _AT_ONCE):
        assert _frames(chunks) == _frames([received])


def _frames(chunks: list[bytes]) -> tuple[list[bytes], str | None]:
    complete, buffer = list[bytes](), FrameBuffer(_LARGEST_FRAME)
    try:
        for chunk in chunks:
            left = memoryview(chunk)
            while left:
                part = left[: max(1, min(len(left), buffer.missing()))]
                buffer.feed(part)
                left = left[len(part) :]
                while (frame := buffer.take()) is not None:
                    complete.append(bytes(frame))
    except FrameTooLarge as error:
        return complete, str(error)
    return complete, None


def streams_seeds() -> Iterator[bytes]:
    frame = (5).to_bytes(4, "big") + b"hello"
    yield b"\x30" + (150).to_bytes(4, "big") + bytes(150) + frame
    yield from (
        b"\1" + 3 * frame,
        b"\xff" + frame + b"HTTP/1.1",
        b"\7" + frame + b"\x15\x03\x03\0\2",
        b"\3\0\0\0\0" + frame,
    )


def members(data: bytes) -> None:
    with suppress(DecodeError):
        decode_subscription(data)
    with suppress(DecodeError):
        decode_assignment(data)


def members_seeds() -> Iterator[bytes]:
    yield consumer_protocol(["orders", "payments"])
    yield consumer_assignment({"orders": (0, 1, 2), "payments": ()})
    for version in range(4):
        for cls in (Subscription, Assignment):
            yield version.to_bytes(2, "big") + encode(any_message(Random(version), cls, version), version, False)


def coordinators(data: bytes) -> None:
    """The first byte is the length of the key, 255 for null; no bytes at all after it are a value that is null."""
    size = data[0] if data else 0
    key, value = (None, data[1:]) if size == 0xFF else (data[1 : 1 + size], data[1 + size :])
    for kinds in (GROUP_RECORDS, TRANSACTION_RECORDS):
        decode_record(kinds, key, value or None)


def coordinators_seeds() -> Iterator[bytes]:
    for kinds in (GROUP_RECORDS, TRANSACTION_RECORDS):
        for number, kind in kinds.items():
            key = number.to_bytes(2, "big") + encode(any_message(Random(number), kind.key, 0), 0, False)
            yield bytes([len(key)]) + key
            for version in kind.versions if kind.value else ():
                message = any_message(Random(version), kind.value, version)
                value = version.to_bytes(2, "big") + encode(message, version, version >= kind.flexible)
                yield bytes([len(key)]) + key + value
