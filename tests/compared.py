"""Texts that count how often they are compared, which shows that names are looked up, and not searched for in lists."""

from collections.abc import Callable
from typing import Any


class Compared(str):
    """A text that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Compared.compared += 1
        return super().__eq__(other)

    def __lt__(self, other: str) -> bool:
        Compared.compared += 1
        return super().__lt__(other)

    def startswith(self, *prefix: Any) -> bool:
        """Count it as a comparison, too."""
        Compared.compared += 1
        return super().startswith(*prefix)

    __hash__ = str.__hash__


def comparisons(work: Callable[[], object]) -> int:
    """How often texts were compared while `work` ran."""
    before = Compared.compared
    work()
    return Compared.compared - before
