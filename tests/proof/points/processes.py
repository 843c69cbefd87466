"""Starts a job with its effects logged, stops it before one of them, and kills everything that belongs to it."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.integration.restore_process import members, send
from tests.jobs.commands import ROOT, environment
from tests.proof.points.effects import has_stopped, is_waiting

LOADED = Path(__file__).with_name("loaded")
TIMEOUT_S = 240
_POLL_S = 0.02


class JobProcess:
    """A job in a session of its own; whatever is left of it is killed at the end."""

    def __init__(
        self, command: Sequence[str], folder: Path, root: str, *, stop: str = "", without: str = "", **environ: str
    ) -> None:
        folder.mkdir(parents=True)
        self.log, self._output = folder / "effects", folder / "output"
        self._worker_dies = stop.startswith("worker ")
        paths = [str(LOADED), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        effects = {"EFFECTS_LOG": str(self.log), "EFFECTS_ROOT": root, "EFFECTS_STOP": stop, "EFFECTS_WITHOUT": without}
        environ = environment(PYTHONPATH=os.pathsep.join(paths), **effects, **environ)
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                command, env=environ, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=ROOT
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def output(self) -> str:
        """Its output until now."""
        return self._output.read_text(errors="replace")

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        return self._process.wait(TIMEOUT_S)

    def stops(self) -> bool:
        """Wait until the job stops at its point or has ended; return True if it has stopped or its worker was killed."""
        if self._worker_dies:
            self.wait()
        else:
            self._wait_until(lambda: has_stopped(self.log))
        return has_stopped(self.log)

    def resume(self) -> None:
        """Let a job go on that has stopped."""
        self.log.with_name(f"{self.log.name}.resumed").touch()

    def waits_for_lock(self) -> bool:
        """Wait until the job has met a lock or ended; return True if it waits."""
        self._wait_until(lambda: is_waiting(self.log))
        return self._process.poll() is None

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + TIMEOUT_S
        while not holds() and self._process.poll() is None:
            assert time.monotonic() < end, self.output
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """Kill every process of the session, until there is none."""
        while left := [process.pid for process in members(self._process.pid)]:
            for pid in left:
                send(pid, signal.SIGKILL)
            time.sleep(_POLL_S)
            self._process.poll()
        self._process.wait()


def spark_environment(master: str = "local[2]", *options: str) -> Mapping[str, str]:
    """The environment of a job whose JVM lives for seconds."""
    quick = '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"'
    return {"PYSPARK_SUBMIT_ARGS": " ".join([f"--master {master}", *options, quick, "pyspark-shell"])}
