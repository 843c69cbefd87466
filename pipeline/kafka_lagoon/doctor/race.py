"""Counts in a file under the lock of the warehouse, in a process of its own: `python -m kafka_lagoon.doctor.race FILE ROUNDS`.

Several of these at once lose a count where the lock does not keep them apart, as on some network file systems.
"""

import sys
from pathlib import Path

from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.lock import locked

_WAIT_MS = 30_000


def count(path: Path, rounds: int) -> None:
    """Add 1 to the number in a file, several times, each time under the lock; raises as `locked` does."""
    for _ in range(rounds):
        with locked(path.with_name(f"{path.name}.lock"), SYSTEM_CLOCK, _WAIT_MS):
            path.write_text(str(int(path.read_text()) + 1))


if __name__ == "__main__":
    count(Path(sys.argv[1]), int(sys.argv[2]))
