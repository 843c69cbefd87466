"""Runs `lagoon` as if it were so many seconds later, so that a row of snapshots takes minutes and not hours.

python tests/bench/shifted_clock.py SECONDS COMMAND...
"""

import sys
from dataclasses import replace

from kafka_lagoon import clock
from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    by_ms, system = int(sys.argv[1]) * 1000, clock.SYSTEM_CLOCK
    clock.SYSTEM_CLOCK = replace(system, now_ms=lambda: system.now_ms() + by_ms)
    sys.exit(main(sys.argv[2:]))
