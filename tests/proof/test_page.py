"""The figures of a part are a row and a list in docs/proof.md, and entries of other parts stay as they are."""

from dataclasses import replace

import pytest

from tests.proof.everything import HEADLINES, PAGE, SECTIONS
from tests.proof.figures import Figures
from tests.proof.page import HEAD, Entry, entry, with_entries

FIGURES = Figures(
    tried={"acknowledged records": 5, "histories": 1_200},
    happened={"broker kill": 3, "ingest: driver killed": 1, "ingest: group killed": 2, "quotas": 0},
    violations={"altered": 0, "lost": 1_000, "secrets": 0, "stuck": 2},
    longest_recovery_s=12.4,
)
RUNS = "2026-11-26, 04513974, seed 7"
DETAILS = f"""\
**histories**: {RUNS}

- tried: 5 acknowledged records, 1,200 histories
- violations: 0 altered, 1,000 lost, 0 secrets, 2 stuck
- happened: 3 broker kill
- ingest: 1 driver killed, 2 group killed"""
PARTS = {"histories": ("histories",), "b part": ()}
EMPTY = """\
before
<!-- make proof -->
<!-- end of make proof -->
between
<!-- lists of make proof -->
<!-- end of lists of make proof -->
after
"""


def test_row_and_list() -> None:
    """The row has the headline and the violations; the list has all figures, with faults of a job side by side."""
    made = entry("histories", FIGURES, ("histories",), minutes=10.4, runs=RUNS)
    assert made.row == "| histories | 1,200 histories | 1,000 |  | 0 |  | 2 stuck | 12 s | 10 |"
    assert made.details == DETAILS
    without = entry("histories", replace(FIGURES, longest_recovery_s=None), (), minutes=1, runs=RUNS)
    assert without.row == "| histories | 5 acknowledged records, 1,200 histories | 1,000 |  | 0 |  | 2 stuck |  | 1 |"


@pytest.mark.parametrize(
    ("violations", "cells"),
    [
        ({"lost": 0}, "0 |  |  |  |  "),
        ({"lost": 0, "stuck": 0}, "0 |  |  |  | 0 "),
        ({"did not end": 1}, " |  |  |  | 1 did not end "),
    ],
)
def test_only_what_was_looked_for_is_a_number(violations: dict[str, int], cells: str) -> None:
    """A cell is empty if the part does not look for such violations."""
    assert (
        f"| 3 tests | {cells}|"
        in entry("tests", Figures(tried={"tests": 3}, violations=violations), (), minutes=0, runs="").row
    )


def test_entries_of_other_parts_stay() -> None:
    """A run renews the entries of its parts, in the order of the parts."""
    first = entry("histories", FIGURES, (), minutes=1, runs=RUNS)
    old, new = (entry("b part", Figures(tried={"cases": count}), (), minutes=1, runs=RUNS) for count in (1, 2))
    page = with_entries(EMPTY, "make proof", {"b part": old}, PARTS)
    page = with_entries(page, "make proof", {"histories": first}, PARTS)
    page = with_entries(page, "make proof", {"b part": new}, PARTS)
    marked = ["<!-- lists of make proof -->", "", *first.details.splitlines(), "", *new.details.splitlines(), ""]
    table = ["before", "<!-- make proof -->", *HEAD, first.row, new.row, "<!-- end of make proof -->", "between"]
    assert page.splitlines() == [*table, *marked, "<!-- end of lists of make proof -->", "after"]


@pytest.mark.parametrize("section", SECTIONS.values())
def test_the_page_is_written_so(section: str) -> None:
    """A run that has no entries changes nothing in docs/proof.md."""
    page = PAGE.read_text("utf-8")
    assert with_entries(page, section, {}, HEADLINES) == page


def test_a_page_without_the_section() -> None:
    """It is an error, as the figures of hours would be written nowhere."""
    with pytest.raises(ValueError, match="no section other"):
        with_entries(EMPTY, "other", {"b part": Entry(row="", details="")}, PARTS)
