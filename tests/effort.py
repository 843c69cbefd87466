"""How many examples a property is tried with: few in `make quick`, some in `make test`, all in `make proof`.

`make proof` runs the properties again: those of Hypothesis, and those with the marker `examples`.
"""

import os

_PARTS = {"all": 1, "some": 5, "few": 12}
_PART = _PARTS[os.environ.get("TEST_EXAMPLES", "some")]
_LEAST = 2


def examples(count: int) -> int:
    """Number of examples to try, of `count` in `make proof`."""
    return max(min(_LEAST, count), count // _PART)
