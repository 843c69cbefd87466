"""Values as text on the page."""

import pytest

from kafka_lagoon.report.page_tables import Column
from kafka_lagoon.report.values import cell, some_names, spelled


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("count", 1_234_567, "1,234,567"),
        ("bytes", 1_200_000_000, "1.2 GB"),
        ("rate", 0.0, "0/s"),
        ("rate", 0.04, "0.0/s"),
        ("rate", 99.94, "99.9/s"),
        ("rate", 1234.5, "1,234/s"),
        ("byte_rate", 1500.0, "1.5 kB/s"),
        ("duration", 312_000, "5m12s"),
        ("ratio", 0.957, "96%"),
        ("time", 1_763_726_400_123, "2025-11-21 12:00:00"),
    ],
)
def test_values_have_units(kind: str, value: float, text: str) -> None:
    """Numbers are shown with their units."""
    assert spelled(kind, value) == text


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
