"""Runs a command and measures the processor seconds of everything that it has started: Python, JVMs and their workers.

    python -m tests.bench.process_tree RESULT COMMAND...

Processes whose parent has ended become children of this one, which waits for all of them and writes the sum to the file RESULT.
"""

import ctypes
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def main(result: str, *command: str) -> int:
    """Return the exit code of the command, after the last of its processes has ended."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this process cannot adopt those of the command")
    code = subprocess.call(command)
    with suppress(ChildProcessError):  # there are no more
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(result).write_text(str(used.ru_utime + used.ru_stime))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
