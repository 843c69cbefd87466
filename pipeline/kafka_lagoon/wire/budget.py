"""Bounds the memory, and with it the time, that one message may take when it is decoded, whatever its bytes claim.

It is estimated before structs are made: small structs take some fifty times their bytes, so a limit of bytes alone would let
one answer take all memory. 100,000 partitions of Metadata take 40 MB. At the limit decoding ends after some ten seconds, so
less time allows less memory.
"""

import threading
from collections.abc import Callable

DECODED_MAX_BYTES = 1 << 30
DECODED_BYTES_PER_S = 64 << 20  # a slow machine's; also what is allowed when no time is left, because answers are small
PER_STRUCT, PER_FIELD = 48, 40  # an object, and a number or a short text in it
PER_COLUMNS = 8 << 10  # an array by column; it takes less, but as long as so many bytes of structs


class Budget(threading.local):
    """Bytes that the message that this thread decodes may still take."""

    left = allowed = DECODED_MAX_BYTES
    remaining_s: Callable[[], float] | None = None

    def obey(self, remaining_s: Callable[[], float]) -> None:
        """Decode what this thread receives from now on within the seconds that are left then, or in one second more."""
        self.remaining_s = remaining_s

    def begin(self) -> None:
        """A message begins."""
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
