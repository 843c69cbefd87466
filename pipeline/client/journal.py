"""What was asked of whom and what came of it: requests, answers and settled items in, the facts of table `coverage` out.

Guards one rule: every request that went out and every item that was asked about is counted exactly once.
"""

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way; `node_id` is None for a bootstrap connection."""

    api: str
    node_id: int | None
    size: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was answered: sizes in bytes, `at` when the answer was there (monotonic seconds)."""

    api: str
    api_version: int
    node_id: int | None
    response_bytes: int
    at: float
    elapsed_ms: float
    throttle_ms: int


@dataclass(slots=True)
class Tally:
    """How many items (partitions, groups, brokers) one broker was asked about through one API."""

    answered: int = 0
    failed: int = 0


@dataclass(slots=True)
class Journal:
    """Collects from several threads: appending to a list is atomic, tallies are written by the gathering thread only."""

    sent: list[Sent] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    tallies: defaultdict[tuple[str, int | None], Tally] = field(default_factory=lambda: defaultdict(Tally))
