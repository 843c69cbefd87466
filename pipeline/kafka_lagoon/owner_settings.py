"""Declares the sections [owners] and [expected]: teams of topics and groups, and groups that are stopped on purpose.

Patterns are regular expressions of whole names. The first that matches counts, in the order of the file.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from kafka_lagoon.job_settings import Strict
from kafka_lagoon.owners import Expectation
from kafka_lagoon.patterns import compile_pattern


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
Team = Annotated[str, AfterValidator(_not_blank)]


class OwnersSettings(Strict):
    """Teams by pattern of the names that they own."""

    topics: Mapping[Pattern, Team] = Field(
        {}, description="Regular expression of whole names of topics = team. The first that matches counts."
    )
    groups: Mapping[Pattern, Team] = Field(
        {}, description="Regular expression of whole group.ids = team. The first that matches counts."
    )


def _with_hours(value: Any) -> Any:
    return {"hours": value} if isinstance(value, str) else value


class ExpectedSettings(Strict):
    """Groups that are stopped on purpose, by pattern of their ids."""

    groups: Mapping[Pattern, Annotated[Expectation, BeforeValidator(_with_hours)]] = Field(
        {},
        description="Regular expression of whole group.ids = hours in which these groups run, or paused. The first that "
        "matches counts. Hours are 22:00-06:00, or several ranges separated by commas, in UTC or in the time zone named after "
        'them. Instead of a text also { hours = "paused", until = 2026-12-24, reason = "moves" }: from that day on the entry '
        "does not count.",
    )


NO_OWNERS, NOTHING_EXPECTED = OwnersSettings(), ExpectedSettings()
