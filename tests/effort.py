"""Numbers of examples of a property: few in `make quick`, some in `make test`, all in `make proof`.

`make proof` runs the properties again: those of Hypothesis, and those with the marker `examples`.
"""

import os
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import pytest

_PARTS = {"all": 1, "some": 5, "few": 12}
_PART = _PARTS[os.environ.get("TEST_EXAMPLES", "some")]
_LEAST = 2


def examples(count: int) -> int:
    """Number of examples to try, of `count` in `make proof`."""
    return max(min(_LEAST, count), count // _PART)


def first(values: Sequence[Any], count: int = 1) -> list[Any]:
    """Parameters of a test that shows the same for each: the first `count` run in `make test`, all in `make proof`."""
    rest = [value if isinstance(value, tuple) else (value,) for value in values[count:]]
    return [*values[:count], *(pytest.param(*value, marks=pytest.mark.proof) for value in rest)]


def is_in_share(name: str, share: str) -> bool:
    """True if a test belongs to a share: `2/3` is the second of three parts, which together are all tests."""
    number, of = map(int, share.split("/"))
    return crc32(name.encode()) % of == number % of
