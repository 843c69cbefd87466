"""State and request in, response out: one function per API that the fake brokers speak."""

import struct
from collections.abc import Callable
from typing import Any

from pipeline.protocol.messages.api_versions import API_VERSIONS, ApiVersion, ApiVersionsResponse
from pipeline.wire.schema import Versions
from tests.fake.cluster import FakeCluster

UNKNOWN_TOPIC, NOT_LEADER, NOT_COORDINATOR, GROUP_NOT_FOUND = 3, 6, 16, 69
UNSTABLE, UNSUPPORTED = 88, 35
NO_EPOCH = -1


def consumer_protocol(names: tuple[str, ...]) -> bytes:
    """A subscription of version 0."""
    body = b"".join(struct.pack(">h", len(name)) + name.encode() for name in names)
    return struct.pack(">hi", 0, len(names)) + body + struct.pack(">i", -1)


def consumer_assignment(assignment: dict[str, tuple[int, ...]]) -> bytes:
    """An assignment of version 0."""
    body = b"".join(
        struct.pack(">h", len(name)) + name.encode() + struct.pack(f">i{len(some)}i", len(some), *some)
        for name, some in assignment.items()
    )
    return struct.pack(">hi", 0, len(assignment)) + body + struct.pack(">i", -1)
