"""Selects the topics and groups of a snapshot by regular expressions, which must match whole names."""

import re
from collections.abc import Sequence
from typing import Any

from kafka_lagoon.frozen import frozen


@frozen(kw_only=False)
class Names:
    """Names that match `include` (all names if it is empty) and do not match `exclude`."""

    include: re.Pattern[str] | None = None
    exclude: re.Pattern[str] | None = None

    @classmethod
    def of(cls, include: str | None, exclude: str | None) -> "Names":
        """Make the selection that two settings describe."""
        return cls(*(None if pattern is None else re.compile(pattern) for pattern in (include, exclude)))

    @property
    def are_all(self) -> bool:
        """True if no name is excluded."""
        return self.include is None and self.exclude is None

    def __contains__(self, name: object) -> bool:
        """True if the name is selected; None, which is no name, always is."""
        if not isinstance(name, str):
            return True
        is_included = self.include is None or self.include.fullmatch(name) is not None
        return is_included and (self.exclude is None or self.exclude.fullmatch(name) is None)


@frozen(kw_only=False)
class ChosenNames:
    """The topics and groups that a snapshot covers."""

    topics: Names = Names()
    groups: Names = Names()

    def rows(self, row: type[Any], rows: Sequence[Any]) -> Sequence[Any]:
        """Keep the rows of selected topics and groups.

        Brokers also answer about others: a group's commits are returned for all topics, and a log directory holds all of
        them.
        """
        chosen = {"topic": self.topics, "group_id": self.groups}
        fields = [name for name, names in chosen.items() if hasattr(row, name) and not names.are_all]
        if not fields:
            return rows
        return [one for one in rows if all(getattr(one, name) in chosen[name] for name in fields)]


EVERYTHING = ChosenNames()
