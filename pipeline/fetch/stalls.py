"""How long a split is waited for: until the run's deadline, and without progress for the stall timeout at most.

A broker that hangs, or a way to it that cuts every answer, would cost the whole stall timeout for each of its partitions. So
a broker that stalled is waited for a quarter as long the next time, and so on, until it has not stalled for a while.
"""

from dataclasses import dataclass, field

from pipeline.client.deadline import Clock, Deadline
from pipeline.fetch.split import ReadOptions

RUN_DEADLINE_PASSED = "RUN_DEADLINE_PASSED"  # the run's time was up; not DEADLINE_PASSED, which is a request's

BOOTSTRAP = -1  # in the place of a broker's id, where any broker is asked

_SHORTEST_MS = 1_000
_FORGOTTEN_AFTER = 10  # stall timeouts: then a broker that stalled is like any other


@dataclass(slots=True)
class Stalls:
    """Which brokers stalled, how often and when last, in the reading of one run; None stands for "no leader known"."""

    clock: Clock
    stall_timeout_ms: int
    _stalls: dict[int | None, tuple[int, float]] = field(default_factory=dict)

    def timeout_ms(self, broker_id: int | None) -> int:
        """How long to wait for a broker without progress."""
        count, last_at = self._stalls.get(broker_id, (0, 0.0))
        if count and self.clock.monotonic() - last_at > self.stall_timeout_ms / 1000 * _FORGOTTEN_AFTER:
            del self._stalls[broker_id]
            count = 0
        return max(self.stall_timeout_ms >> 2 * min(count, 16), min(self.stall_timeout_ms, _SHORTEST_MS))

    def stalled(self, broker_id: int | None) -> None:
        """Note that a broker was waited for in vain."""
        count = self._stalls.get(broker_id, (0, 0.0))[0]
        self._stalls[broker_id] = (count + 1, self.clock.monotonic())


@dataclass(frozen=True, slots=True)
class Limits:
    """The time limits of one task or split: `run` is None where a run may take as long as it makes progress."""

    stalls: Stalls
    run: Deadline | None

    @classmethod
    def of(cls, clock: Clock, options: ReadOptions, stalls: Stalls | None = None) -> "Limits":
        """The limits that the options name; stalls are forgotten with them unless they are given."""
        run = None if options.ends_at_ms is None else Deadline.after(clock, max(0, options.ends_at_ms - clock.now_ms()))
        return cls(stalls or Stalls(clock, options.patience_ms), run)

    def run_is_over(self) -> bool:
        """Whether the run's deadline has passed."""
        return self.run is not None and self.run.passed()

    def waiting_for(self, broker_id: int | None) -> Deadline:
        """How long to wait for a broker from now on."""
        timeout_ms = self.stalls.timeout_ms(broker_id)
        return self.run.within(timeout_ms) if self.run else Deadline.after(self.stalls.clock, timeout_ms)
