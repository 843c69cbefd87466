"""Decodes what classic consumers exchange through their coordinator: subscriptions and assignments.

These bytes come from clients, not from brokers. As in Kafka's own consumers, a version above ours is read as our highest and
bytes after it are ignored. Anything else that is wrong is a DecodeError.
"""

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.wire.reading import T, decode_start
from kafka_lagoon.wire.schema import Bytes, Int16, Int32, String, Versions, struct, wire

VERSIONS = Versions(0, 3)


@struct
class EmbeddedTopicPartitions:
    """Some partitions of a topic."""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class Subscription:
    """A member's subscription: `member_metadata` of DescribeGroups."""

    topics: tuple[String, ...]
    user_data: Bytes | None = wire(default=None)  # the assignor's own
    owned_partitions: tuple[EmbeddedTopicPartitions, ...] = wire(since=1, ignorable=True)  # KIP-429
    generation_id: Int32 = wire(since=2, default=-1, ignorable=True)  # KIP-792
    rack_id: String | None = wire(since=3, default=None, ignorable=True)  # KIP-881


@struct
class Assignment:
    """A member's assignment: `member_assignment` of DescribeGroups."""

    assigned_partitions: tuple[EmbeddedTopicPartitions, ...]
    user_data: Bytes | None = wire(default=None)


@struct
class _Version:
    """Comes before both; all versions are backward compatible."""

    version: Int16


def decode_subscription(encoded: bytes) -> Subscription:
    """The subscription in `member_metadata`."""
    return _decode(Subscription, encoded)


def decode_assignment(encoded: bytes) -> Assignment:
    """The assignment in `member_assignment`."""
    return _decode(Assignment, encoded)


def _decode(cls: type[T], encoded: bytes) -> T:
    header, position = decode_start(_Version, 0, False, encoded)
    if header.version < VERSIONS.lowest:
        raise DecodeError(cls.__name__, header.version, 0, "no such version")
    message, _ = decode_start(cls, min(header.version, VERSIONS.highest), False, encoded, position)
    return message
