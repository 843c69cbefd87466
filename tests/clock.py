"""Clocks for tests: the system's clock, and a clock that only advances when it sleeps."""

import time
from dataclasses import replace
from datetime import datetime

from kafka_lagoon.clock import Clock

CLOCK = Clock(now_ms=lambda: time.time_ns() // 1_000_000, monotonic=time.monotonic, sleep=time.sleep)


def clock_at(moment: datetime) -> Clock:
    """Make the system's clock, with another time of day."""
    return replace(CLOCK, now_ms=lambda: round(moment.timestamp() * 1000))


class Hands:
    """A clock that advances when it sleeps, so that a slow machine does not make deadlines pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> Clock:
        """Return the clock."""
        return Clock(now_ms=lambda: 0, monotonic=lambda: self.seconds, sleep=self.move)

    def move(self, seconds: float) -> None:
        """Advance the clock."""
        self.seconds += seconds
