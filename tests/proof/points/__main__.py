"""Lets jobs die at every point between two durable effects, and judges what is there when they have been run again.

python -m tests.proof.points [--job NAME]... [--times N] [--point NAME]... [--every N] [--alone | --resume] [--list]
                             [--json FILE [--go-on]] [--minutes N]

Each job is first run undisturbed, with its warehouse watched from outside and its requests counted by a relay: what no effect
explains is a fault of this check, and the run fails. Then it dies at each point while a second process of the same job waits for
its lock, and is run until it ends with 0. Prints a line for each failure, which names the point, and one line of counts. FILE has
the figures after each point, so that a run with --go-on begins with the next one.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.object_store import object_store
from tests.proof.figures import Figures, this_run
from tests.proof.points.buckets import InBucket
from tests.proof.points.check import unexplained_changes, unexplained_requests
from tests.proof.points.effects import Effect, points, read_effects
from tests.proof.points.jobs import Job, new_jobs
from tests.proof.points.loaded.durable_effects import CHANGING
from tests.proof.points.watch import Watch
from tests.proof.points.world import Attempt, Verdict, World, new_world

_MOST_RUNS = 5
_TERMINATED = 128 + signal.SIGTERM


@dataclass
class Counts:
    """Counts of the points that were tried, and of their results."""

    numbers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    by_job: Counter[str] = field(default_factory=Counter)  # points of each job, and how many of them were tried
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    def fail(self, text: str) -> None:
        """Print and keep a failure."""
        self.failures.append(text)
        print(f"FAILED {text}", flush=True)

    def line(self) -> str:
        """The line of counts."""
        names = (
            "jobs",
            "effects",
            "points",
            "deaths",
            "seconds_waited",
            "further_runs",
            "lost",
            "doubled",
            "unexplained",
        )
        counts = ", ".join(f"{self.numbers[name]} {name.replace('_', ' ')}" for name in names)
        return f"points: {counts}, {len(self.failures)} failures, {self.seconds:.0f} s"

    def figures(self) -> Figures:
        """The counts as figures of a part of the proof."""
        tried = {name: self.numbers[name] for name in ("jobs", "effects", "points")}
        violations = {name: self.numbers[name] for name in ("lost", "doubled", "unexplained")}
        return Figures(
            tried=tried,
            happened={
                "deaths": self.numbers["deaths"],
                "second processes": self.numbers["seconds_waited"],
                **self.by_job,
            },
            violations={**violations, "failures": len(self.failures)},
            seconds=self.seconds,
            runs=(this_run(),),
        )


def recorded(world: World, job: Job, counts: Counts, without: str = "") -> list[Effect]:
    """Run a job undisturbed; return its effects, and count those that have no point.

    With `without` the log leaves out what goes through a function, which must be found.
    """
    attempt = job.attempt(retries=False)
    relay = world.relay
    relay.counts.clear()
    root = Path(attempt.root)
    before = len(job.store.requests()) if isinstance(job, InBucket) else 0
    with Watch(root if root.is_dir() else world.java) as watch, world.start(attempt, without=without) as process:
        code = process.wait()
    effects = read_effects(process.log)
    changes = job.changes(attempt.root, before) if isinstance(job, InBucket) else watch.changes
    problems = unexplained_changes(effects, changes)
    problems += unexplained_requests(effects, {api: relay.counts[api] for api in relay.counts.keys() & CHANGING})
    counts.numbers["unexplained"] += len(problems)
    for problem in problems:
        counts.fail(f"{job.name}: no point: {problem}")
    if code not in attempt.accepted:
        counts.fail(f"{job.name}: undisturbed: exit {code}: {last_line(process.output)}")
    _judged(job.name, attempt, counts, _until_complete(world, attempt, code, counts))
    return effects


def last_line(output: str) -> str:
    """The last line that is not an event."""
    lines = [line for line in output.splitlines() if line and not line.startswith(("{", "\tat "))]
    return lines[-1][:300] if lines else ""


def died(world: World, job: Job, point: str, counts: Counts, *, is_alone: bool, resumes: bool) -> None:
    """Let a job die at a point while a second one waits, and go on until one ends with 0.

    With `resumes` the first does not die: it goes on once the second waits for a lock, or has ended where there is none.
    """
    attempt = job.attempt(retries=point.startswith("worker "))
    code: int | None = None
    with world.start(attempt, stop=point) as first:
        if not first.stops():
            counts.fail(f"{job.name} {point}: not reached, exit {first.wait()}: {last_line(first.output)}")
            return
        counts.numbers["resumed" if resumes else "deaths"] += 1
        if point.startswith("worker "):
            code = first.wait()
        elif attempt.second and not is_alone:
            with world.start(attempt, is_second=True) as second:
                counts.numbers["seconds_waited"] += second.waits_for_lock()
                if resumes:
                    first.resume()
                    first.wait()
                first.kill()
                code = second.wait()
    _judged(f"{job.name} {point}", attempt, counts, _until_complete(world, attempt, code, counts))


def _until_complete(world: World, attempt: Attempt, code: int | None, counts: Counts) -> str | None:
    """Run a job again until it ends with 0; return a complaint if it never does."""
    output = ""
    for _ in range(_MOST_RUNS):
        if code == 0:
            return None
        counts.numbers["further_runs"] += 1
        with world.start(attempt) as process:
            code, output = process.wait(), process.output
    return None if code == 0 else f"exit {code} after {_MOST_RUNS} runs: {last_line(output)}"


def _judged(what: str, attempt: Attempt, counts: Counts, complaint: str | None) -> None:
    verdict = Verdict(problems=(complaint,)) if complaint else attempt.judged()
    counts.numbers.update(lost=verdict.lost, doubled=verdict.doubled)
    if not verdict.is_good:
        counts.fail(f"{what}: {verdict.lost} lost, {verdict.doubled} doubled; {'; '.join(verdict.problems)}")
    elif attempt.root != "/nowhere":
        shutil.rmtree(attempt.root, ignore_errors=True)


def play(world: World, job: Job, options: argparse.Namespace, before: Figures, counts: Counts) -> bool:
    """Let a job die at its points after those of the figures `before`; return False if the time is over.

    The points are sorted by name, because threads change the order of a run's effects.
    """
    tried, number = (before.happened.get(f"{job.name}: {what}", 0) for what in ("tried", "points"))
    if number and tried == number:
        return True
    effects = recorded(world, job, counts)
    chosen = options.point or sorted(points(effects))[:: options.every]
    if not number:
        counts.numbers.update(jobs=1, effects=len(effects))
        counts.by_job[f"{job.name}: points"] = len(chosen)
    (before + counts.figures()).write(options.json)  # the undisturbed run may have failed
    for point in chosen[tried:]:
        if options.minutes and counts.seconds > options.minutes * 60:
            return False
        print(f"{counts.seconds:.0f} s {job.name} {point}", flush=True)
        counts.numbers["points"] += 1
        counts.by_job[f"{job.name}: tried"] += 1
        for _ in range(0 if options.list else options.times):
            died(world, job, point, counts, is_alone=options.alone, resumes=options.resume)
        (before + counts.figures()).write(options.json)  # a run that is ended keeps these points
    return True


def main(arguments: Sequence[str]) -> int:
    """Run as the module's docstring describes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.points", description=__doc__)
    parser.add_argument("--job", action="append", help="a job; all by default")
    parser.add_argument("--times", type=int, default=1, help="how often each point is tried")
    parser.add_argument("--point", action="append", help="only this point")
    parser.add_argument("--every", type=int, default=1, help="only each N-th point")
    parser.add_argument("--alone", action="store_true", help="without a second process")
    parser.add_argument("--resume", action="store_true", help="let the first process go on instead of killing it")
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument(
        "--go-on", action="store_true", help="begin after the points whose figures that file has, and add to them"
    )
    parser.add_argument("--minutes", type=int, help="try no point after so many minutes")
    parser.add_argument("--list", action="store_true", help="only list the points")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that no job, broker or server is left
    goes_on = options.go_on and options.json and options.json.exists()
    before, counts = Figures.read(options.json) if goes_on else Figures(), Counts()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="points-"))
        world = stack.enter_context(new_world(Path(folder) / "world"))
        jobs = new_jobs(world)
        store = stack.enter_context(object_store(Path(folder)))
        for spark in (True, False):
            in_buckets = (InBucket(world, store, jobs[name], spark) for name in ("snapshot", "ingest"))
            jobs |= {job.name: job for job in in_buckets}
        for name in options.job or jobs:
            if not play(world, jobs[name], options, before, counts):
                break
    print(counts.line())
    return 1 if counts.failures or before.violations.get("failures") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
