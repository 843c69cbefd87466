"""Times functions alternately, so that other load on the machine affects all of them."""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A run: wall seconds, processor seconds, and the size of the largest process in MB if processes were measured."""

    wall_s: float
    cpu_s: float
    peak_mb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Samples of ours and of a peer from one run; `measure` is the compared field of the samples."""

    what: str
    ours: Sequence[Sample]
    peer: str
    theirs: Sequence[Sample]
    measure: str = "wall_s"

    def median(self, samples: Sequence[Sample]) -> float:
        """Return the median of the compared field."""
        return statistics.median(getattr(one, self.measure) for one in samples)

    def best(self, samples: Sequence[Sample]) -> float:
        """Return the minimum of the compared field, from the least disturbed run."""
        return min(getattr(one, self.measure) for one in samples)

    def ratios(self) -> tuple[float, float]:
        """Return the peer's time divided by ours, by medians and by best runs: above 1 ours is faster."""
        return self.median(self.theirs) / self.median(self.ours), self.best(self.theirs) / self.best(self.ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of a benchmark: comparisons for the table, sentences below it, and tables of its own in Markdown."""

    comparisons: Sequence[Comparison]
    notes: Sequence[str] = ()
    tables: Sequence[str] = ()


def alternate(
    cases: Mapping[str, Callable[[], Sample]], rounds: int, *, warm_up: bool = True
) -> dict[str, list[Sample]]:
    """Run every case once per round, each round beginning with another case; a warm-up round is not counted."""
    samples: dict[str, list[Sample]] = {name: [] for name in cases}
    names = list(cases)
    for number in range(-1 if warm_up else 0, rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            sample = cases[name]()
            if number >= 0:
                samples[name].append(sample)
    return samples


def timed(function: Callable[[], object]) -> Callable[[], Sample]:
    """Make a case for `alternate`; the result of the function is discarded after the clock has stopped."""

    def run() -> Sample:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        made = function()
        sample = Sample(wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)
        del made
        return sample

    return run


def environment() -> dict[str, str]:
    """Return an environment in which the programs of this interpreter come first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def process(
    *command: str, printed: str = "", times: int = 1, environ: Mapping[str, str] | None = None
) -> Callable[[], Sample]:
    """Make a case that runs a command, and checks its exit code and how often it prints a text, at least."""

    def run() -> Sample:
        with tempfile.TemporaryFile(mode="w+") as output:
            began = time.perf_counter()
            started = subprocess.Popen(list(command), stdout=output, stderr=subprocess.STDOUT, env=environ)
            _, status, used = os.wait4(started.pid, 0)
            wall_s = time.perf_counter() - began
            started.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read()
            assert started.returncode == 0, text
            assert text.count(printed) >= times, text
        return Sample(wall_s=wall_s, cpu_s=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss / 1024)

    return run
