"""Starts the surroundings of all jobs: a broker with a counting relay before it, and a folder for their warehouses."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.proof.points.counting import CountingRelay
from tests.proof.points.java_effects import java_with_effects
from tests.proof.points.processes import JobProcess


@dataclass(frozen=True, slots=True)
class World:
    """One broker, reached through the relay, and a folder."""

    kafka: LocalKafka
    relay: CountingRelay
    folder: Path
    java: Path  # classes that log their effects
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def servers(self) -> str:
        """The address of the relay, which the broker advertises."""
        return f"127.0.0.1:{self.relay.port}"

    def new_folder(self) -> Path:
        """A path that nobody has used."""
        return self.folder / f"run-{next(self.numbers)}"

    def start(self, attempt: "Attempt", *, stop: str = "", without: str = "", is_second: bool = False) -> JobProcess:
        """Start the job of an attempt with its effects logged, those of our log store included."""
        command = attempt.second if is_second and attempt.second else attempt.command
        environ = {"EFFECTS_JAVA": str(self.java), **attempt.environ}
        return JobProcess(command, self.new_folder(), attempt.root, stop=stop, without=without, **environ)

    def run(self, command: Sequence[str], environ: Mapping[str, str], exit_code: int = 0) -> str:
        """Run a command that a template needs; return what it prints."""
        with JobProcess(command, self.new_folder(), "/nowhere", **environ) as process:
            code, output = process.wait(), process.output
        assert code == exit_code, output
        return output

    def lagoon(self, job: str, lake: Path | str, *arguments: str) -> list[str]:
        """A command line of a job over this cluster."""
        settings = ("--set", f"kafka.bootstrap_servers={self.servers}")
        return ["lagoon", job, "--warehouse", str(lake), *settings, *arguments]


@contextmanager
def new_world(folder: Path) -> Iterator[World]:
    """Run the broker and the relay in an empty folder until the block ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with CountingRelay() as relay:
        properties = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{relay.port}"}
        kafka = LocalKafka(folder / "kafka", properties=properties)
        with kafka:
            relay.target = kafka.address(1)
            yield World(kafka, relay, folder, java_with_effects(folder / "java"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the oracles on a warehouse and a cluster: lost records, doubled records, and other faults."""

    lost: int = 0
    doubled: int = 0
    problems: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """True if nothing is wrong."""
        return not (self.lost or self.doubled or self.problems)

    @classmethod
    def of(cls, expected: Counter[object], actual: Counter[object], *problems: str) -> "Verdict":
        """Compare records; those that nobody sent count as a problem."""
        doubled = sum(
            (
                Counter(
                    {
                        key: number - expected[key]
                        for key, number in actual.items()
                        if key in expected and number > expected[key]
                    }
                )
            ).values()
        )
        alien = [key for key in actual if key not in expected]
        problem = [f"{len(alien)} records that are not expected, such as {alien[0]}"] if alien else []
        return cls(sum((expected - actual).values()), doubled, (*problem, *problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A job over a warehouse of its own: what is started, again until it ends with 0, and judged by others' readers."""

    command: Sequence[str]
    judge: Callable[[Path], Verdict]  # of a folder with the tables
    environ: Mapping[str, str] = field(default_factory=dict)
    root: str = "/nowhere"  # the warehouse
    second: Sequence[str] | None = (
        None  # the command of a process that waits for the lock; None where that makes no sense
    )
    fetch: Callable[[], Path] | None = None  # copies the tables into a folder, if the warehouse is none
    accepted: frozenset[int] = frozenset({0})  # exit codes of a run after which another one goes on

    def judged(self) -> Verdict:
        """Let the oracles judge the tables."""
        return self.judge(self.fetch() if self.fetch else Path(self.root))


def copied(template: Path, world: World) -> str:
    """A copy of a warehouse with the times of its files, or an empty folder if there is none."""
    folder = world.new_folder()
    if template.exists():
        shutil.copytree(template, folder)
    else:
        folder.mkdir(parents=True)
    return os.path.realpath(folder)
