"""Kills the processes whose ids it reads on standard input, once that input ends.

So no broker outlives the process that started it, however that ended: the input is a pipe from the parent, and its end is the
only sign that survives a SIGKILL on every system. A line `+PID` adds a process, `-PID` removes it. `Watchdog` starts this file
as a program, which imports nothing of ours.
"""

import os
import signal
import subprocess
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


class Watchdog:
    """The program, running; it ends with this process, or when it is closed."""

    def __init__(self) -> None:
        command = [sys.executable, "-S", __file__]
        self._process = subprocess.Popen(  # noqa: S603  our own file
            command, stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def add(self, pid: int) -> None:
        """Have a process killed when this one ends."""
        self._tell(f"+{pid}")

    def remove(self, pid: int) -> None:
        """Leave a process alone: it has ended, and its id may be another's."""
        self._tell(f"-{pid}")

    def close(self) -> None:
        """End its input: it kills what is left on its list, and ends."""
        self._process.communicate()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


if __name__ == "__main__":
    watch(sys.stdin)
