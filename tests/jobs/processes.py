"""Jobs as processes of their own, which tests watch and kill."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

TIMEOUT_S = 240


@dataclass
class Job:
    """`lagoon ingest` as a process group of its own, with its output until now and its warehouse."""

    process: subprocess.Popen[str]
    warehouse: Path
    output: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.process.stdout is not None
        self._reading = Thread(target=self.output.extend, args=(self.process.stdout,))
        self._reading.start()

    def begins(self, step: str) -> bool:
        """Return True if the log has the line of a step."""
        return any(f'"name": "{step}"' in line for line in self.output)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Return as soon as a condition holds, or the process has ended."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and not condition():
            assert time.monotonic() < deadline, "".join(self.output)
            time.sleep(0.005)

    def files(self, pattern: str) -> set[Path]:
        """Return the files below the warehouse."""
        return set(self.warehouse.glob(pattern))

    def kill(self) -> None:
        """Send SIGKILL to the driver, its JVM and its workers; then all output is known."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        """Wait until the last process of the group has ended."""
        self.process.wait(TIMEOUT_S)
        self._reading.join(TIMEOUT_S)


@contextmanager
def running(command: Sequence[str], environ: Mapping[str, str], warehouse: Path) -> Iterator[Job]:
    """Run a process, and kill all that is left of it at the end."""
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    job = Job(process, warehouse)
    try:
        yield job
    finally:
        if process.poll() is None:
            job.kill()
        job.end()


def descendants(process: int) -> Iterator[int]:
    """Return the processes that a process has started, directly or indirectly."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += (thread / "children").read_text().split()
    except FileNotFoundError:
        return
    for child in dict.fromkeys(map(int, children)):
        yield child
        yield from descendants(child)
