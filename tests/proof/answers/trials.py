"""Tries alterations: runs a scenario with each, and judges the outcome."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.proof.answers.alterations import Alteration, Alterer, Wanted, alterations
from tests.proof.answers.outcomes import Outcome, Row
from tests.proof.answers.replay import Alter, Recording, Request, replayed, unaltered
from tests.proof.answers.scenarios import SCENARIOS, World, first_run, outcome
from tests.proof.answers.verdicts import Verdict, differences, shown, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An alteration, the verdict on the run that it altered, and the rows that differ."""

    alteration: Alteration
    verdict: Verdict
    changed: tuple[tuple[str, Row | None, Row | None], ...]
    reported: frozenset[str]

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        return [*sorted(self.reported)[:3], *shown(self.changed)]


@contextmanager
def recorded(servers: str, at_ms: int, scenarios: Iterable[str] = SCENARIOS) -> Iterator[Recording]:
    """Record scenarios on running brokers; requests that altered answers lead to are sent until the context ends."""
    recording = Recording(servers, at_ms)
    try:
        for name in scenarios:
            run(world_of(recording), recording, name)
        recording.ask_all_brokers()
        recording.finish()
        yield recording
    finally:
        recording.close()


def world_of(recording: Recording) -> World:
    """The world of a recording, with what an unaltered first run has archived."""
    world = World(recording.servers, recording.at_ms)
    with replayed(recording):
        return replace(world, archived=first_run(world))


def run(world: World, recording: Recording, scenario: str, alter: Alter = unaltered) -> Outcome:
    """Run a scenario on recorded answers."""
    with replayed(recording, alter):
        return outcome(SCENARIOS[scenario], world)


def judged(recording: Recording, scenario: str, step: int, wanted: Wanted) -> Iterator[Judged]:
    """Judge every `step`-th wanted alteration of a scenario."""
    seen: dict[Request, bytes] = {}

    def see(request: Request, answer: bytes) -> bytes:
        seen[request] = answer
        return answer

    world = world_of(recording)
    true = run(world, recording, scenario, see)
    several = [one for one in alterations(scenario, seen) if wanted(one)]
    for alteration in several[::step]:
        alterer = Alterer(alteration)
        result = run(world, recording, scenario, alterer)
        if alterer.has_altered:
            changed = tuple(differences(true, result))
            yield Judged(
                alteration=alteration,
                verdict=verdict(true, result),
                changed=changed,
                reported=result.reported - true.reported,
            )
