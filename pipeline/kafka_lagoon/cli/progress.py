"""Shows the progress of a long step: in the live line of a terminal, and every minute as an event of the log."""

from collections.abc import Sequence

from kafka_lagoon import log
from kafka_lagoon.cli.outcome import OutcomeProgress, RunOutcome
from kafka_lagoon.cli.terminal import show_live
from kafka_lagoon.clock import Clock
from kafka_lagoon.text import byte_count, duration

_LOGGED_EVERY_S = 60


class MeasuredProgress(OutcomeProgress):
    """Shows offsets, bytes, rate, and the remaining time as estimated from the progress."""

    def __init__(self, outcome: RunOutcome, steps: Sequence[str], clock: Clock) -> None:
        super().__init__(outcome, steps)
        self._clock, self._step, self._items = clock, "", 0
        self._began = self._logged = clock.monotonic()

    def step(self, name: str, items: int) -> None:
        """Begin a step over about `items` items."""
        super().step(name, items)
        self._step, self._items = f"step {self._names.index(name) + 1} of {len(self._names)}, {name}", items
        self._began = self._logged = self._clock.monotonic()

    def advanced(self, offsets: int = 0, records: int = 0, size: int = 0) -> None:
        """Show the progress of all tasks until now."""
        now = self._clock.monotonic()
        seconds = now - self._began
        if not offsets or not seconds:
            show_live(self._cluster, f"{self._step} ({self._items:,}), {duration(int(seconds) * 1000)}")
            return
        left_s = seconds * max(self._items - offsets, 0) / offsets
        show_live(self._cluster, self._line(offsets, records, size, seconds, left_s))
        if now - self._logged >= _LOGGED_EVERY_S:
            self._logged = now
            log.info(
                "progress",
                cluster=self._cluster,
                offsets=offsets,
                of=self._items,
                records=records,
                bytes_fetched=size,
                seconds=round(seconds, 1),
                seconds_left=round(left_s),
            )

    def _line(self, offsets: int, records: int, size: int, seconds: float, left_s: float) -> str:
        share = min(100, 100 * offsets // max(self._items, 1))
        return (
            f"{self._step}: {share} % of {self._items:,} offsets, {byte_count(size)}, "
            f"{records / seconds:,.0f} records/s, {duration(round(left_s) * 1000)} left"
        )
