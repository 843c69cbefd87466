"""Keeps for a second what is known of the target's topics, for tasks with many small partitions of one topic."""

from collections.abc import Callable
from typing import Generic, TypeVar

from kafka_lagoon.clock import Clock

_KEPT_S = 1.0
T = TypeVar("T")


class RecentTopics(Generic[T]):
    """Describes a topic again once the last description is a second old: brokers describe all its partitions at a time."""

    def __init__(self, clock: Clock, describe: Callable[[str], T]) -> None:
        self._clock, self._describe = clock, describe
        self._known: dict[str, tuple[float, T]] = {}

    def of(self, topic: str) -> T:
        """The description of a topic; whatever `describe` raises is raised, and the next call tries again."""
        now = self._clock.monotonic()
        known = self._known.get(topic)
        if known is None or now - known[0] >= _KEPT_S:
            known = self._known[topic] = now, self._describe(topic)
        return known[1]
