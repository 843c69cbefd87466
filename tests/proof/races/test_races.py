"""Winners, exit codes and overlaps of races are counted, and violations are found; `python -m tests.proof.races` runs all races."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.proof.figures import Figures
from tests.proof.points.world import new_world
from tests.proof.races import __main__ as races
from tests.proof.races import kinds
from tests.proof.races.__main__ import STORES, Counts, figures, main, raced
from tests.proof.races.kinds import KINDS
from tests.proof.races.racers import Run


def run(exit_code: int, ended_at: float = 2, **event: Any) -> Run:
    """Make the report of a racer."""
    fields: Mapping[str, Any] = {"event": "run_finished", "exit_code": exit_code, **event}
    line = json.dumps(fields).replace('"event": "run_finished"', '"name": "run_finished"')
    return Run.parse({"exit": exit_code, "output": f"noise\n{line}\n", "from": 1.0, "to": ended_at})


WON = {
    "slot": run(0, already_published=False),
    "archive": run(3, records=300),
    "restore": run(0, records=300),
    "apply": run(0, done=5),
}
LOST = {
    "slot": run(0, already_published=True),
    "archive": run(0, records=0),
    "restore": run(0, records=0),
    "apply": run(1, done=None),
}


@pytest.mark.parametrize("name", KINDS)
def test_one_winner_and_documented_exit_codes(name: str) -> None:
    """Nobody wins, two win, or a code that is not documented: each is a violation."""
    kind, won, lost, locked = KINDS[name], WON[name], LOST[name], run(4)
    assert kind.problems([won, lost, locked]) == []
    assert kind.problems([lost, locked]) == ["0 winners"]
    assert kind.problems([won, won, lost]) == ["2 winners"]
    (problem,) = kind.problems([won, run(2)])
    assert problem.startswith("exit 2: noise")


def test_stores_share_no_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """One broker has the topics of the races on all stores."""
    for job in ("Snapshot", "Ingest", "Restore", "Apply"):
        monkeypatch.setattr(kinds, job, lambda _, name: name)
    names = {kind.job(None, store) for kind in KINDS.values() for store in STORES}  # type: ignore[arg-type]
    assert len(names) == len(KINDS) * len(STORES)


def test_counts() -> None:
    """Runs that overlap all are counted as such, and the others by exit code."""
    counts = Counts()
    counts.add(KINDS["slot"], [WON["slot"], LOST["slot"], run(4)])
    counts.add(KINDS["slot"], [WON["slot"], run(4, ended_at=0.5), run(4)])
    counts.violations.append("two winners")
    assert counts.line() == (
        "2 races of 3 processes, 1 with all at once, 2 winners, others: 1 exit 0, 3 exit 4, 0 lost, 0 doubled, 1 violations"
    )
    made = figures({("slot", "folder"): counts}, 1.5)
    assert made.tried == {"races": 2}
    assert made.happened == {
        "slot folder races": 2,
        "slot folder winners": 2,
        "slot folder exit 0": 1,
        "slot folder exit 4": 3,
    }
    assert made.violations == {"lost": 0, "doubled": 0, "violations": 1}


def test_races_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is ended keeps the kinds that it has raced for, and the next one begins with those that are left."""
    raced_for: list[tuple[str, str]] = []

    def race(_: object, name: str, store: str, processes: int, rounds: int) -> Counts:  # noqa: ARG001
        raced_for.append((name, store))
        if len(raced_for) == 3:
            raise KeyboardInterrupt
        return Counts(races=2, winners=2)

    monkeypatch.setattr(races, "raced", race)
    monkeypatch.setattr(races, "new_world", nullcontext)
    path = tmp_path / "figures.json"
    arguments = ["--go-on", "--json", str(path), *(f"--kind={name}" for name in ("slot", "apply"))]
    arguments += ["--store", "folder", "--store", "s3"]
    with pytest.raises(KeyboardInterrupt):
        main(arguments)
    assert Figures.read(path).tried == {"races": 4}
    assert main(arguments) == 0
    assert raced_for == [("slot", "folder"), ("apply", "folder"), ("slot", "s3"), ("slot", "s3"), ("apply", "s3")]
    assert Figures.read(path).tried == {"races": 8}
    assert main(arguments) == 0
    assert len(raced_for) == 5


def test_half_of_the_racers_wait_for_the_lock() -> None:
    """The last value of a setting counts, so those with another value give up at once."""
    commands = KINDS["slot"].commands(["lagoon", "snapshot", "--set", "snapshot.lock_wait_ms=9"], 3)
    waits = ["snapshot", "--set", "snapshot.lock_wait_ms=9"]
    assert commands == [waits, [*waits, "--set", "snapshot.lock_wait_ms=0"], waits]


@pytest.mark.parametrize("processes", ["1", "9"])
def test_the_number_of_processes_is_limited(processes: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A race needs two, and more than eight would starve each other."""
    with pytest.raises(SystemExit):
        main(["--processes", processes])
    assert "--processes: 2 to 8" in capsys.readouterr().err


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["slot", "apply"])
def test_three_processes_in_a_folder(name: str, tmp_path: Path) -> None:
    """One of them does it, in each of two rounds."""
    with new_world(tmp_path / "world") as world:
        counts = raced(world, name, "folder", processes=3, rounds=2)
    assert counts.violations == []
    assert (counts.races, counts.runs, counts.winners) == (2, 6, 2)
