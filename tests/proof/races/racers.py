"""Starts racers, lets them begin a round at the same moment, and kills what is left of them at the end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.integration.restore_process import members, send
from tests.jobs.commands import ROOT, environment
from tests.proof.races.racer import write_whole

_STARTS_WITHIN_S = 240
_ENDS_WITHIN_S = 600
_POLL_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a racer in a round: exit code, the event that ended the run, its output, and when it ran."""

    exit_code: int
    event: Mapping[str, Any]
    output: str
    started_at: float
    ended_at: float

    @classmethod
    def parse(cls, report: Mapping[str, Any]) -> "Run":
        """Read the report of a racer."""
        event: Mapping[str, Any] = {}
        for line in report["output"].splitlines():
            if line.startswith("{") and '"run_finished"' in line:
                event = json.loads(line)
        return cls(
            exit_code=report["exit"],
            event=event,
            output=report["output"],
            started_at=report["from"],
            ended_at=report["to"],
        )


class Racers:
    """Processes that wait for rounds; whatever is left of them is killed at the end."""

    def __init__(self, folder: Path, number: int, options: Sequence[str], environ: Mapping[str, str]) -> None:
        temporary = folder / "tmp"
        temporary.mkdir(parents=True)
        self._folder, self._round = folder, 0
        self._processes = []
        paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environ = environment(PYTHONPATH=paths, TMPDIR=str(temporary), **environ)
        for racer in range(number):
            with (folder / f"output-{racer}").open("w") as output:
                command = [sys.executable, "-m", "tests.proof.races.racer", str(folder), str(racer), *options]
                self._processes.append(
                    subprocess.Popen(
                        command,
                        env=environ,
                        cwd=folder,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._processes:
            while left := [member.pid for member in members(process.pid)]:
                for pid in left:
                    send(pid, signal.SIGKILL)
                time.sleep(_POLL_S)
                process.poll()
            process.wait()

    def race(self, commands: Sequence[Sequence[str]]) -> list[Run]:
        """Let every racer run its command, all from the same moment; return what they did."""
        self._round += 1
        write_whole(self._folder / f"round-{self._round}", json.dumps([list(command) for command in commands]))
        self._wait("ready", _STARTS_WITHIN_S)
        (self._folder / f"go-{self._round}").touch()
        return [Run.parse(json.loads(path.read_text())) for path in self._wait("done", _ENDS_WITHIN_S)]

    def _wait(self, word: str, seconds: int) -> list[Path]:
        paths = [self._folder / f"{word}-{self._round}-{racer}" for racer in range(len(self._processes))]
        deadline = time.monotonic() + seconds
        while missing := [racer for racer, path in enumerate(paths) if not path.exists()]:
            for racer in missing:
                said = (self._folder / f"output-{racer}").read_text(errors="replace")[-2000:]
                assert self._processes[racer].poll() is None, f"racer {racer} ended: {said}"
            assert time.monotonic() < deadline, f"racers {missing} are not {word} after {seconds} s"
            time.sleep(_POLL_S)
        return paths
