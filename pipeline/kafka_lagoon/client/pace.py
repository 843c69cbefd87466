"""Keeps what a client exchanges with the brokers of a cluster below a number of bytes a second, on average.

An answer comes as a whole, so a request waits until what was exchanged before it has had its time. Each process has its own.
"""

from threading import Lock

from kafka_lagoon.clock import Clock, Deadline


class Pace:
    """The pace of all connections to a cluster; without a limit nothing waits."""

    def __init__(self, clock: Clock, bytes_per_second: int | None = None) -> None:
        self._clock, self._rate = clock, bytes_per_second
        self._free_at = clock.monotonic()  # when all that was exchanged has had its time
        self._lock = Lock()

    def spent(self, size: int) -> None:
        """So many bytes were sent or received."""
        if self._rate:
            with self._lock:
                self._free_at = max(self._free_at, self._clock.monotonic()) + size / self._rate

    def wait(self, deadline: Deadline) -> bool:
        """Wait until a request may be sent; False when none of the deadline is left then."""
        delay = self._free_at - self._clock.monotonic() if self._rate else 0
        return delay <= 0 or deadline.pause(delay)
