"""Regular expressions of users are compiled, or refused by a ValueError alone."""

import pytest

from kafka_lagoon.patterns import compile_pattern


def test_a_pattern() -> None:
    """It is Python's own."""
    assert compile_pattern("orders-.*").fullmatch("orders-1")


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(" * 5_000 + ")" * 5_000, "(?P<a>x)(?P<a>y)"])
def test_what_is_none(text: str) -> None:
    """Python raises an OverflowError for a large number of repetitions, and a RecursionError for deep nesting."""
    with pytest.raises(ValueError, match="is not a regular expression"):
        compile_pattern(text)
