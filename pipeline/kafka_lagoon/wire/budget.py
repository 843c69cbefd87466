"""Bounds the memory, and with it the time, that decoding one message may take, whatever its bytes claim.

The memory is estimated before structs are made: small structs take about fifty times their bytes, so with a limit of bytes
alone one answer could take all memory. 100,000 partitions of Metadata take 40 MB. At the limit decoding ends after about ten
seconds, so less time allows less memory.
"""

import threading
from collections.abc import Callable

DECODED_MAX_BYTES = 1 << 30
DECODED_BYTES_PER_S = 64 << 20  # on a slow machine; also allowed when no time is left, because answers are small
PER_STRUCT, PER_FIELD = 48, 40  # an object, and a number or a short text in it
PER_COLUMNS = 8 << 10  # an array by column; it takes less memory, but as much time as so many bytes of structs


class Budget(threading.local):
    """Bytes that the message being decoded in this thread may still take."""

    left = allowed = DECODED_MAX_BYTES
    remaining_s: Callable[[], float] | None = None

    def obey(self, remaining_s: Callable[[], float]) -> None:
        """Set the time for the next messages of this thread: the seconds left, or one second more."""
        self.remaining_s = remaining_s

    def begin(self) -> None:
        """Start a message."""
        self.left = self.allowed = DECODED_MAX_BYTES
        if self.remaining_s:
            in_time = int((1 + self.remaining_s()) * DECODED_BYTES_PER_S)
            self.left = self.allowed = min(DECODED_MAX_BYTES, in_time)

    # Hot: once for each array of structs.
    def spend(self, size: int) -> None:
        """Count what an array will take; ValueError beyond the limit."""
        self.left -= size
        if self.left < 0:
            raise ValueError(f"more than {self.allowed:,} bytes of memory")


BUDGET = Budget()
