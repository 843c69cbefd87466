"""Parses TOML whose nesting is bounded: Python's parser takes the square of the parts of a key, in time and in memory."""

import re
import tomllib
from typing import Any

_MOST_PARTS = 100
# A part does not begin within another one: otherwise a long word would be read again from each of its letters.
_LONG_KEY = re.compile(
    rf"(?:(?<![\w-])(?:[\w-]++|\"(?:\\.|[^\"\\\n])*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}", re.ASCII
)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text; ValueError for what is not TOML or nested too deeply, such as a key of a hundred parts."""
    try:
        if not _LONG_KEY.search(text):
            return tomllib.loads(text)
    except RecursionError:
        pass
    raise ValueError("values are nested too deeply")
