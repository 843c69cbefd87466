"""Compiles regular expressions that users write."""

import re


def compile_pattern(text: str) -> re.Pattern[str]:
    """The pattern; ValueError for a text that is none, or that is too large or nested too deeply for Python."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
