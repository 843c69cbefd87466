"""A name that nobody knows and the known ones in, the question that a person would ask out."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[object]) -> str:
    """` (did you mean X?)` for the known name that is nearest; empty if none is near."""
    close = difflib.get_close_matches(name, [str(one) for one in known], n=1)
    return f" (did you mean {close[0]}?)" if close else ""
