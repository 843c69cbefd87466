"""Remembers which brokers were silent for too long, so that the rest of a command does not wait for them.

A wrong address, or a frozen broker, would otherwise use up the time of a command, and nothing would be known of the others.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConnectionFailed, DeadlinePassed, PipelineError


class UnreachableBrokers:
    """The addresses on which a request spent its whole deadline, or half of it without any answer.

    They are addresses, because a bootstrap server is a broker whose id is not known yet, and because a broker that comes back
    elsewhere has not been silent there. `longest_ms` is the time that one request to any broker may take.
    """

    def __init__(self, clock: Clock, longest_ms: int) -> None:
        self._clock, self._longest_ms = clock, longest_ms
        self._addresses: set[str] = set()
        self._silent: dict[str, tuple[float, float]] = {}  # times of an address's first and last attempt in a row

    def __contains__(self, address: str) -> bool:
        return address in self._addresses

    def add(self, address: str) -> None:
        """Take the broker at an address for unreachable."""
        self._addresses.add(address)

    def learn(self, address: str, outcomes: Sequence[Any | PipelineError], started: float, budget_ms: int) -> None:
        """Learn from the outcomes of an attempt: responses, or the errors instead of them.

        An attempt without any answer counts: half of the time of a request in a row makes a broker unreachable. A response
        ends it: the broker is back, or only our own pace used up the deadline. `started` is when the attempt began (monotonic
        seconds), and `budget_ms` the time of the request.
        """
        if all(map(_is_silence, outcomes)):
            # A little less than half: an attempt that may take half of the time that is left ends a moment before it.
            half_s, now = 0.49 * min(budget_ms, self._longest_ms) / 1000, self._clock.monotonic()
            first, last = self._silent.get(address, (started, started))
            first = first if started - last < half_s else started
            self._silent[address] = first, now
            if now - first >= half_s:
                self.add(address)
        elif not all(isinstance(outcome, PipelineError) for outcome in outcomes):
            self._addresses.discard(address)
            self._silent.pop(address, None)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Do not take brokers for unreachable in here: they are asked again after it, with more time."""
        addresses, silent = set(self._addresses), dict(self._silent)
        try:
            yield
        finally:
            self._addresses &= addresses
            self._silent = {address: times for address, times in silent.items() if address in self._silent}

    def keep(self, addresses: Collection[str]) -> None:
        """Forget all other addresses than these: they may change for as long as a stream runs."""
        self._addresses.intersection_update(addresses)
        self._silent = {address: times for address, times in self._silent.items() if address in addresses}


def _is_silence(outcome: object) -> bool:
    """True if nothing came from the broker: no connection to its address, or silence after it.

    The system accepts connections for a frozen broker, and a broker that throttles us is not silent.
    """
    if isinstance(outcome, DeadlinePassed):
        return outcome.phase in ("resolve", "connect", "tls", "handshake", "exchange")
    return isinstance(outcome, ConnectionFailed) and outcome.phase in ("resolve", "connect")
