"""What classic consumers tell each other through their coordinator: subscriptions and assignments, as bytes.

Guards one rule: these bytes come from clients, not from brokers. A version above ours is read as our highest and bytes
behind it are left alone, as Kafka's own consumers do; whatever else is wrong is a DecodeError and nothing worse.
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
    """What a member wants: `member_metadata` of DescribeGroups."""

    topics: tuple[String, ...]
    user_data: Bytes | None = wire(default=None)  # the assignor's own
    owned_partitions: tuple[EmbeddedTopicPartitions, ...] = wire(since=1, ignorable=True)  # KIP-429
    generation_id: Int32 = wire(since=2, default=-1, ignorable=True)  # KIP-792
    rack_id: String | None = wire(since=3, default=None, ignorable=True)  # KIP-881


@struct
class Assignment:
    """What a member was given: `member_assignment` of DescribeGroups."""

    assigned_partitions: tuple[EmbeddedTopicPartitions, ...]
    user_data: Bytes | None = wire(default=None)


@struct
class _Version:
    """Leads both; all versions are backward compatible."""

    version: Int16


def decode_subscription(encoded: bytes) -> Subscription:
    """What a member subscribed to."""
    return _decode(Subscription, encoded)


def decode_assignment(encoded: bytes) -> Assignment:
    """What a member was assigned."""
    return _decode(Assignment, encoded)


def _decode(cls: type[T], encoded: bytes) -> T:
    lead, position = decode_start(_Version, 0, False, encoded)
    if lead.version < VERSIONS.lowest:
        raise DecodeError(cls.__name__, lead.version, 0, "no such version")
    message, _ = decode_start(cls, min(lead.version, VERSIONS.highest), False, encoded, position)
    return message
