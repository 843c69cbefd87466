"""Rows for people have units, fit the terminal, and have colours."""

import os
import sys

import pytest

from kafka_lagoon.cli.people import Screen, screen, table
from kafka_lagoon.text import columns_of

ROWS = [("a-group-with-a-long-name-eu-west-1", "orders", 5, 1_200_000_000, None)]
COLUMNS = ("group_id", "topic", "lag", "size_bytes", "problem")


def test_a_table_fits_a_terminal() -> None:
    """Texts are cut in the middle, the widest first, numbers never; without a width nothing is."""
    whole, cut = (list(table(COLUMNS, ROWS, Screen(width=width))) for width in (None, 50))
    assert whole == [
        "group                               topic   lag    size  problem",
        "a-group-with-a-long-name-eu-west-1  orders    5  1.2 GB        -",
    ]
    assert cut == [
        "group                 topic   lag    size  problem",
        "a-group-wi…eu-west-1  orders    5  1.2 GB        -",
    ]
    assert max(map(len, cut)) == 50


def test_wide_letters_fit_a_terminal() -> None:
    """A group id of CJK or of emoji is measured and cut by its columns, of which each letter takes two."""
    for name in ("\u8a02\u55ae" * 15, "a" + "\U0001f600" * 30, "e\u0301" * 40):
        rows = [(name, "orders", 5, 1_200_000_000, None), ("g", "orders", 5, 1_200_000_000, None)]
        heading, cut, other = table(COLUMNS, rows, Screen(width=50))
        assert "\u2026" in cut
        assert 49 <= columns_of(cut) <= 50
        assert columns_of(heading) == columns_of(other) == columns_of(cut)


def test_colours_do_not_move_columns() -> None:
    """Headings are bold, problems yellow, losses red; without the escapes a line is the same."""
    rows = [("g", 3, "NO_LEADER"), ("h", 0, None)]
    columns = ("group_id", "records_lost", "problem")
    plain, coloured = (list(table(columns, rows, Screen(has_colours=on))) for on in (False, True))
    assert coloured[1] == "g      \x1b[31m   3\x1b[0m  \x1b[33mNO_LEADER\x1b[0m"
    for code in ("\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"):
        coloured = [line.replace(code, "") for line in coloured]
    assert coloured == plain


def test_only_a_terminal_has_a_width_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and dumb terminals are respected; --wide cuts nothing."""
    assert screen({}) == Screen()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((100, 30)))
    assert screen({}) == Screen(width=100, has_colours=True)
    assert screen({"NO_COLOR": ""}).has_colours
    assert not screen({"NO_COLOR": "1"}).has_colours
    assert not screen({"TERM": "dumb"}).has_colours  # words: ok, the variable of terminals
    assert screen({}, wide=True) == Screen(width=None, has_colours=True)
