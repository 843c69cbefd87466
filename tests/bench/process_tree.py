"""Runs a command and measures the processor seconds of everything that it has started: Python, JVMs and their workers.

    python -m tests.bench.process_tree RESULT COMMAND...

Processes whose parent has ended become children of this one, which waits for all of them and writes the sum to the file RESULT. Spark's
daemon ignores the ends of its Python workers, so that the system adds their time to nobody's: they are sampled.
"""

import ctypes
import os
import resource
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.processor_time import seconds_of

_PR_SET_CHILD_SUBREAPER = 36
_EVERY_S = 0.05
_DAEMON = b"pyspark.daemon"


class Workers:
    """Processor seconds of the workers of Spark's daemons below this process, until the context ends."""

    def __init__(self) -> None:
        self.cpu_s: dict[int, float] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample_all)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample_all(self) -> None:
        while not self._end.wait(_EVERY_S):
            self._sample(os.getpid(), is_daemon=False)

    def _sample(self, parent: int, *, is_daemon: bool) -> None:
        with suppress(OSError, IndexError):  # a process has ended
            for task in Path(f"/proc/{parent}/task").iterdir():
                for child in map(int, (task / "children").read_text().split()):
                    is_spark = _DAEMON in Path(f"/proc/{child}/cmdline").read_bytes()
                    if is_daemon and is_spark:
                        self.cpu_s[child] = seconds_of(child)
                    else:
                        self._sample(child, is_daemon=is_spark)


def main(result: str, *command: str) -> int:
    """Return the exit code of the command, after the last of its processes has ended."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this process cannot adopt those of the command")
    with Workers() as workers:
        code = subprocess.call(command)
        with suppress(ChildProcessError):  # there are no more
            while True:
                ended, _ = os.wait()
                workers.cpu_s.pop(ended, None)  # a worker that outlived its daemon
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(result).write_text(str(used.ru_utime + used.ru_stime + sum(workers.cpu_s.values())))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
