"""Counts requests, bytes and items by API and broker: the facts of table `coverage`.

Their memory does not grow with time; a streaming query keeps the same object for as long as it runs.
"""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

Key = tuple[str, int | None]  # API and broker; None for a bootstrap connection


@dataclass(slots=True)
class ApiStats:
    """Requests of one API to one broker, and their responses; sizes in bytes, times in monotonic seconds."""

    requests: int = 0
    request_bytes: int = 0
    api_version: int | None = None  # the highest that was sent
    answers: int = 0
    answer_bytes: int = 0
    throttle_ms: int = 0
    # Most requests of the connection without a response when a request of this API was sent, itself included.
    most_in_flight: int = 0
    first_sent_at: float = float("inf")  # of the requests that were answered
    last_answered_at: float = float("-inf")
    elapsed_elsewhere_ms: int = 0  # longest elapsed time of another process, whose monotonic clock is not ours

    @property
    def elapsed_ms(self) -> int:
        """From the first request to the last response; 0 without a response."""
        return round(max((self.last_answered_at - self.first_sent_at) * 1000, self.elapsed_elsewhere_ms))


@dataclass(slots=True)
class ItemCounts:
    """Number of items (partitions, groups, brokers) that one broker answered, or failed to answer, for one API."""

    answered: int = 0
    failed: int = 0


@dataclass(slots=True)
class RequestStats:
    """The counts of one cluster, written by several threads; `item_counts` is written by the gathering thread only."""

    by_api: defaultdict[Key, ApiStats] = field(default_factory=partial(defaultdict, ApiStats))
    item_counts: defaultdict[Key, ItemCounts] = field(default_factory=partial(defaultdict, ItemCounts))
    _lock: Lock = field(default_factory=Lock)

    def sent(self, key: Key, api_version: int, size: int, in_flight: int = 1) -> None:
        """Count a request that is sent."""
        with self._lock:
            stats = self.by_api[key]
            stats.requests += 1
            stats.request_bytes += size
            stats.most_in_flight = max(in_flight, stats.most_in_flight)
            stats.api_version = max(api_version, -1 if stats.api_version is None else stats.api_version)

    def answered(self, key: Key, size: int, sent_at: float, answered_at: float, throttle_ms: int) -> None:
        """Count the response to a request."""
        with self._lock:
            stats = self.by_api[key]
            stats.answers += 1
            stats.answer_bytes += size
            stats.throttle_ms += throttle_ms
            stats.first_sent_at = min(stats.first_sent_at, sent_at)
            stats.last_answered_at = max(stats.last_answered_at, answered_at)

    def has_answer_of(self, other_than: Container[str]) -> bool:
        """True if any request was answered, of APIs other than these."""
        with self._lock:
            return any(stats.answers for (api, _), stats in self.by_api.items() if api not in other_than)

    def add(self, other: "RequestStats") -> None:
        """Add the counts of another process, whose monotonic clock may be another one: only its durations count."""
        for key, theirs in other.by_api.items():
            stats = self.by_api[key]
            stats.elapsed_elsewhere_ms = max(stats.elapsed_elsewhere_ms, theirs.elapsed_ms)
            stats.requests += theirs.requests
            stats.request_bytes += theirs.request_bytes
            stats.answers += theirs.answers
            stats.answer_bytes += theirs.answer_bytes
            stats.throttle_ms += theirs.throttle_ms
            stats.most_in_flight = max(stats.most_in_flight, theirs.most_in_flight)
            versions = [one for one in (stats.api_version, theirs.api_version) if one is not None]
            stats.api_version = max(versions, default=None)
        for key, items in other.item_counts.items():
            self.item_counts[key].answered += items.answered
            self.item_counts[key].failed += items.failed

    def __reduce__(self) -> tuple[type["RequestStats"], tuple[Any, ...]]:
        """The counts without the lock, which cannot be sent to another process."""
        return RequestStats, (self.by_api, self.item_counts)
