"""Runs a command and writes what it used: launcher.py FILE COMMAND...

It adopts processes that outlive their parents (PR_SET_CHILD_SUBREAPER), so that wait4 says of each what it used, and ends as the command
did. Its imports are of the standard library alone: it runs without site-packages.
"""

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_LINGERS_S = 30.0  # a process that outlives the command for longer is left behind
_POLL_S = 0.05


def main(usage_file: str, *command: str) -> int:
    """Run the command; return its exit code, or end by the signal that has ended it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = os.posix_spawnp(command[0], command, os.environ)
    code, cpu_s, peak_kb, ended_at = 0, 0.0, 0, 0.0
    for pid, status, used in _ended(started):
        cpu_s += used.ru_utime + used.ru_stime
        peak_kb = max(peak_kb, used.ru_maxrss)
        if pid == started:
            code, ended_at = os.waitstatus_to_exitcode(status), time.monotonic()
    usage = {"cpu_s": cpu_s, "peak_kb": peak_kb, "lingered_s": time.monotonic() - ended_at, "left": _children()}
    with open(usage_file, "w", encoding="utf-8") as file:  # noqa: PTH123  pathlib takes longer than the rest
        json.dump(usage, file)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _ended(command: int) -> Iterator[tuple[int, int, Any]]:
    """Wait for processes until none is left, or the command has ended some time ago."""
    until = None
    while until is None or time.monotonic() < until:
        try:
            pid, status, used = os.wait4(-1, 0 if until is None else os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            yield pid, status, used
        else:
            time.sleep(_POLL_S)
        if pid == command:
            until = time.monotonic() + _LINGERS_S


def _children() -> int:
    """Count the processes that are left."""
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", encoding="utf-8") as file:  # noqa: PTH123
        return len(file.read().split())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
