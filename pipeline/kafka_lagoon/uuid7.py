"""Makes ids of snapshots and ingests: one per attempt, sorted by the time of the attempt (UUIDv7, RFC 9562)."""

import os
import uuid

_VERSION, _VARIANT = 7 << 76, 2 << 62
_RANDOM = (1 << 12) - 1 << 64 | (1 << 62) - 1


def new_id(now_ms: int) -> str:
    """48 bits of epoch milliseconds, then 74 random ones, in the usual spelling."""
    random = int.from_bytes(os.urandom(16), "big") & _RANDOM
    return str(uuid.UUID(int=(now_ms & (1 << 48) - 1) << 80 | _VERSION | _VARIANT | random))
