"""How far behind each group is, as metrics: the groups that lost records first, then the largest lag, up to a limit.

A value that is not known has no sample. What the numbers mean is what `lagoon lag` and view `loss_ahead` mean by them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.tables.cluster_rows import ConfigRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.snapshot_rows import Snapshot

_GROUP = ("kafka_cluster", "group")
LAG = Metric("lagoon_group_lag", "Records that the group has not read, over its partitions with a known lag.", _GROUP)
HIGHEST_LAG = Metric("lagoon_group_highest_partition_lag", "Largest known lag of one partition of the group.", _GROUP)
TIME_LAG = Metric(
    "lagoon_group_time_lag_seconds", "Age of the oldest first unread record of a partition of the group.", _GROUP
)
PARTITIONS = Metric("lagoon_group_partitions", "Partitions that the group has committed or is assigned.", _GROUP)
UNKNOWN_LAG = Metric(
    "lagoon_group_unknown_lag_partitions", "Those whose lag could not be read; no commit is not counted.", _GROUP
)
LOST = Metric("lagoon_group_lost_records", "Offsets that were deleted before the group read them.", _GROUP)
EXPIRY = Metric(
    "lagoon_group_expiry_timestamp_seconds",
    "When the first unread record of a partition of the group is older than retention.ms, which may delete it from then on.",
    _GROUP,
)
LEFT_OUT = Metric(
    "lagoon_snapshot_left_out_groups",
    "Groups without metrics of their own because of metrics.max_groups.",
    ("kafka_cluster",),
)

_LONGEST_RETENTION_MS, _LAST_TIME_MS = 10**13, 10**14  # as in view loss_ahead: later times are none


@dataclass(slots=True)
class GroupLag:
    """What is known of one group; None is unknown. Times are epoch milliseconds."""

    lag: int | None = None
    highest_lag: int | None = None
    time_lag_ms: int | None = None
    partitions: int = 0
    unknown_lags: int = 0
    unknown_times: int = 0
    lost: int | None = None
    expires_ms: int | None = None

    def known_time_lag_ms(self) -> int | None:
        """The largest age; None where all that is known is 0 and one partition's age is not."""
        return None if self.unknown_times and not self.time_lag_ms else self.time_lag_ms


def group_lags(snapshot: Snapshot) -> dict[str, GroupLag]:
    """What a snapshot says of each group, those without a partition included."""
    lags = {group_id: GroupLag() for group_id in column_of(snapshot.of(ConsumerGroupRow), "group_id")}
    retentions = _retentions(snapshot)
    rows = snapshot.of(ConsumerLagRow)
    names = ("group_id", "topic", "lag", "lag_basis", "time_lag_ms", "records_lost", "first_unread_timestamp_ms")
    for group_id, topic, *values in zip(*(column_of(rows, name) for name in names), strict=True):
        _add(lags.setdefault(group_id, GroupLag()), retentions.get(topic), *values)
    return lags


def _add(
    of: GroupLag,
    retention_ms: int | None,
    lag: int | None,
    basis: str,
    time_lag_ms: int | None,
    lost: int | None,
    first_unread_ms: int | None,
) -> None:
    """Add one partition."""
    age_ms = 0 if lag == 0 or basis == "share" else time_lag_ms
    has_commit = basis != "log_start"
    of.partitions += 1
    of.unknown_lags += lag is None and has_commit
    of.unknown_times += age_ms is None and has_commit
    of.time_lag_ms = _largest(of.time_lag_ms, age_ms)
    of.highest_lag = _largest(of.highest_lag, lag)
    of.lag = _sum(of.lag, lag)
    of.lost = _sum(of.lost, lost)
    may_expire = basis == "committed" and lag is not None and lag > 0 and retention_ms is not None
    if may_expire and first_unread_ms is not None and 0 <= first_unread_ms <= _LAST_TIME_MS:
        expires_ms = first_unread_ms + (retention_ms or 0)
        of.expires_ms = expires_ms if of.expires_ms is None else min(of.expires_ms, expires_ms)


def _largest(known: int | None, value: int | None) -> int | None:
    return value if known is None or (value is not None and value > known) else known


def _sum(known: int | None, value: int | None) -> int | None:
    return known if value is None else (known or 0) + value


def _retentions(snapshot: Snapshot) -> dict[str, int]:
    """retention.ms of the topics whose records are deleted by age."""
    rows = snapshot.of(ConfigRow)
    columns = (column_of(rows, name) for name in ("resource_type", "resource_name", "name", "value"))
    configs = {
        (topic, name): value
        for kind, topic, name, value in zip(*columns, strict=True)
        if kind == "topic" and value is not None and name in ("cleanup.policy", "retention.ms")
    }
    return {
        topic: int(value)
        for (topic, name), value in configs.items()
        if name == "retention.ms"
        and 0 <= int(value) <= _LONGEST_RETENTION_MS
        and "delete" in configs.get((topic, "cleanup.policy"), "")
    }


def group_samples(cluster: str, lags: Mapping[str, GroupLag], limit: int) -> Iterator[Sample]:
    """The samples of the worst groups, and how many were left out."""
    for group_id, group in nsmallest(limit, lags.items(), key=_order):
        yield from _samples((cluster, group_id), group)
    yield Sample(LEFT_OUT, (cluster,), max(0, len(lags) - limit))


def _order(item: tuple[str, GroupLag]) -> tuple[Any, ...]:
    group_id, group = item
    return -(group.lost or 0), -(group.lag or 0), group.lag is not None, group_id


def _samples(labels: tuple[str, str], group: GroupLag) -> Iterable[Sample]:
    time_lag_ms = group.known_time_lag_ms()
    values = {
        LAG: group.lag,
        HIGHEST_LAG: group.highest_lag,
        TIME_LAG: None if time_lag_ms is None else time_lag_ms / 1000,
        PARTITIONS: group.partitions,
        UNKNOWN_LAG: group.unknown_lags,
        LOST: group.lost,
        EXPIRY: None if group.expires_ms is None else group.expires_ms / 1000,
    }
    return (Sample(metric, labels, value) for metric, value in values.items() if value is not None)
