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
    listed: dict[int, int | None] = {}
    for line in lines:
        pid = int(line[1:])
        if (descriptor := listed.pop(pid, None)) is not None:
            os.close(descriptor)
        if line.startswith("+"):
            with suppress(ProcessLookupError):
                listed[pid] = _descriptor(pid)
    for pid, descriptor in listed.items():
        with suppress(ProcessLookupError):
            if descriptor is None:
                os.kill(pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)


def _descriptor(pid: int) -> int | None:
    """A descriptor of the process; None where the system has none, ProcessLookupError if the process has ended.

    If a broker ends by itself, another process may get its id, but the descriptor never refers to that process. Ids are reused
    within minutes on small machines, because threads take ids, too.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # not Linux, or a container that forbids the call
        return None


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
