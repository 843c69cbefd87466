"""Process ids on standard input in; those processes dead, once the input ends, out.

Guards one rule: no broker outlives whoever started it, however that one ended. A line `+PID` adds a process, `-PID`
takes it off the list. The input is a pipe from the parent: its end is the only sign that survives a SIGKILL, on every
system. Started as a file by itself, so it imports nothing of ours.
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
