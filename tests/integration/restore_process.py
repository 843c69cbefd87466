"""A restore as a process of its own, whose processes are killed and stopped while it writes."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import NamedTuple, Self

from tests.jobs.commands import environment

_PAUSE_S = 0.002
_TIMEOUT_S = 150
_WORKERS = b"pyspark.daemon"


class Process(NamedTuple):
    """A process of a session, from /proc."""

    pid: int
    parent: int
    command: bytes


def members(session: int) -> Iterator[Process]:
    """Return the processes of a session that have not ended, in any process group."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):
            state, parent, _, of_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of_session) == session and state != "Z":
                yield Process(int(folder.name), int(parent), (folder / "cmdline").read_bytes())


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class RestoreProcess:
    """`lagoon restore`, started with arguments and Spark's master; all remaining processes are killed at the end."""

    def __init__(self, command: Sequence[str], master: str = "local[2]") -> None:
        options = f'--master {master} --driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'
        self._process = subprocess.Popen(
            ["lagoon", *command],
            env=environment(PYSPARK_SUBMIT_ARGS=options),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output: list[str] = []
        assert self._process.stdout
        Thread(target=self.output.extend, args=(self._process.stdout,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill_all()

    def wait_until(self, holds: Callable[[], bool]) -> bool:
        """Wait until a condition holds or the process has ended; return True if it still runs."""
        deadline = time.monotonic() + _TIMEOUT_S
        while self._process.poll() is None and not holds():
            assert time.monotonic() < deadline, "".join(self.output)
            time.sleep(_PAUSE_S)
        return self._process.poll() is None

    def has_begun(self, step: str) -> bool:
        """Return True if a step of the run has begun."""
        return any(f'"name": "{step}"' in line for line in self.output)

    def exit_code(self) -> int:
        """Wait for the end; return the exit code."""
        return self._process.wait(_TIMEOUT_S)

    def workers(self) -> list[int]:
        """Return Spark's Python workers, which its daemon forks."""
        pythons = [process for process in members(self._process.pid) if _WORKERS in process.command]
        daemons = {process.pid for process in pythons}
        return [process.pid for process in pythons if process.parent in daemons]

    def kill_driver(self) -> None:
        """Kill only the driver; the JVM and the workers then end by themselves."""
        send(self._process.pid, signal.SIGKILL)
        self._process.wait(_TIMEOUT_S)

    def kill_all(self) -> None:
        """Kill all processes at once."""
        self._kill_but(())

    def leave_stopped_workers(self) -> list[int]:
        """Kill everything but the workers, which are stopped: they continue to write when they are resumed."""
        workers = self.workers()
        for pid in workers:
            send(pid, signal.SIGSTOP)
        self._kill_but(workers)
        return workers

    def _kill_but(self, left: Sequence[int]) -> None:
        # The daemon before the JVM: otherwise it would kill its workers.
        processes = [process for process in members(self._process.pid) if process.pid not in left]
        for process in sorted(processes, key=lambda process: _WORKERS not in process.command):
            send(process.pid, signal.SIGKILL)
        self._process.wait(_TIMEOUT_S)
