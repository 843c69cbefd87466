"""Clocks and deadlines. Both are passed as parameters, so that tests can run with their own time.

Every wait has a deadline, and all requests that serve one call share the same deadline.
"""

import random
import time
from collections.abc import Callable, Iterator

from kafka_lagoon.frozen import frozen


@frozen
class Clock:
    """A source of time: SYSTEM_CLOCK, or a clock of a test."""

    now_ms: Callable[[], int]  # wall time in epoch milliseconds, for rows
    monotonic: Callable[[], float]  # seconds, for durations
    sleep: Callable[[float], None]  # seconds


def _epoch_ms() -> int:
    return time.time_ns() // 1_000_000


SYSTEM_CLOCK = Clock(now_ms=_epoch_ms, monotonic=time.monotonic, sleep=time.sleep)


@frozen(kw_only=False)
class Deadline:
    """A point in monotonic time and the budget that led to it."""

    clock: Clock
    budget_ms: int
    expires_at: float

    @classmethod
    def after(cls, clock: Clock, budget_ms: int) -> "Deadline":
        """The deadline `budget_ms` milliseconds from now."""
        return cls(clock, budget_ms, clock.monotonic() + budget_ms / 1000)

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.expires_at - self.clock.monotonic())

    def passed(self) -> bool:
        """True if no time is left."""
        return self.remaining() <= 0

    def within(self, budget_ms: int) -> "Deadline":
        """The earlier of this deadline and the time `budget_ms` milliseconds from now."""
        sooner = Deadline.after(self.clock, budget_ms)
        return sooner if sooner.expires_at < self.expires_at else self

    def half(self) -> "Deadline":
        """The middle of the time that is left: for a step after which others need time, too."""
        return self.within(int(self.remaining() * 500))

    def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond the deadline; False if no time is left afterwards."""
        self.clock.sleep(min(seconds, self.remaining()))
        return not self.passed()


def backoff(first_ms: int, highest_ms: int) -> Iterator[float]:
    """Pauses in seconds: doubling from the first to the highest, each a fifth up or down at random (KIP-580)."""
    pause_ms = float(first_ms)
    while True:
        yield min(pause_ms, highest_ms) * random.uniform(0.8, 1.2) / 1000  # noqa: S311  jitter, not a secret
        pause_ms = min(pause_ms * 2, highest_ms)
