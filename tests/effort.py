"""How many examples a property is tried with: a few in `make test`, all of them in `make proof`.

`make proof` runs the properties again: those of Hypothesis, and those with the marker `examples`.
"""

import os

ALL_EXAMPLES = os.environ.get("LAGOON_EXAMPLES") == "all"
_PART, _LEAST = 5, 2


def examples(count: int) -> int:
    """Number of examples to try, of `count` in `make proof`."""
    return count if ALL_EXAMPLES else max(_LEAST, count // _PART)
