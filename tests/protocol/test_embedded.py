"""The consumer protocol inside groups: bytes from clients, which may be anything."""

import contextlib
from collections.abc import Callable

import pytest

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.embedded import (
    VERSIONS,
    Assignment,
    EmbeddedTopicPartitions,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from kafka_lagoon.wire.writing import encode
from tests.examples import any_bytes, any_message, randoms

OWNED = (EmbeddedTopicPartitions(topic="a", partitions=(0, 2)),)
EVERYTHING = Subscription(topics=("a",), user_data=b"u", owned_partitions=OWNED, generation_id=5, rack_id="r")


def _version(version: int) -> bytes:
    return version.to_bytes(2, "big", signed=True)


def test_subscription_bytes() -> None:
    """Version, topics, the assignor's data; then owned partitions (v1), generation (v2) and rack (v3)."""
    spelled = "0003 00000001 0001 61 00000001 75 00000001 0001 61 00000002 00000000 00000002 00000005 0001 72"
    assert decode_subscription(bytes.fromhex(spelled)) == EVERYTHING


def test_old_subscription() -> None:
    """Fields that an old version lacks have their default."""
    assert decode_subscription(bytes.fromhex("0000 00000001 0001 61 ffffffff")) == Subscription(topics=("a",))


def test_assignment_bytes() -> None:
    """Version, partitions by topic, the assignor's data; the same in every version."""
    spelled = "00000001 0001 61 00000002 00000000 00000002 ffffffff"
    for version in VERSIONS:
        decoded = decode_assignment(_version(version) + bytes.fromhex(spelled))
        assert decoded == Assignment(assigned_partitions=OWNED)


@pytest.mark.parametrize("version", list(VERSIONS))
def test_round_trip(version: int) -> None:
    """Bytes of every version are decoded to the same message."""
    for random in randoms(version, 100):
        subscription = any_message(random, Subscription, version)
        assignment = any_message(random, Assignment, version)
        assert decode_subscription(_version(version) + encode(subscription, version, False)) == subscription
        assert decode_assignment(_version(version) + encode(assignment, version, False)) == assignment


@pytest.mark.parametrize("version", [4, 99, 32767])
def test_newer_versions(version: int) -> None:
    """A newer version is read as our highest version, and further fields are ignored."""
    encoded = _version(version) + encode(EVERYTHING, VERSIONS.highest, False) + b"something new"
    assert decode_subscription(encoded) == EVERYTHING
    encoded = _version(version) + encode(Assignment(assigned_partitions=OWNED), VERSIONS.highest, False) + b"new"
    assert decode_assignment(encoded) == Assignment(assigned_partitions=OWNED)


def test_bytes_after_a_message() -> None:
    """Bytes after a message of a known version are ignored too."""
    assert decode_subscription(_version(3) + encode(EVERYTHING, 3, False) + b"behind") == EVERYTHING


@pytest.mark.parametrize("encoded", [b"", b"\0", b"\0\0", b"\xff\xff" + bytes(20), b"\0\0\xff\xff\xff\xff"])
def test_garbage(encoded: bytes) -> None:
    """No version, no body, a negative version, null for topics: each raises DecodeError."""
    with pytest.raises(DecodeError):
        decode_subscription(encoded)
    with pytest.raises(DecodeError):
        decode_assignment(encoded)


@pytest.mark.parametrize("decoder", [decode_subscription, decode_assignment])
def test_random_bytes(decoder: Callable[[bytes], object]) -> None:
    """Random bytes raise only DecodeError."""
    for random in randoms("left", 200):
        with contextlib.suppress(DecodeError):
            decoder(random.choice((b"", b"\0\1")) + any_bytes(random, 60))
