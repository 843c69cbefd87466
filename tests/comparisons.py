"""Makes values that count how often they are compared, so that a test can tell how effort grows with the input."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass
class Comparisons:
    """The number of comparisons of the values that it has made, for equality and order, and of texts by their beginning."""

    count: int = 0

    def counting(self, value: Any) -> Any:
        """Make an equal value, of a subclass, whose comparisons are counted; values are found in sets by their hash."""
        return _counting(self, type(value))(value)

    def during(self, work: Callable[[], object]) -> int:
        """Return how often the values were compared while `work` ran."""
        before = self.count
        work()
        return self.count - before

    def __hash__(self) -> int:
        return id(self)


@cache
def _counting(of: Comparisons, kind: Any) -> Any:
    class Counting(kind):  # type: ignore[misc]
        def __eq__(self, other: object) -> bool:
            of.count += 1
            return bool(kind.__eq__(self, other))

        def __lt__(self, other: object) -> Any:
            of.count += 1
            return kind.__lt__(self, other)

        def startswith(self, *prefix: Any) -> bool:
            of.count += 1
            return bool(kind.startswith(self, *prefix))

        __hash__ = kind.__hash__

    return Counting
