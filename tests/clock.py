"""Clocks for tests: the system's, and one that only moves when somebody sleeps."""

import time
from dataclasses import replace
from datetime import datetime

from kafka_lagoon.clock import Clock

CLOCK = Clock(now_ms=lambda: time.time_ns() // 1_000_000, monotonic=time.monotonic, sleep=time.sleep)


def clock_at(moment: datetime) -> Clock:
    """The system's clock, but for the time of day that it shows."""
    return replace(CLOCK, now_ms=lambda: round(moment.timestamp() * 1000))


class Hands:
    """A clock that moves when it sleeps, so that a slow machine does not make deadlines pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> Clock:
        """The clock with these hands."""
        return Clock(now_ms=lambda: 0, monotonic=lambda: self.seconds, sleep=self.move)

    def move(self, seconds: float) -> None:
        """Let so much time pass."""
        self.seconds += seconds
