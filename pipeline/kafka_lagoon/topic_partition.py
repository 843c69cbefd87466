"""Declares the partition of a topic, the key of most answers. It imports nothing that takes long to load."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic. A tuple, because a snapshot hashes it several times: 5 times as fast as a dataclass."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """As Kafka spells it in its logs and messages: `orders-0`."""
        return f"{self.topic}-{self.partition}"
