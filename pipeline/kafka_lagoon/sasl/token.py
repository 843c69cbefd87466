"""Keeps bearer tokens for the whole process, and fetches a new one before the old one expires.

One request serves all brokers and threads that need a token of the same source. Tokens are never shown.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.frozen import frozen

_SKEW_MS = 30_000  # other machines' clocks may be ahead by this much
_RENEWED_AT = 0.8  # of its lifetime; the old token is still valid then


@frozen(kw_only=False)
class Token:
    """A bearer token. `expires_at_ms` is in epoch milliseconds, None if unknown; then it is used once."""

    value: str = field(repr=False)
    expires_at_ms: int | None = None


class Source(Hashable, Protocol):
    """A source of tokens. Equal sources share their tokens."""

    def fetch(self, clock: Clock) -> Token:
        """A new token. ConnectionFailed if another attempt may succeed, AuthenticationFailed if not."""
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
        """A valid token. If a new one cannot be fetched, the old one is returned while it is valid."""
        with self._lock:
            kept = self._kept.setdefault(source, _Kept())
        called_at = clock.monotonic()
        with kept.lock:
            now_ms = clock.now_ms()
            if kept.token and now_ms < _renewed_at_ms(kept):
                return kept.token
            if kept.failure and kept.failed_at > called_at:  # otherwise each thread would wait for a timeout of its own
                raise kept.failure
            try:
                kept.token, kept.fetched_at_ms = source.fetch(clock), now_ms
            except ConnectionFailed as failure:
                if kept.token and now_ms < (kept.token.expires_at_ms or 0) - _SKEW_MS:
                    return kept.token
                kept.failure, kept.failed_at = failure, clock.monotonic()
                raise
            return kept.token

    def forget(self, source: Source, token: Token) -> None:
        """Fetch a new token next time, because a broker refuses this one: it may have been revoked."""
        with self._lock:
            kept = self._kept.get(source)
        if kept:
            with kept.lock:
                kept.token = None if kept.token is token else kept.token


def _renewed_at_ms(kept: _Kept) -> float:
    if kept.token is None or kept.token.expires_at_ms is None:
        return 0
    return kept.fetched_at_ms + (kept.token.expires_at_ms - _SKEW_MS - kept.fetched_at_ms) * _RENEWED_AT
