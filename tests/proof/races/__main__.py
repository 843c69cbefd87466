"""Lets processes do the same thing at the same moment, and judges what is there afterwards: see README.md."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from tests.google_store import google_store, of_arrow
from tests.object_store import object_store
from tests.proof.figures import Figures, this_run
from tests.proof.points.buckets import InBucket
from tests.proof.points.world import World, new_world
from tests.proof.races.in_google import InGoogle
from tests.proof.races.kinds import KINDS, Kind
from tests.proof.races.racers import Racers, Run

STORES = ("folder", "s3", "gcs")
_MOST_PROCESSES = 8
_ROUNDS, _ROUNDS_WITH_SPARK = 50, 10
_TERMINATED = 128 + signal.SIGTERM


@dataclass
class Counts:
    """Counts of the races for one thing on one store."""

    races: int = 0
    processes: int = 0
    runs: int = 0
    winners: int = 0
    others: Counter[int] = field(default_factory=Counter)  # by exit code
    at_once: int = 0  # races in which all runs overlapped
    lost: int = 0
    doubled: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, kind: Kind, runs: Sequence[Run]) -> None:
        """Count a race."""
        won = [run for run in runs if kind.has_won(run.event)]
        self.races += 1
        self.processes, self.runs = len(runs), self.runs + len(runs)
        self.winners += len(won)
        self.others.update(run.exit_code for run in runs if run not in won)
        self.at_once += max(run.started_at for run in runs) < min(run.ended_at for run in runs)

    def line(self) -> str:
        """The counts as text."""
        refused = ", ".join(f"{number} exit {code}" for code, number in sorted(self.others.items()))
        return (
            f"{self.races} races of {self.processes} processes, {self.at_once} with all at once, {self.winners} winners, "
            f"others: {refused or 'none'}, {self.lost} lost, {self.doubled} doubled, {len(self.violations)} violations"
        )


def figures(raced_for: Mapping[tuple[str, str], Counts], seconds: float) -> Figures:
    """Make the figures of the races of a run, by kind and store."""
    happened, violations = Counter[str](), Counter[str]()
    for (name, store), counts in raced_for.items():
        what = f"{name} {store}"
        happened.update({f"{what} races": counts.races, f"{what} winners": counts.winners})
        happened.update({f"{what} exit {code}": number for code, number in counts.others.items()})
        violations.update(lost=counts.lost, doubled=counts.doubled, violations=len(counts.violations))
    tried = {"races": sum(counts.races for counts in raced_for.values())}
    return Figures(tried=tried, happened=happened, violations=violations, seconds=seconds, runs=(this_run(),))


@contextmanager
def places(world: World, store: str) -> Iterator[tuple[Callable[[Any], Any], Sequence[str]]]:
    """Start a store; yield what moves a job there, and the options of racers that reach it."""
    with ExitStack() as stack:
        match store:
            case "folder":
                yield (lambda job: job), ()
            case "s3":
                folder = world.new_folder()
                folder.mkdir()
                bucket = stack.enter_context(object_store(folder))
                yield (lambda job: InBucket(world, bucket, job)), ("--session",)
            case "gcs":
                folder = world.new_folder()
                folder.mkdir()
                google = stack.enter_context(google_store())
                environ = of_arrow(google, folder)
                yield (lambda job: InGoogle(world, google, job, environ)), ("--session", "--google", str(google.port))


def raced(world: World, name: str, store: str, processes: int, rounds: int) -> Counts:
    """Race for one thing on one store, each round over a warehouse of its own."""
    kind, counts = KINDS[name], Counts()
    with ExitStack() as stack:
        move, options = stack.enter_context(places(world, store))
        job = move(kind.job(world, store))
        if kind.needs_session and not options:
            options = ("--session",)
        racers: Racers | None = None
        for number in range(1, rounds + 1):
            attempt = job.attempt(retries=False)
            if racers is None:
                environ = {**attempt.environ, "SPARK_DRIVER_MEMORY": "600m"}
                racers = stack.enter_context(Racers(world.new_folder(), processes, options, environ))
            runs = racers.race(kind.commands(attempt.command, processes))
            counts.add(kind, runs)
            verdict = attempt.judged()
            counts.lost, counts.doubled = counts.lost + verdict.lost, counts.doubled + verdict.doubled
            lost = [f"{verdict.lost} lost, {verdict.doubled} doubled"] if verdict.lost or verdict.doubled else []
            for problem in [*kind.problems(runs), *lost, *verdict.problems]:
                counts.violations.append(f"{name} {store} round {number}: {problem}")
                print(f"VIOLATION {counts.violations[-1]}", flush=True)
            if attempt.root.startswith("/"):
                shutil.rmtree(attempt.root, ignore_errors=True)
    return counts


def main(arguments: Sequence[str]) -> int:
    """Run as the module's docstring describes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.races", description=__doc__)
    parser.add_argument(
        "--processes", type=int, default=_MOST_PROCESSES, help="processes of a race, 2 to 8 (default 8)"
    )
    parser.add_argument(
        "--rounds", type=int, help=f"default {_ROUNDS}, and {_ROUNDS_WITH_SPARK} where each process has a session"
    )
    parser.add_argument("--kind", action="append", choices=KINDS, help="all by default")
    parser.add_argument("--store", action="append", choices=STORES, help="folder by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    parser.add_argument(
        "--go-on", action="store_true", help="leave out the races whose figures that file has, and add to them"
    )
    parser.add_argument("--minutes", type=int, help="begin no race for another thing after so many minutes")
    options = parser.parse_args(arguments)
    if not 2 <= options.processes <= _MOST_PROCESSES:
        parser.error(f"--processes: 2 to {_MOST_PROCESSES}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that no racer, broker or server is left
    goes_on = options.go_on and options.json and options.json.exists()
    made = before = Figures.read(options.json) if goes_on else Figures()
    raced_for: dict[tuple[str, str], Counts] = {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="races-") as folder, new_world(Path(folder) / "world") as world:
        for store, name in product(options.store or STORES[:1], options.kind or KINDS):
            if f"{name} {store} races" in before.happened:
                continue
            if options.minutes and time.monotonic() - started > options.minutes * 60:
                break
            has_spark = KINDS[name].needs_session or store != "folder"
            rounds = options.rounds or (_ROUNDS_WITH_SPARK if has_spark else _ROUNDS)
            counts = raced(world, name, store, options.processes, rounds)
            print(f"{name} {store}: {counts.line()}", flush=True)
            raced_for[name, store] = counts
            made = before + figures(raced_for, time.monotonic() - started)
            made.write(options.json)  # a run that is ended keeps these races
    races, violations = made.tried.get("races", 0), made.violations.get("violations", 0)
    print(f"races: {races} races, {violations} violations, {made.seconds:.0f} s")
    return 1 if violations or not races else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
