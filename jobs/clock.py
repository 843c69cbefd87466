"""The system's clock, which jobs pass to everything that needs time."""

import time

from pipeline.client.deadline import Clock

SYSTEM_CLOCK = Clock(now_ms=lambda: time.time_ns() // 1_000_000, monotonic=time.monotonic, sleep=time.sleep)
