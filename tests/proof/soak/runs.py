"""Runs jobs one at a time for each lane, by the launcher, and records how each ended, what it used, and what it left."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any

from tests.proof.jobs import ENDS_WITHIN_S, TEMPORARY, USAGE, Started
from tests.proof.play.player import Player
from tests.proof.soak.bounds import Period
from tests.proof.soak.endings import COMPLETE, INCOMPLETE, Ending
from tests.proof.soak.levels import Series

_SAMPLED_EVERY_S = 0.5
_ALLOWED = {  # growth beside the share of levels.py: figure, unit, how much
    "CPU": ("s", 1.0),
    "peak memory of a process": ("MiB", 32.0),
    "peak memory of the driver": ("MiB", 16.0),
    "open descriptors": ("", 20.0),
    "threads": ("", 10.0),
}


@dataclass(slots=True)
class Used:
    """Resources of all processes of a run: the largest sums of a moment, and those of wait4 at their end."""

    cpu_s: float = 0.0
    peak_mb: float = 0.0
    driver_mb: float = 0.0
    descriptors: int = 0
    threads: int = 0
    left: int = 0  # processes that had not ended half a minute after the job

    def values(self) -> tuple[float, ...]:
        """Return the figures in the order of the allowed growth."""
        return self.cpu_s, self.peak_mb, self.driver_mb, self.descriptors, self.threads


@dataclass(frozen=True, slots=True)
class Done:
    """A run that has ended, what it used, and its temporary files that are still there."""

    ending: Ending
    used: Used
    temporary: Sequence[str]


@dataclass(slots=True)
class Runs:
    """All runs of a soak."""

    player: Player
    folder: Path
    done: list[Done] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def run(self, name: str, job: str, **options: Any) -> Ending:
        """Run a job to its end."""
        number = next(self._numbers)
        place = self.folder / f"{number:05}-{name.replace(' ', '-')}"
        (place / TEMPORARY).mkdir(parents=True)
        acknowledged = self.player.topics.acknowledged() if job == "ingest" else {}
        started = self.player.world.jobs.start(job, acknowledged, "lagoon", "local", measured=place, **options)
        used = _watched(started)
        has_ended = started.process.poll() is not None
        run = self.player.world.jobs.end(started)
        (place / f"exit-{run.exit_code}.log").write_text(run.output, "utf-8")
        ending = Ending(
            job=name,
            number=number,
            exit_code=run.exit_code,
            period=Period(started.started_at_ms, started.ended_at_ms),
            is_signalled=started.is_signalled,
            has_ended=has_ended,
        )
        self.done.append(_done(ending, used, place))
        return ending

    def figures(self) -> dict[str, Series]:
        """Return what runs used that did the same work, by job: no fault has killed or stopped them, and they are complete.

        An ingest that reports what retention has removed is as much work.
        """
        used: dict[str, list[Used]] = {}
        for done in self.done:
            expected = (COMPLETE, INCOMPLETE) if done.ending.job == "ingest" else (COMPLETE,)
            if done.ending.exit_code in expected and not done.ending.is_signalled:
                used.setdefault(done.ending.job, []).append(done.used)
        return {
            f"{job}: {name}": Series(unit, allowed, [one.values()[number] for one in of_job])
            for job, of_job in used.items()
            for number, (name, (unit, allowed)) in enumerate(_ALLOWED.items())
        }


def _done(ending: Ending, used: Used, place: Path) -> Done:
    """Add what the launcher has written, and remove temporary files; a job that was killed may leave some."""
    if (usage := place / USAGE).exists():  # the launcher may have been killed, too
        values = json.loads(usage.read_text("utf-8"))
        used.cpu_s, used.peak_mb, used.left = values["cpu_s"], values["peak_kb"] / 1024, values["left"]
    temporary = [] if ending.is_signalled else _names(place / TEMPORARY)
    shutil.rmtree(place / TEMPORARY)
    return Done(ending, used, temporary)


def _watched(started: Started) -> Used:
    """Sample a job until it has ended, or has run for too long."""
    used, until = Used(), time.monotonic() + ENDS_WITHIN_S
    while started.process.poll() is None and time.monotonic() < until:
        with suppress(OSError):
            _sample(used, started)
        time.sleep(_SAMPLED_EVERY_S)
    return used


def _sample(used: Used, started: Started) -> None:
    drivers = started.victims("driver")
    descriptors = threads = 0
    for pid in started.victims("group"):
        with suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text("utf-8")
            descriptors += len(list(Path(f"/proc/{pid}/fd").iterdir()))
            threads += _number(status, "Threads:")
            if pid in drivers:
                used.driver_mb = max(used.driver_mb, _number(status, "VmHWM:") / 1024)  # words: ok, a field of Linux
    used.descriptors, used.threads = max(used.descriptors, descriptors), max(used.threads, threads)


def _number(status: str, name: str) -> int:
    after = status.partition(f"\n{name}")[2].split()
    return int(after[0]) if after else 0


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


class Gate:
    """Lets any number of jobs run side by side, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running, self._waiting = 0, 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others, but not while one runs alone or waits for that."""
        with self._changed:
            self._changed.wait_for(lambda: self._running >= 0 and not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            self._left()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other runs, and keep them off."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._running == 0)
            self._waiting, self._running = self._waiting - 1, -1
        try:
            yield
        finally:
            self._left()

    def _left(self) -> None:
        with self._changed:
            self._running = max(0, self._running - 1)
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Lane:
    """Does something again and again at times that are a period apart; a time that has passed meanwhile is left out."""

    work: Callable[[], None]
    period_s: float
    first_s: float

    def run(self, ends: threading.Event) -> None:
        """Work until the event is set."""
        next_at = time.monotonic() + self.first_s
        while not ends.wait(max(0.0, next_at - time.monotonic())):
            self.work()
            next_at += self.period_s * max(1, ceil((time.monotonic() - next_at) / self.period_s))
