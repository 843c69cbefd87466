"""The system's clock, for tests that wait for real things."""

import time

from pipeline.client.deadline import Clock

CLOCK = Clock(now_ms=lambda: time.time_ns() // 1_000_000, monotonic=time.monotonic, sleep=time.sleep)
