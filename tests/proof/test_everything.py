"""The figures of the parts are put together into docs/proof.md, and a part that breaks off is a violation there."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof.everything import GOES_ON, PARTS, PLAYED, Part, Result, entry_of, run
from tests.proof.figures import Figures

FIGURES = Figures(
    tried={"histories": 1_200},
    happened={"broker kill": 3, "quotas": 0},
    violations={"lost": 0},
    seconds=1.5,
    longest_recovery_s=12.4,
    runs=("2026-11-26, 04513974",),
)
PART = Part(name="a part", module="tests.proof")
XML = '<testsuites><testsuite tests="7" failures="1" errors="0" skipped="2" time="1.5"/></testsuites>'


def test_figures_are_written_and_read(tmp_path: Path) -> None:
    """A file of figures has all of them."""
    counted = replace(FIGURES, tried=Counter(FIGURES.tried))
    for figures in (FIGURES, counted):
        figures.write(tmp_path / "figures.json")
        assert Figures.read(tmp_path / "figures.json") == FIGURES
    FIGURES.write(None)


def test_figures_add_up() -> None:
    """A part that goes on adds to what it had tried; the longest recovery is the longest of both."""
    other = Figures(
        tried={"histories": 1}, happened={"broker kill": 2, "clock steps": 1}, violations={"lost": 0}, seconds=1.0
    )
    assert FIGURES + other == Figures(
        tried={"histories": 1_201},
        happened={"broker kill": 5, "quotas": 0, "clock steps": 1},
        violations={"lost": 0},
        seconds=2.5,
        longest_recovery_s=12.4,
        runs=("2026-11-26, 04513974",),
    )
    assert (other + other).longest_recovery_s is None


def test_an_entry_for_each_part() -> None:
    """The time is that of the runs that its figures are of; a part without figures did not end."""
    made = entry_of(Result(part=PART, exit_code=0, seconds=5, figures=replace(FIGURES, seconds=600)), 7)
    assert made.row.endswith(" | 12 s | 10 |")
    assert made.details.startswith("**a part**: 2026-11-26, 04513974, seed 7\n")
    twice = FIGURES + replace(FIGURES, runs=("2026-11-27, 832f597d",))
    made = entry_of(Result(part=PART, exit_code=0, seconds=5, figures=replace(twice, seconds=1_200)), 7)
    assert made.row.endswith(" | 12 s | 20 |")
    assert made.details.startswith("**a part**: 2026-11-26, 04513974; 2026-11-27, 832f597d, seed 7\n")
    broken = Part(name="broken", module="tests.proof")
    made = entry_of(Result(part=broken, exit_code=2, seconds=60, figures=None), 7)
    assert made.row == "| broken |  |  |  |  |  | 1 did not end |  | 1 |"


def test_figures_of_tests(tmp_path: Path) -> None:
    """pytest's report gives the figures of a part that is tests."""
    part = Part(name="tests", marker="proof")
    part.file(tmp_path, "xml").write_text(XML, "utf-8")
    figures = part.figures(tmp_path, 1, is_long=False)
    assert figures == Figures(
        tried={"tests": 7}, happened={"skipped": 2}, violations={"failures": 1, "errors": 0}, seconds=1.5
    )


def test_a_part_that_breaks_off(tmp_path: Path) -> None:
    """Its exit code and output are kept."""
    result = run(Part(name="none", module="tests.proof.no_such_module"), tmp_path, 1, is_long=False)
    assert (result.exit_code, result.figures) == (1, None)
    assert "no_such_module" in result.part.file(tmp_path, "log").read_text("utf-8")


@pytest.mark.parametrize("is_long", [False, True])
def test_commands(tmp_path: Path, is_long: bool) -> None:
    """Each part is a command of this interpreter that writes its figures; what is drawn gets the seed."""
    for part in PARTS:
        command = part.command(tmp_path, 7, is_long=is_long)
        assert command[:2] == [sys.executable, "-m"]
        assert str(part.figures_file(tmp_path, 7, is_long=is_long)) in command
        assert ("--seed" in command) == part.is_seeded
        limited = part.command(tmp_path, 7, is_long=is_long, minutes=30)
        assert (limited != command) == (is_long and GOES_ON in part.long_arguments)


def test_histories_go_on_in_the_repository() -> None:
    """A later clone has the figures of what was played before, for each part that goes on and each seed."""
    going_on = [part for part in PARTS if GOES_ON in part.long_arguments]
    assert going_on
    kept = {(part.name, path) for part in going_on for path in PLAYED.glob(f"{part.stem}-*.json")}
    assert kept
    for name, path in kept:
        figures = Figures.read(path)
        part = next(part for part in going_on if part.name == name)
        assert part.figures_file(Path("elsewhere"), int(path.stem.rpartition("-")[2]), is_long=True) == path
        assert part.figures_file(Path("elsewhere"), 7, is_long=False).parent == Path("elsewhere")
        assert figures.runs
        assert any(figures.tried.values())
