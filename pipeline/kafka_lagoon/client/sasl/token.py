"""Bearer tokens: where one comes from in, one that is still good out.

Guards one rule: a token is asked for once per process and used until it is nearly spent, however many brokers and
threads want it; and it is never shown.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConnectionFailed

_SKEW_MS = 30_000  # clocks of others may be so much ahead
_USED_UP = 0.8  # of its life, then a new one is asked for while the old one still works


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. `expires_at_ms` is in epoch milliseconds, None when nobody said; then it is used once."""

    value: str = field(repr=False)
    expires_at_ms: int | None = None


class Source(Hashable, Protocol):
    """Where tokens come from. Equal sources share their tokens."""

    def fetch(self, clock: Clock) -> Token:
        """A new token. ConnectionFailed for what another try may mend, AuthenticationFailed for what it will not."""
        ...


@dataclass(slots=True)
class _Kept:
    lock: Lock = field(default_factory=Lock)
    token: Token | None = None
    fetched_at_ms: int = 0
    failure: ConnectionFailed | None = None
    failed_at: float = 0.0  # monotonic


class TokenCache:
    """The tokens of this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Source, _Kept] = {}

    def token(self, source: Source, clock: Clock) -> Token:
        """A token that is good for now. When a new one cannot be had yet, the old one is, as long as it lives."""
        with self._lock:
            kept = self._kept.setdefault(source, _Kept())
        came_at = clock.monotonic()
        with kept.lock:
            now_ms = clock.now_ms()
            if kept.token and now_ms < _renewed_at_ms(kept):
                return kept.token
            if kept.failure and kept.failed_at > came_at:  # else every thread would wait for its own time-out in turn
                raise kept.failure
            try:
                kept.token, kept.fetched_at_ms = source.fetch(clock), now_ms
            except ConnectionFailed as failure:
                if kept.token and now_ms < (kept.token.expires_at_ms or 0) - _SKEW_MS:
                    return kept.token
                kept.failure, kept.failed_at = failure, clock.monotonic()
                raise
            return kept.token


def _renewed_at_ms(kept: _Kept) -> float:
    if kept.token is None or kept.token.expires_at_ms is None:
        return 0
    return kept.fetched_at_ms + (kept.token.expires_at_ms - _SKEW_MS - kept.fetched_at_ms) * _USED_UP
