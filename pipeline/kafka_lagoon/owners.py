"""Holds what the settings [owners] and [expected] say, for snapshots: it does not import pydantic, as settings do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date

from kafka_lagoon.frozen import frozen
from kafka_lagoon.hours import begin_ms, parse_hours

PAUSED = "paused"


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The hours in which groups run, the day on which that ends, and a reason."""

    __pydantic_config__ = {"extra": "forbid", "hide_input_in_errors": True}  # noqa: RUF012

    hours: str
    until: date | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if not self.is_pause:
            try:
                parse_hours(self.hours)
            except ValueError as fault:
                raise ValueError(f"{fault}; or paused") from None

    @property
    def is_pause(self) -> bool:
        """Return True if the groups do not run at all."""
        return self.hours == PAUSED

    @property
    def until_ms(self) -> int | None:
        """Return the begin of the day on which it ends, in the zone of the hours (epoch milliseconds)."""
        return (
            None if self.until is None else begin_ms(self.until, UTC if self.is_pause else parse_hours(self.hours).zone)
        )

    def counts(self, at_ms: int) -> bool:
        """Return True if it has not ended at that time."""
        return self.until_ms is None or at_ms < self.until_ms

    def should_run(self, at_ms: int) -> bool:
        """Return True if the groups are expected to run at that time."""
        return not self.is_pause and parse_hours(self.hours).include(at_ms)


@frozen
class Owners:
    """Teams by pattern of topics and groups, and expectations by pattern of groups; the first pattern that matches counts."""

    topics: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, Expectation] = field(default_factory=dict)


NOBODY = Owners()
