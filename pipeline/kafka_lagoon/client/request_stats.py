"""Request statistics of one cluster by API and broker, the facts of table `coverage`.

They take no more room the longer a cluster lives: a streaming query keeps one for as long as it runs.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock

Key = tuple[str, int | None]  # API and broker; None for a bootstrap connection


@dataclass(slots=True)
class ApiStats:
    """Requests of one API to one broker, and their answers; sizes in bytes, times in monotonic seconds."""

    requests: int = 0
    request_bytes: int = 0
    api_version: int | None = None  # the highest that was sent
    answers: int = 0
    answer_bytes: int = 0
    throttle_ms: int = 0
    first_sent_at: float = float("inf")  # of the requests that were answered
    last_answered_at: float = float("-inf")

    @property
    def elapsed_ms(self) -> int:
        """From the first request to the last answer; 0 without an answer."""
        return round((self.last_answered_at - self.first_sent_at) * 1000) if self.answers else 0


@dataclass(slots=True)
class ItemCounts:
    """How many items (partitions, groups, brokers) one broker was asked about through one API."""

    answered: int = 0
    failed: int = 0


@dataclass(slots=True)
class RequestStats:
    """Counts for several threads; item_counts are written by the gathering thread only."""

    by_api: defaultdict[Key, ApiStats] = field(default_factory=lambda: defaultdict(ApiStats))
    item_counts: defaultdict[Key, ItemCounts] = field(default_factory=lambda: defaultdict(ItemCounts))
    _lock: Lock = field(default_factory=Lock)

    def sent(self, key: Key, api_version: int, size: int) -> None:
        """Count a request that goes out."""
        with self._lock:
            one = self.by_api[key]
            one.requests += 1
            one.request_bytes += size
            one.api_version = max(api_version, -1 if one.api_version is None else one.api_version)

    def answered(self, key: Key, size: int, sent_at: float, answered_at: float, throttle_ms: int) -> None:
        """Count the answer to a request."""
        with self._lock:
            one = self.by_api[key]
            one.answers += 1
            one.answer_bytes += size
            one.throttle_ms += throttle_ms
            one.first_sent_at = min(one.first_sent_at, sent_at)
            one.last_answered_at = max(one.last_answered_at, answered_at)
