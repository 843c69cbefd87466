"""Sums the lag of a group over its partitions; query/group_sums.py is the same in SQL."""

from dataclasses import dataclass

from kafka_lagoon.integers import MOST_INT64

SHARE, LOG_START = "share", "log_start"  # values of the columns group_type and lag_basis


@dataclass(slots=True)
class GroupLag:
    """Sums over the partitions that were added; None is unknown.

    A partition without a commit (`lag_basis` log_start) has no lag, and counts as neither known nor unknown; so do the ages of
    share groups, which have no position.
    """

    partitions: int = 0
    known_partitions: int = 0
    lag: int | None = None
    highest_lag: int | None = None
    time_lag_ms: int | None = None
    records_lost: int | None = None
    unknown_lags: int = 0
    unknown_time_partitions: int = 0

    def add(
        self,
        group_type: str | None,
        lag: int | None,
        lag_basis: str,
        time_lag_ms: int | None = None,
        records_lost: int | None = None,
    ) -> None:
        """Add a partition."""
        has_position = lag_basis != LOG_START and group_type != SHARE
        age_ms = 0 if lag == 0 and has_position else time_lag_ms  # without unread records the age is 0
        self.partitions += 1
        self.unknown_lags += lag is None and lag_basis != LOG_START
        self.unknown_time_partitions += age_ms is None and has_position
        if lag is not None:
            self.known_partitions += 1
            self.lag = lag + (self.lag or 0)
            self.highest_lag = lag if self.highest_lag is None else max(lag, self.highest_lag)
        if age_ms is not None:
            self.time_lag_ms = age_ms if self.time_lag_ms is None else max(age_ms, self.time_lag_ms)
        if records_lost is not None:
            self.records_lost = records_lost + (self.records_lost or 0)

    def cut(self) -> None:
        """Cut the sums to 2^63-1 and -(2^63-1), as SQL does: a client may commit 2^63-1 in several partitions."""
        self.lag, self.records_lost = _cut(self.lag), _cut(self.records_lost)

    def known_time_lag_ms(self) -> int | None:
        """The largest age; None if the age of a partition is unknown and no other age is above 0.

        An age is below 0 if a producer's clock is ahead.
        """
        return None if self.unknown_time_partitions and (self.time_lag_ms or 0) <= 0 else self.time_lag_ms


def _cut(total: int | None) -> int | None:
    return None if total is None else max(-MOST_INT64, min(total, MOST_INT64))
