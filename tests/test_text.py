"""Text for a terminal."""

import pytest

from kafka_lagoon.text import aligned, counted, did_you_mean, printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain \u00e9\u4e2d", "plain \u00e9\u4e2d"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("a\nb\tc\0", "a\\u000ab\\u0009c\\u0000"),
        ("\u202egnp", "\\u202egnp"),
        ("\udcff", "\\udcff"),
    ],
)
def test_nothing_steers_the_terminal(text: str, expected: str) -> None:
    """Control characters, escapes, direction marks and undecodable bytes are spelled out; letters are kept."""
    assert printable(text) == expected
    assert printable(text).isprintable()


def test_numbers_of_things() -> None:
    """One thing has no plural, and large numbers have commas."""
    assert (counted(1, "gap"), counted(2_000, "gap"), counted(0, "gap")) == ("1 gap", "2,000 gaps", "0 gaps")


def test_aligned_columns() -> None:
    """Numbers are right-aligned if requested, and lines do not end with spaces."""
    assert aligned([("topic", "lag"), ("a", "1,500"), ("orders", "")], right=[1]) == [
        "topic     lag",
        "a       1,500",
        "orders",
    ]


def test_the_nearest_name() -> None:
    """A misspelt name gets one suggestion, a name without similar names gets none."""
    assert did_you_mean("ingets", ["snapshot", "ingest"]) == " (did you mean ingest?)"
    assert did_you_mean("xyz", ["snapshot", "ingest"]) == ""
