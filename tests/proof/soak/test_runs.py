"""The launcher measures a command with all its descendants, and figures of runs show a leak."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.proof.jobs import LAUNCHER
from tests.proof.soak.bounds import Period
from tests.proof.soak.endings import Ending
from tests.proof.soak.levels import levels
from tests.proof.soak.runs import Done, Gate, Lane, Runs, Used

PYTHON = [sys.executable, "-S", "-c"]
_ORPHAN = "import os; os.fork() or (os.setpgid(0, 0), [bytearray(80 << 20)], sum(range(3_000_000)))"


def launched(tmp_path: Path, *command: str) -> tuple[int, dict[str, float]]:
    """Run a command by the launcher; return its exit code, and what it used."""
    file = tmp_path / "usage.json"
    code = subprocess.run([sys.executable, "-S", str(LAUNCHER), str(file), *command], check=False).returncode
    return code, json.loads(file.read_text("utf-8"))


def test_the_launcher_ends_as_the_command(tmp_path: Path) -> None:
    """Exit codes and signals are those of the command."""
    assert launched(tmp_path, *PYTHON, "raise SystemExit(3)")[0] == 3
    assert launched(tmp_path, *PYTHON, "import os; os.kill(os.getpid(), 9)")[0] == -signal.SIGKILL


def test_orphans_are_measured(tmp_path: Path) -> None:
    """A process that outlives the command counts, and the launcher waits for it."""
    code, used = launched(tmp_path, *PYTHON, _ORPHAN)
    assert (code, used["left"]) == (0, 0)
    assert used["peak_kb"] > 80 << 10
    assert used["cpu_s"] > 0


def test_a_planted_leak_is_found(tmp_path: Path) -> None:
    """A job whose processes need more memory each time is named, and one that always needs the same is not."""
    runs = Runs(None, tmp_path)  # type: ignore[arg-type]
    needs = [launched(tmp_path, *PYTHON, f"bytearray({40 * number} << 20)")[1] for number in range(6)]
    for job, used in (*(("leaking", of_run) for of_run in needs), *[("steady", needs[1])] * 6):
        ending = Ending(job=job, exit_code=0, period=Period(0, 1))
        runs.done.append(Done(ending, Used(cpu_s=used["cpu_s"], peak_mb=used["peak_kb"] / 1024), []))
    grown = [one.name for one in levels(runs.figures()) if not one.is_level]
    assert grown == ["leaking: peak memory of a process"]


def test_runs_that_are_compared(tmp_path: Path) -> None:
    """Only runs that were left alone and are complete are compared, and ingests that lack what retention has removed."""
    runs = Runs(None, tmp_path)  # type: ignore[arg-type]
    for number, (code, is_signalled) in enumerate([(0, True), (3, False), (-9, True), (1, False), (0, False)]):
        for job in ("ingest", "snapshot"):
            ending = Ending(job=job, exit_code=code, period=Period(0, 1), is_signalled=is_signalled)
            runs.done.append(Done(ending, Used(cpu_s=number), []))
    figures = runs.figures()
    assert (figures["ingest: CPU"].values, figures["snapshot: CPU"].values) == ([1, 4], [4])


def test_one_runs_alone() -> None:
    """Jobs run side by side, but not beside the one that runs alone."""
    gate, events = Gate(), list[str]()
    with gate.shared(), gate.shared():
        alone = threading.Thread(target=_enter, args=(gate.alone(), events, "alone"))
        alone.start()
        while not gate._waiting:
            time.sleep(0.001)
        late = threading.Thread(target=_enter, args=(gate.shared(), events, "late"))
        late.start()
        events.append("shared")
    alone.join(5)
    late.join(5)
    assert events == ["shared", "alone", "late"]


def _enter(context: object, events: list[str], name: str) -> None:
    with context:  # type: ignore[attr-defined]
        events.append(name)


def test_times_that_have_passed() -> None:
    """A lane whose work takes longer than its period leaves times out, and ends with the event."""
    ends, times = threading.Event(), list[float]()

    def work() -> None:
        times.append(time.monotonic())
        time.sleep(0.025)
        if len(times) == 3:
            ends.set()

    started = time.monotonic()
    Lane(work, 0.02, 0.01).run(ends)
    assert len(times) == 3
    assert [moment - started >= least for moment, least in zip(times, (0.01, 0.05, 0.09), strict=True)] == [True] * 3
