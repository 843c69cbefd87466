"""Declares positions and the results about their first unread record; knows neither requests nor records."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.frozen import frozen

BUDGET_USED_UP = "TIME_LAG_BUDGET_USED_UP"
NO_RECORD_RETURNED = "NO_RECORD_RETURNED"
GAP_TOO_LONG = "GAP_TOO_LONG"


class Position(NamedTuple):
    """The next offset of a group, and the end of the log. `last_epoch` is the leader epoch of the record before, -1 if unknown.

    `is_blocked`: the offset is not below the last stable offset, so that readers of committed records wait.
    """

    topic: str
    partition: int
    offset: int
    last_epoch: int
    is_blocked: bool
    high_watermark: int


class FirstUnreadOutcome(Enum):
    """The kind of answer about a position."""

    RECORD = auto()  # the record
    NOTHING = auto()  # no record before the end of the log
    BOUND = auto()  # the latest time that the record can have, from the header of its batch
    UNREADABLE = auto()  # no result, for a reason that another attempt would meet, too
    NOT_READ = auto()  # no result, because a limit was reached, or nothing is known
    INTERPOLATED = auto()  # the approximate time of writing: between the times of two snapshots


@frozen
class FirstUnread:
    """The first unread record of a position, or the reason why it is not known. `timestamp_ms` is a bound for outcome BOUND.

    `is_blocked`: readers of committed records do not get it yet.
    """

    outcome: FirstUnreadOutcome
    offset: int | None = None
    timestamp_ms: int | None = None
    timestamp_type: int | None = None
    is_blocked: bool = False
    read_at_ms: int | None = None
    problem: str | None = None


@frozen
class UnreadRecords:
    """The first unread record of each position, failures of requests, and the bytes of records that were received."""

    first: Mapping[Position, FirstUnread]
    failures: Sequence[Failure]
    bytes_fetched: int


def not_read(positions: Sequence[Position], problem: str) -> dict[Position, FirstUnread]:
    """The same problem for all positions."""
    return dict.fromkeys(positions, FirstUnread(outcome=FirstUnreadOutcome.NOT_READ, problem=problem))
