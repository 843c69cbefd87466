"""TOML is parsed in time and memory that its length bounds."""

import time

import pytest

from kafka_lagoon.toml_text import parse_toml


def test_values_are_those_of_toml() -> None:
    """Dotted and quoted keys, and values that look like long keys of few parts, are parsed."""
    parts = ".".join(["a"] * 99)
    text = f'{parts}.end = 1\n"b.c" = "{"x. " * 20}"\n[d . "e f"]\ng = 1.5\n'
    parsed = parse_toml(text)
    assert (parsed["b.c"], parsed["d"]) == ("x. " * 20, {"e f": {"g": 1.5}})


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 30_000) + " = 1",
        "[" + " . ".join(["'a'"] * 10_000) + "]",
        'x = {"a"' + '."b"' * 10_000 + " = 1}",
        "a = " + "[" * 30_000 + "]" * 30_000,
    ],
)
def test_nesting_is_bounded(text: str) -> None:
    """Python's parser would take seconds and gigabytes for a key of thirty thousand parts, and raise a RecursionError for lists."""
    started = time.process_time()
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("text", ["a" * 60_000, '"' * 60_000, "a ." * 20_000 + "=", "'a'" * 20_000])
def test_what_is_no_key_costs_no_time(text: str) -> None:
    """Each position is looked at a bounded number of times."""
    started = time.process_time()
    with pytest.raises(ValueError, match=r"."):
        parse_toml(text)
    assert time.process_time() - started < 1
