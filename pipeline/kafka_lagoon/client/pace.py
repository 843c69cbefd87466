"""Keeps a client's traffic with the brokers of a cluster below a number of bytes a second, on average.

An answer comes as a whole, so a request waits until the time of the bytes before it has passed. Each process has its own pace.
"""

from threading import Lock

from kafka_lagoon.clock import Clock, Deadline


class Pace:
    """The pace of all connections to a cluster; without a limit no request waits."""

    def __init__(self, clock: Clock, bytes_per_second: int | None = None) -> None:
        self._clock, self._rate = clock, bytes_per_second
        self._free_at = clock.monotonic()  # the time of all bytes so far has passed then
        self._lock = Lock()

    def spent(self, size: int) -> None:
        """Count bytes that were sent or received."""
        if self._rate:
            with self._lock:
                self._free_at = max(self._free_at, self._clock.monotonic()) + size / self._rate

    def wait(self, deadline: Deadline) -> bool:
        """Wait until a request may be sent; False if the deadline has passed by then."""
        delay = self._free_at - self._clock.monotonic() if self._rate else 0
        return delay <= 0 or deadline.pause(delay)
