"""Values as text on the page."""

import pytest

from kafka_lagoon.report.page_tables import Column
from kafka_lagoon.report.values import (
    cell,
    few_names,
    partition_name,
    scale_label,
    severity_count,
    short_time_html,
    some_names,
    spelled,
    time_html,
)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("count", 1_234_567, "1,234,567"),
        ("bytes", 1_200_000_000, "1.2 GB"),
        ("rate", 0.0, "0/s"),
        ("rate", 0.04, "0.0/s"),
        ("rate", 99.94, "99.9/s"),
        ("rate", 100.0, "100/s"),
        ("rate", 1234.5, "1,234/s"),
        ("byte_rate", 1500.0, "1.5 kB/s"),
        ("duration", 312_000, "5m12s"),
        ("time_left", 21_589_000, "5h59m"),
        ("time_left", 45_900, "45s"),
        ("time_left", 0, "now"),
        ("time_left", -3_510_000, "overdue by 58m"),
        ("ratio", 0.957, "96%"),
        ("time", 1_763_726_400_123, "2025-11-21 12:00:00"),
        ("time", -62_135_596_800_000, "0001-01-01 00:00:00"),
        ("time", -1, "1969-12-31 23:59:59"),
    ],
)
def test_values_have_units(kind: str, value: float, text: str) -> None:
    """Numbers are shown with their units."""
    assert spelled(kind, value) == text


def test_times_of_any_year_are_valid_html() -> None:
    """Attribute datetime has four digits of the year."""
    expected = '<time datetime="0999-12-31T23:59:59Z">0999-12-31 23:59:59</time>'
    assert time_html(-30_610_224_000_001) == expected
    assert 'datetime="0999-12-31T23:59:59Z" title="0999-12-31 23:59:59 UTC"' in short_time_html(-30_610_224_000_001)


def test_unknown_is_not_empty_and_not_zero() -> None:
    """A null has the text of its column; an empty text stays empty."""
    column = Column(label="Lag", kind="count", source="consumer_lag.lag", unknown="unknown")
    assert cell(column, None) == '<span class="none">unknown</span>'
    assert cell(column, 0) == "0"
    assert cell(column, "") == '<span class="none"></span>'
    assert cell(Column(label="Group", source=""), "<b>") == "<bdi>&lt;b&gt;</bdi>"


def test_names_in_a_sentence() -> None:
    """Three different names are listed, with the number of further names."""
    assert some_names(["a", "b", "a"]) == "a, b"
    assert some_names(["a", "b", "c", "d", "\x1b"]) == "a, b, c and 2 more"
    assert some_names(["a", "b"], "; ") == "a; b"


def test_names_in_a_tile() -> None:
    """Up to three different names are listed, as many as fit, and always one."""
    long = "a" * 21
    assert few_names(["a", "b", "c"]) == "a, b, c"
    assert few_names([long, long, "b"]) == f"{long}, b"
    assert few_names([long, "b" * 21, "c"]) == f"{long} and 2 more"


def test_a_partition_is_not_glued_to_its_topic() -> None:
    """The name of a topic may end in a number."""
    assert partition_name("checkout.emails.v2-108", 0) == "topic checkout.emails.v2-108, partition 0"


def test_numbers_of_things() -> None:
    """One warning has no plural; critical is no noun."""
    levels = ["warning", "critical", "warning", "critical"]
    assert (severity_count(levels, "critical"), severity_count(levels, "warning")) == ("2 critical", "2 warnings")
    assert severity_count(["critical"] * 1000, "critical") == "1,000 critical"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("count", 1_000, "1k"),
        ("count", 600_000, "600k"),
        ("count", 1_500_000, "1.5M"),
        ("count", -20, "-20"),
        ("rate", 0.04, "0.04/s"),
        ("rate", 40_000, "40k/s"),
        ("bytes", 2_000_000_000, "2 GB"),
        ("byte_rate", 1_000, "1 kB/s"),
    ],
)
def test_labels_of_scales_are_short(kind: str, value: float, text: str) -> None:
    """A chart has little space beside it."""
    assert scale_label(kind, value) == text


def test_a_short_time() -> None:
    """It has the whole time as a title."""
    time = short_time_html(1_763_726_400_123)
    assert ">21 Nov 12:00<" in time
    assert 'title="2025-11-21 12:00:00 UTC"' in time
