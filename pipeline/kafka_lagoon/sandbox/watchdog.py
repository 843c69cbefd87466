"""Kills the processes whose ids it reads on standard input, once that input ends.

So no broker outlives the process that started it, however that ended: the input is a pipe from the parent, and its end is the
only sign that survives a SIGKILL on every system. A line `+PID` adds a process, `-PID` removes it. It is started as a file by
itself and imports nothing of ours.
"""

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress


def watch(lines: Iterable[str]) -> None:
    """Follow the list until the lines end, then kill what is left on it."""
    pids: set[int] = set()
    for line in lines:
        pid = int(line[1:])
        (pids.add if line.startswith("+") else pids.discard)(pid)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.stdin)
