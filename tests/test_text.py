"""Text for people."""

import pytest

from kafka_lagoon.text import aligned, aligned_line, byte_count, columns_of, counted, did_you_mean, duration, printable


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
    assert aligned([("topic", "lag"), ("a", "1,500"), ("orders", "")]) == ["topic   lag", "a       1,500", "orders"]
    assert aligned_line(("topic", "lag"), (6, 5), right=[1]) == "topic     lag"


def test_letters_of_two_columns_and_of_none() -> None:
    """Terminals give CJK and emoji two columns, and a combining mark none; the columns of the table stay in line."""
    assert [columns_of(text) for text in ("", "abc", "\u00e9", "e\u0301", "\u8a02\u55ae", "\U0001f600")] == [
        0,
        3,
        1,
        1,
        4,
        2,
    ]
    names = ["\u8a02\u55ae", "e\u0301t\u00e9", "orders", "\U0001f600"]
    lines = aligned([(name, "1") for name in names])
    assert {columns_of(line) for line in lines} == {9}
    assert columns_of(aligned_line(("\u8a02", "x"), (6, 1), right=[0])) == 9


def test_the_nearest_name() -> None:
    """A misspelt name gets one suggestion, a name without similar names gets none."""
    assert did_you_mean("ingets", ["snapshot", "ingest"]) == " (did you mean ingest?)"
    assert did_you_mean("xyz", ["snapshot", "ingest"]) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1234, "1.2 kB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1_200_000_000, "1.2 GB"),
        (2**63 - 1, "9.2 EB"),
        (-1500, "-1.5 kB"),
    ],
)
def test_bytes(value: int, text: str) -> None:
    """Bytes are powers of 1000, with two or three digits."""
    assert byte_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"),
        (250, "250ms"),
        (999, "999ms"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (312_000, "5m12s"),
        (7_200_000, "2h"),
        (7_500_000, "2h05m"),
        (86_400_000, "1d"),
        (86_459_000, "1d"),
        (273_600_000, "3d04h"),
        (-312_000, "-5m12s"),
    ],
)
def test_durations(value: int, text: str) -> None:
    """Durations have their two largest units, without a smaller unit that is 0."""
    assert duration(value) == text
