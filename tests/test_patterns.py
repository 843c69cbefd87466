"""Regular expressions of users are compiled, or refused by a ValueError alone."""

import pytest

from kafka_lagoon.patterns import compile_pattern, first_match


def test_a_pattern() -> None:
    """It is Python's own."""
    assert compile_pattern("orders-.*").fullmatch("orders-1")


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(" * 5_000 + ")" * 5_000, "(?P<a>x)(?P<a>y)"])
def test_what_is_none(text: str) -> None:
    """Python raises an OverflowError for a large number of repetitions, and a RecursionError for deep nesting."""
    with pytest.raises(ValueError, match="is not a regular expression"):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["[[:alpha:]]+", "orders-[[0-9]]*", "[a-z--b]"])
def test_what_python_only_warns_of(text: str) -> None:
    """Its warning, with a line of this package, stood on standard error, and a class of POSIX silently matched other names."""
    with pytest.raises(ValueError, match="has a set within a set, which Python does not have"):
        compile_pattern(text)
    assert compile_pattern(r"[\[a]").fullmatch("[")


def test_the_first_match_of_a_whole_name() -> None:
    """The order decides, and a pattern that matches only a part of the name does not count."""
    entries = [(compile_pattern(text), value) for text, value in (("order", 1), ("orders-.*", 2), (".*-eu", 3))]
    assert first_match("orders-eu", entries) == ("orders-.*", 2)
    assert first_match("returns-eu", entries) == (".*-eu", 3)
    assert first_match("orders", entries) is None
