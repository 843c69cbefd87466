"""Decides which topics and groups a snapshot is about, by regular expressions of whole names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Names:
    """The names that match `include`, or all without it, but for those that match `exclude`."""

    include: re.Pattern[str] | None = None
    exclude: re.Pattern[str] | None = None

    @classmethod
    def of(cls, include: str | None, exclude: str | None) -> "Names":
        """The names that two settings choose."""
        return cls(*(None if pattern is None else re.compile(pattern) for pattern in (include, exclude)))

    @property
    def are_all(self) -> bool:
        """Whether no name is left out."""
        return self.include is None and self.exclude is None

    def __contains__(self, name: object) -> bool:
        """Whether a name is chosen; what has no name is."""
        if not isinstance(name, str):
            return True
        is_included = self.include is None or self.include.fullmatch(name) is not None
        return is_included and (self.exclude is None or self.exclude.fullmatch(name) is None)


@dataclass(frozen=True, slots=True)
class ChosenNames:
    """The topics and the groups of a snapshot."""

    topics: Names = Names()
    groups: Names = Names()

    def rows(self, row: type[Any], rows: Sequence[Any]) -> Sequence[Any]:
        """The rows of a table that are about chosen topics and groups: brokers answer about others, too.

        A group's commits are returned for all topics, and a broker's log directories hold all of them.
        """
        chosen = {"topic": self.topics, "group_id": self.groups}
        fields = [name for name, names in chosen.items() if hasattr(row, name) and not names.are_all]
        if not fields:
            return rows
        return [one for one in rows if all(getattr(one, name) in chosen[name] for name in fields)]


EVERYTHING = ChosenNames()
