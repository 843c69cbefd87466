"""The lag of groups as metrics: groups that lost records first, then those that soon will, then the largest lag, up to a limit.

A value that is not known has no sample. What the numbers mean is what `lagoon lag` and view `loss_ahead` mean by them.
"""

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from typing import Any

from kafka_lagoon.frozen import frozen
from kafka_lagoon.group_lag import GroupLag
from kafka_lagoon.metrics.exposition import Metric, Sample
from kafka_lagoon.tables.cluster_rows import ConfigRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow
from kafka_lagoon.tables.owner_rows import GROUP, ExpectedGroupRow, OwnerRow
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.snapshot_rows import Snapshot

_GROUP = ("kafka_cluster", "group")
LAG = Metric("lagoon_group_lag", "Records that the group has not read, over its partitions with a known lag.", _GROUP)
HIGHEST_LAG = Metric("lagoon_group_highest_partition_lag", "Largest known lag of one partition of the group.", _GROUP)
TIME_LAG = Metric(
    "lagoon_group_time_lag_seconds",
    "Age of the oldest first unread record of a partition of the group; share groups have none.",
    _GROUP,
)
PARTITIONS = Metric(
    "lagoon_group_partitions",
    "Partitions that the group has committed offsets of, is assigned or subscribes to.",
    _GROUP,
)
UNKNOWN_LAG = Metric(
    "lagoon_group_unknown_lag_partitions",
    "Those whose lag could not be read; without a commit, or a start offset of a share group, there is none to read.",
    _GROUP,
)
LOST = Metric("lagoon_group_lost_records", "Offsets that were deleted before the group read them.", _GROUP)
EXPIRY = Metric(
    "lagoon_group_expiry_timestamp_seconds",
    "When the first unread record of a partition of the group is older than retention.ms, which may delete it from then on.",
    _GROUP,
)
INFO = Metric(
    "lagoon_group_info", "1, with the team that owns the group; groups that nobody owns have none.", (*_GROUP, "owner")
)
EXPECTED = Metric(
    "lagoon_group_expected",
    "1 if the settings expected the group to be stopped when the snapshot was taken, 0 if they expected it to run.",
    _GROUP,
)
LEFT_OUT = Metric(
    "lagoon_snapshot_left_out_groups",
    "Groups without metrics of their own because of metrics.max_groups.",
    ("kafka_cluster",),
)

_LONGEST_RETENTION_MS, _LAST_TIME_MS = 10**13, 10**14  # as in view loss_ahead: later times are none
_SOON_MS = 86_400_000  # until a record expires; alerts warn within this time


@frozen(kw_only=False)
class GroupFacts:
    """The sums of a group, and what else is known of it.

    Its first unread record may be deleted at `expires_ms` (epoch milliseconds). `should_run` is None if nothing is expected.
    """

    sums: GroupLag
    expires_ms: int | None = None
    owner: str | None = None
    should_run: bool | None = None


def group_facts(snapshot: Snapshot) -> dict[str, GroupFacts]:
    """The lag of each group in a snapshot, including groups without a partition."""
    sums = {group_id: GroupLag() for group_id in column_of(snapshot.of(ConsumerGroupRow), "group_id")}
    expiries: dict[str, int] = {}
    retentions = _retentions(snapshot)
    rows = snapshot.of(ConsumerLagRow)
    of_lag = ("lag", "lag_basis", "time_lag_ms", "records_lost", "first_unread_timestamp_ms")
    names = ("group_id", "group_type", "topic", *of_lag, "log_start_offset", "high_watermark")
    for group_id, group_type, topic, lag, basis, time_lag_ms, lost, first_unread_ms, start, end in zip(
        *(column_of(rows, name) for name in names), strict=True
    ):
        sums.setdefault(group_id, GroupLag()).add(group_type, lag, basis, time_lag_ms, lost)
        retention_ms = retentions.get(topic)
        may_expire = basis == "committed" and lag is not None and lag > 0 and retention_ms is not None
        # All may be deleted: then the first unread record was written after the ends of the log were read.
        is_empty = start is not None and end is not None and end <= start
        if may_expire and not is_empty and first_unread_ms is not None and 0 <= first_unread_ms <= _LAST_TIME_MS:
            expires_ms = first_unread_ms + (retention_ms or 0)
            expiries[group_id] = min(expires_ms, expiries.get(group_id, expires_ms))
    for group in sums.values():
        group.cut()
    owners = owners_of(snapshot, GROUP)
    expected = snapshot.of(ExpectedGroupRow)
    should_run = dict(zip(column_of(expected, "group_id"), column_of(expected, "should_run"), strict=True))
    return {
        name: GroupFacts(group, expiries.get(name), owners.get(name), should_run.get(name))
        for name, group in sums.items()
    }


def owners_of(snapshot: Snapshot, entity_type: str) -> dict[str, str]:
    """The owners of topics, or of groups, by name."""
    rows = snapshot.of(OwnerRow)
    columns = (column_of(rows, name) for name in ("entity_type", "name", "owner"))
    return {name: owner for kind, name, owner in zip(*columns, strict=True) if kind == entity_type}


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


def group_samples(cluster: str, groups: Mapping[str, GroupFacts], limit: int, captured_at_ms: int) -> Iterator[Sample]:
    """The samples of the worst groups when the snapshot was taken, and how many were left out."""
    for group_id, group in nsmallest(
        limit, groups.items(), key=lambda item: _order(item[0], item[1], captured_at_ms + _SOON_MS)
    ):
        yield from _samples((cluster, group_id), group)
    yield Sample(LEFT_OUT, (cluster,), max(0, len(groups) - limit))


def _order(group_id: str, group: GroupFacts, soon_ms: int) -> tuple[Any, ...]:
    """Lost records, then the records that expire first, however few they are: an alert is about them. Then the lag."""
    sums = group.sums
    expires_ms = soon_ms if group.expires_ms is None else min(group.expires_ms, soon_ms)
    return -(sums.records_lost or 0), expires_ms, -(sums.lag or 0), sums.lag is not None, group_id


def _samples(labels: tuple[str, str], group: GroupFacts) -> Iterator[Sample]:
    sums, expires_ms = group.sums, group.expires_ms
    time_lag_ms = sums.known_time_lag_ms()
    values = {
        LAG: sums.lag,
        HIGHEST_LAG: sums.highest_lag,
        TIME_LAG: None if time_lag_ms is None else time_lag_ms / 1000,
        PARTITIONS: sums.partitions,
        UNKNOWN_LAG: sums.unknown_lags,
        LOST: sums.records_lost,
        EXPIRY: None if expires_ms is None else expires_ms / 1000,
        EXPECTED: None if group.should_run is None else not group.should_run,
    }
    yield from (Sample(metric, labels, value) for metric, value in values.items() if value is not None)
    if group.owner is not None:
        yield Sample(INFO, (*labels, group.owner), 1)
