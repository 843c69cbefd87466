"""Cached tokens: how long they are used, for which source, and what happens if a new one cannot be fetched."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier

import pytest

from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.sasl.token import Token, TokenCache
from tests.clock import CLOCK


class Time:
    """A clock that tests can set."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def clock(self) -> Clock:
        """Return the clock."""
        return Clock(now_ms=lambda: self.ms, monotonic=lambda: self.ms / 1000, sleep=lambda _: None)


@dataclass(eq=False)
class Counted:
    """A source that counts how often a token is fetched."""

    life_ms: int | None
    fetches: int = 0
    failures: list[ConnectionFailed] = field(default_factory=list)

    def fetch(self, clock: Clock) -> Token:
        """Return a token with a number."""
        if self.failures:
            raise self.failures[0]
        self.fetches += 1
        return Token(f"token-{self.fetches}", None if self.life_ms is None else clock.now_ms() + self.life_ms)


def test_a_token_is_used_for_most_of_its_life() -> None:
    """A token is renewed after four fifths of its life, less half a minute for differences between clocks."""
    time, source, cache = Time(), Counted(life_ms=630_000), TokenCache()
    assert cache.token(source, time.clock()).value == "token-1"
    time.ms += 479_999
    assert cache.token(source, time.clock()).value == "token-1"
    time.ms += 1
    assert cache.token(source, time.clock()).value == "token-2"


@pytest.mark.parametrize("life_ms", [None, 0, 30_000])
def test_a_token_that_cannot_be_kept(life_ms: int | None) -> None:
    """A token without an expiry time, or with too little life left, is fetched each time."""
    time, source, cache = Time(), Counted(life_ms=life_ms), TokenCache()
    assert [cache.token(source, time.clock()).value for _ in range(2)] == ["token-1", "token-2"]


def test_the_old_token_bridges_a_failure() -> None:
    """The old token is used while it is valid; after that the failure is raised."""
    time, source, cache = Time(), Counted(life_ms=630_000), TokenCache()
    cache.token(source, time.clock())
    source.failures.append(ConnectionFailed("idp:443", "connect", "refused"))
    time.ms += 599_999
    assert cache.token(source, time.clock()).value == "token-1"
    time.ms += 1
    with pytest.raises(ConnectionFailed, match="refused"):
        cache.token(source, time.clock())


@dataclass(frozen=True)
class Endpoint:
    """A source that equals another with its URL."""

    url: str

    def fetch(self, clock: Clock) -> Token:
        """Return another token each time."""
        return Token("secret", clock.now_ms() + 630_000)


def test_sources_do_not_share_tokens() -> None:
    """Each source has its own token, but equal sources share one."""
    time, cache = Time(), TokenCache()
    first, second = Counted(life_ms=630_000), Counted(life_ms=630_000)
    cache.token(first, time.clock())
    cache.token(second, time.clock())
    assert (first.fetches, second.fetches) == (1, 1)
    endpoint, same = Endpoint("https://a"), Endpoint("https://a")
    assert cache.token(endpoint, time.clock()) is cache.token(same, time.clock())
    assert cache.token(endpoint, time.clock()) is not cache.token(Endpoint("https://b"), time.clock())


def test_a_token_that_brokers_refuse() -> None:
    """It may have been revoked: a new one is fetched, once for all connections that were refused the old one."""
    time, cache, source = Time(), TokenCache(), Counted(life_ms=630_000)
    revoked = cache.token(source, time.clock())
    cache.forget(source, revoked)
    assert cache.token(source, time.clock()) != revoked
    cache.forget(source, revoked)
    cache.token(source, time.clock())
    assert source.fetches == 2
    cache.forget(Counted(life_ms=1), revoked)


def test_threads_ask_once() -> None:
    """The token is fetched once, however many threads need it at the same time."""
    source, cache, start = Counted(life_ms=630_000), TokenCache(), Barrier(8)

    def ask(_: int) -> str:
        start.wait()
        return cache.token(source, CLOCK).value

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {"token-1"}


def test_threads_share_a_failure() -> None:
    """Threads that waited for another thread's attempt get its failure; later calls try again."""
    cache, start = TokenCache(), Barrier(9)

    @dataclass(eq=False)
    class Slow:
        fetches: int = 0

        def fetch(self, clock: Clock) -> Token:
            self.fetches += 1
            if self.fetches == 1:
                start.wait()
                clock.sleep(0.1)
            raise ConnectionFailed("idp:443", "connect", "refused")

    source = Slow()

    def ask(number: int) -> None:
        if number:
            start.wait()
        with pytest.raises(ConnectionFailed):
            cache.token(source, CLOCK)

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(ask, range(9)))
    assert source.fetches == 1
    ask(0)
    assert source.fetches == 2


def test_a_token_does_not_show_itself() -> None:
    """Neither the token nor the cache shows it."""
    time, source, cache = Time(), Counted(life_ms=630_000), TokenCache()
    token = cache.token(source, time.clock())
    assert token.value not in repr(token)
    assert token.value not in repr(cache._kept)
