"""The clock of processes that steps: the wall clock alone, in Python and Java, while they run."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.proof.clocks import Clocks

pytestmark = pytest.mark.skipif(not Clocks(Path()).is_there, reason="needs a C compiler")
_PRINTS = "import time; print(time.time(), time.monotonic(), flush=True); input(); print(time.time(), time.monotonic())"
_TOLERANCE_S = 20


def process(clocks: Clocks, days_later: int = 0) -> "subprocess.Popen[str]":
    environ = {**os.environ, **clocks.environment(days_later)}
    command = [sys.executable, "-c", _PRINTS]
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_step_of_a_process_that_runs(tmp_path: Path) -> None:
    """Its wall clock steps, its monotonic clock does not."""
    clocks = Clocks(tmp_path)
    running = process(clocks)
    assert running.stdout is not None
    wall, monotonic = map(float, running.stdout.readline().split())
    assert abs(wall - time.time()) < _TOLERANCE_S
    assert abs(monotonic - time.monotonic()) < _TOLERANCE_S
    assert clocks.step(-86_400)
    rest, _ = running.communicate("\n")
    wall, monotonic = map(float, rest.split())
    assert abs(wall - (time.time() - 86_400)) < _TOLERANCE_S
    assert abs(monotonic - time.monotonic()) < _TOLERANCE_S
    assert clocks.is_wrong
    clocks.step(0)
    assert (clocks.is_wrong, clocks.has_stepped) == (False, True)


def test_a_step_before_the_first_process(tmp_path: Path) -> None:
    """A history may begin with it."""
    clocks = Clocks(tmp_path / "new")
    assert clocks.step(3_600)
    output, _ = process(clocks).communicate("\n")
    assert abs(float(output.split()[0]) - (time.time() + 3_600)) < _TOLERANCE_S


def test_days_later(tmp_path: Path) -> None:
    """A process that runs days later has a clock of its own."""
    clocks = Clocks(tmp_path)
    later, _ = process(clocks, days_later=3).communicate("\n")
    assert abs(float(later.split()[0]) - (time.time() + 3 * 86_400)) < _TOLERANCE_S
    assert not clocks.has_stepped
