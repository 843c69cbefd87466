"""The figures of the parts are put together into docs/proof.md, and a part that breaks off is a violation there."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proof.everything import _SECTIONS, GOES_ON, HEAD, PAGE, PARTS, PLAYED, Part, Result, row, run, with_rows
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


def test_a_row_for_each_part() -> None:
    """Faults that did not happen are left out; a part without figures did not end."""
    broken = Part(name="broken", module="tests.proof")
    cells = row(Result(part=PART, exit_code=0, seconds=600, figures=FIGURES), 7).split(" | ")
    assert cells[:6] == ["| a part", "1,200 histories", "3 broker kill", "0 lost", "12 s", "10"]
    assert cells[6].endswith(", seed 7 |")
    twice = FIGURES + replace(FIGURES, runs=("2026-11-27, 832f597d",))
    cells = row(Result(part=PART, exit_code=0, seconds=600, figures=replace(twice, seconds=1_200)), 7).split(" | ")
    assert cells[5:] == ["20", "2026-11-26, 04513974; 2026-11-27, 832f597d, seed 7 |"]
    cells = row(Result(part=broken, exit_code=2, seconds=60, figures=None), 7).split(" | ")
    assert cells[:6] == ["| broken", "", "", "1 did not end", "", "1"]


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
    kept = {(part.name, path) for part in going_on for path in PLAYED.glob(f"{part.name}-*.json")}
    assert kept
    for name, path in kept:
        figures = Figures.read(path)
        part = next(part for part in going_on if part.name == name)
        assert part.figures_file(Path("elsewhere"), int(path.stem.rpartition("-")[2]), is_long=True) == path
        assert part.figures_file(Path("elsewhere"), 7, is_long=False).parent == Path("elsewhere")
        assert figures.runs
        assert any(figures.tried.values())


def test_rows_of_the_page() -> None:
    """A run renews the rows of its parts, in the order of the parts; there is a place for each length."""
    first, second, *_ = (part.name for part in PARTS)
    for name in _SECTIONS.values():
        page = f"before\n<!-- {name} -->\n\n<!-- end of {name} -->\nafter\n"
        page = with_rows(page, name, {second: f"| {second} | old |"})
        page = with_rows(page, name, {first: f"| {first} | new |"})
        page = with_rows(page, name, {second: f"| {second} | new |"})
        lines = [*HEAD, f"| {first} | new |", f"| {second} | new |"]
        assert page.splitlines() == ["before", f"<!-- {name} -->", *lines, f"<!-- end of {name} -->", "after"]
        assert with_rows(PAGE.read_text("utf-8"), name, {})
    with pytest.raises(ValueError, match="no section other"):
        with_rows(page, "other", {})
