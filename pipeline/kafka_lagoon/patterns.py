"""Compiles regular expressions that users write, and finds the first one that matches a whole name."""

import re
import warnings
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def compile_pattern(text: str) -> re.Pattern[str]:
    """The pattern; ValueError for a text that is none, or that is too large or nested too deeply for Python.

    Java has sets within sets, such as [a-z&&[^b]], and grep [[:alpha:]]: Python takes the brackets for characters, and warns.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return re.compile(text)
    except FutureWarning as warning:
        raise ValueError(
            f"{text!r} has a set within a set, which Python does not have ({warning}): a backslash makes a sign a character"
        ) from None
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None


def first_match(name: str, entries: Iterable[tuple[re.Pattern[str], T]]) -> tuple[str, T] | None:
    """The first pattern that matches the whole name, with its value; None if there is none."""
    return next(((pattern.pattern, value) for pattern, value in entries if pattern.fullmatch(name)), None)
