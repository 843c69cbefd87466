"""Limits how long a reader waits: until the run's deadline, and without progress for the stall timeout at most.

A broker that hangs, or a network that cuts every large answer, would cost the whole stall timeout for each partition. So
the timeout is a quarter the next time for a broker that stalled, and less for others too, because it may be the network.
After a few stalls a broker gets no request for as long as the stall timeout, and then one request with a limit of a second.
"""

from dataclasses import dataclass, field

from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.frozen import frozen

RUN_DEADLINE_PASSED = "RUN_DEADLINE_PASSED"  # the run's time was up; not DEADLINE_PASSED, which is a request's
BROKER_STALLED = "BROKER_STALLED"  # no request was sent, because the leader had stalled for other partitions

BOOTSTRAP = -1  # stands for a broker's id where any broker is asked

_SHORTEST_MS = 1_000
_MOST_BY_OTHERS = 2  # quarterings for a broker that has not stalled itself
_GIVEN_UP_AFTER = 4  # stalls of one broker
_FORGOTTEN_AFTER = 10  # stall timeouts


@dataclass(slots=True)
class Stalls:
    """The brokers that stalled during a run, how often and when last; None stands for "no leader known"."""

    clock: Clock
    stall_timeout_ms: int
    _stalls: dict[int | None, tuple[int, float]] = field(default_factory=dict)

    def timeout_ms(self, broker_id: int | None) -> int:
        """Longest wait for a broker without progress."""
        since = self.clock.monotonic() - self.stall_timeout_ms / 1000 * _FORGOTTEN_AFTER
        counts = {stalled_id: count for stalled_id, (count, last_at) in self._stalls.items() if last_at >= since}
        own = counts.pop(broker_id, 0)
        quarterings = max(own, min(len(counts), _MOST_BY_OTHERS))
        return max(self.stall_timeout_ms >> 2 * min(quarterings, 16), min(self.stall_timeout_ms, _SHORTEST_MS))

    def stalled(self, broker_id: int | None) -> None:
        """Count a stall: a broker made no progress within its time."""
        count = self._stalls.get(broker_id, (0, 0.0))[0]
        self._stalls[broker_id] = (count + 1, self.clock.monotonic())

    def progressed(self, broker_id: int | None) -> None:
        """Record that a broker has answered: it gets requests again, though it may stall at the same request."""
        if self.gives_up_on(broker_id):
            self._stalls[broker_id] = (_GIVEN_UP_AFTER - 1, self._stalls[broker_id][1])

    def gives_up_on(self, broker_id: int | None) -> bool:
        """True if a broker has stalled so often that another request to it would only cost time."""
        count, last_at = self._stalls.get(broker_id, (0, 0.0))
        return count >= _GIVEN_UP_AFTER and self.clock.monotonic() - last_at < self.stall_timeout_ms / 1000


@frozen(kw_only=False)
class Limits:
    """The time limits of one task or split: `run` is None where a run may take as long as it makes progress."""

    stalls: Stalls
    run: Deadline | None

    @classmethod
    def of(cls, clock: Clock, options: ReadOptions, stalls: Stalls | None = None) -> "Limits":
        """The limits that the options name; stalls are forgotten with them unless they are given."""
        run = None if options.ends_at_ms is None else Deadline.after(clock, max(0, options.ends_at_ms - clock.now_ms()))
        return cls(stalls or Stalls(clock, options.stall_timeout_ms), run)

    def run_is_over(self) -> bool:
        """True if the run's deadline has passed."""
        return self.run is not None and self.run.passed()

    def waiting_for(self, broker_id: int | None) -> Deadline:
        """Longest wait for a broker from now on."""
        timeout_ms = self.stalls.timeout_ms(broker_id)
        return self.run.within(timeout_ms) if self.run else Deadline.after(self.stalls.clock, timeout_ms)
