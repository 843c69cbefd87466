"""A standalone cluster of Spark on loopback: a master and workers, as processes without the tests' environment.

Executors have the environment of their worker: a PATH without our packages, and an empty home, which shows what they left there.
"""

import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.find_spark_home import _find_spark_home

from kafka_lagoon.sandbox.watchdog import Watchdog
from tests.installed import CLONE
from tests.integration.restore_process import Process, members, send

_START_TIMEOUT_S = 90
_POLL_S = 0.05
_EXECUTOR, _DAEMON = b"CoarseGrainedExecutorBackend", b"pyspark.daemon"
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Standalone:
    """A cluster that runs while the context is entered; each worker has `cores` cores and `memory_mb`."""

    def __init__(self, folder: Path, workers: int = 2, cores: int = 1, memory_mb: int = 1024) -> None:
        self.folder, self.home = folder, folder / "home"
        self.properties = folder / "lagoon.conf"  # options of master, workers and jobs, as in docs/executors.md
        self._sizes = (workers, cores, memory_mb)
        self._stack = ExitStack()
        self._watchdog: Watchdog | None = None
        self._pids: list[int] = []
        self.master = ""

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        self.properties.touch(0o600)
        recipe = (CLONE / "conf" / "cluster.conf").read_text()
        self.properties.write_text(f"{recipe}\nspark.authenticate.secret {secrets.token_hex(32)}\n")
        self._watchdog = Watchdog()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the cluster and all processes of its workers."""
        for pid in self._pids:
            for process in [*members(pid)]:
                send(process.pid, signal.SIGKILL)
        self._stack.close()
        if self._watchdog:
            self._watchdog.close()

    def executors(self) -> list[int]:
        """Return the JVMs of executors."""
        return [process.pid for process in self._processes() if _EXECUTOR in process.command]

    def python_workers(self, executor: int | None = None) -> list[int]:
        """Return the processes that run our tasks, of one executor or of all: a daemon of each executor forks them."""
        pythons = [process for process in self._processes() if _DAEMON in process.command]
        daemons = {process.pid for process in pythons if executor in (None, process.parent)}
        return [process.pid for process in pythons if process.parent in daemons]

    def executor_folders(self) -> set[Path]:
        """Return the folders of all executors, of every application, running or not."""
        return {path for path in self.folder.glob("work-*/app-*/*") if path.is_dir()}

    def left_at_home(self) -> set[Path]:
        """Return files that executors made in the home of their user."""
        return {path for path in self.home.rglob("*") if path.is_file()}

    def _processes(self) -> Iterator[Process]:
        for pid in self._pids:
            yield from members(pid)

    def _start(self) -> None:
        workers, cores, memory_mb = self._sizes
        common = ["--webui-port", "0", "--properties-file", str(self.properties)]
        log = self._launch("master", "master.Master", ["--host", "127.0.0.1", "--port", "0", *common])
        self.master = self._wait_for(lambda: re.findall(r"Starting Spark master at (spark://\S+)", log.read_text()))[0]
        options = [*common, "--cores", str(cores), "--memory", f"{memory_mb}m"]
        for number in range(workers):
            # Different hosts, because speculation starts no second attempt on the host of the first.
            own = ["--host", f"127.0.0.{number + 1}", "--work-dir", str(self.folder / f"work-{number}")]
            self._launch(f"worker-{number}", "worker.Worker", [*options, *own, self.master])
        # A worker that is slow to connect on a busy machine registers twice.
        self._wait_for(lambda: [""] * (len(set(re.findall(r"Registering worker (\S+)", log.read_text()))) == workers))

    def _launch(self, name: str, main: str, arguments: Sequence[str]) -> Path:
        log = self.folder / f"{name}.log"
        process = subprocess.Popen(
            [f"{_find_spark_home()}/bin/spark-class", f"org.apache.spark.deploy.{main}", *arguments],
            env=self._environment(),
            cwd=self.folder,
            stdout=self._stack.enter_context(log.open("w")),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._stack.callback(process.wait)
        self._pids.append(process.pid)
        assert self._watchdog
        self._watchdog.add(process.pid)
        return log

    def _environment(self) -> dict[str, str]:
        java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
        return {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "TMPDIR": str(self.folder),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _QUICK,
            **java,
        }

    def _wait_for(self, search: Callable[[], Sequence[str]]) -> Sequence[str]:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not (texts := search()):
            assert time.monotonic() < deadline, "\n".join(log.read_text() for log in self.folder.glob("*.log"))
            time.sleep(_POLL_S)
        return texts
