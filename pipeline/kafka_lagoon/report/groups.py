"""Reads how far each consumer group is behind, the worst first, and how that was over time."""

from collections.abc import Mapping, Sequence

from kafka_lagoon.frozen import frozen
from kafka_lagoon.group_lag import SHARE
from kafka_lagoon.query.group_sums import (
    KNOWN_AGE,
    LAG_TABLE,
    SUMS_OF_GROUPS,
    TIME_LAG,
    UNCOMMITTED,
    UNKNOWN_LAG,
    UNKNOWN_TIME,
    WORST_GROUP,
    whole_sum,
)
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.report.charts import Reading, Series
from kafka_lagoon.report.scope import Scope, ids, of
from kafka_lagoon.report.values import with_owner

WATCHED = 100  # groups whose history and status are read
STATUS = "group_status"


@frozen(kw_only=False)
class Group:
    """A group in the snapshot; sums are over the partitions whose value is known."""

    group_id: str
    group_type: str | None
    state: str | None
    members: int | None
    partitions: int
    lag: int | None
    time_lag_ms: int | None
    records_lost: int | None
    unknown_lags: int
    unknown_times: int
    uncommitted: int
    worst_partition: str | None
    lag_problem: str | None
    time_problem: str | None
    problem: str | None
    earlier_lag: int | None  # in the first snapshot of the history, where all of it was known
    owner: str | None = None
    should_run: bool | None = None  # None if nothing is expected
    hours: str | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """Its id, and its owner."""
        return with_owner(self.group_id, self.owner)

    @property
    def is_stopped_on_purpose(self) -> bool:
        """True if the settings expected it to be stopped."""
        return self.should_run is False

    def expectation(self) -> str:
        """The expectation of the settings in words, with its reason; empty if there is none."""
        if self.should_run is None:
            return ""
        return ", ".join(filter(None, ("runs" if self.should_run else "stopped", self.hours, self.reason)))

    @property
    def is_sharing(self) -> bool:
        """True for a share group, which has no commits and no age."""
        return self.group_type == SHARE

    @property
    def is_behind(self) -> bool:
        """True if the group has records to read."""
        return self.lag is not None and self.lag > 0

    @property
    def change(self) -> int | None:
        """The growth of its lag since the first snapshot of the history; None if a part of either lag is unknown."""
        if self.earlier_lag is None or self.lag is None or self.unknown_lags:
            return None
        return self.lag - self.earlier_lag

    def remark(self) -> str:
        """The partitions that the sums leave out, and why."""
        parts = []
        if self.problem:
            parts.append(f"not described: {self.problem}")
        if self.unknown_lags:
            parts.append(f"lag unknown of {self.unknown_lags:,} of {self.partitions:,} partitions: {self.lag_problem}")
        if self.uncommitted:
            what = "start offset" if self.is_sharing else "commit"
            parts.append(f"no {what} for {self.uncommitted:,} of {self.partitions:,} partitions")
        if self.unknown_times > self.unknown_lags:
            parts.append(f"age unknown of {self.unknown_times - self.unknown_lags:,} partitions: {self.time_problem}")
        return "; ".join(parts)


@frozen
class GroupHistory:
    """Lag and age of a group at each point of the axis."""

    lag: Series
    time_lag: Series


def groups_of(scope: Scope) -> list[Group]:
    """Every group of the snapshot, the worst first, in the order of `lagoon lag`."""
    now, then = scope.snapshot, scope.first
    statement = f"""
        SELECT group_id, group_type, state, members, partitions, lag, time_lag_ms, records_lost, unknown_lags,
          unknown_time_partitions, uncommitted, worst_partition, lag_problem, time_problem, problem, earlier_lag, owner,
          should_run, hours, reason
        FROM (
          SELECT groups.cluster, groups.group_id, groups.group_type, groups.state, groups.members, groups.problem,
            coalesce(sums.partitions, 0) AS partitions, sums.lag, {KNOWN_AGE} AS time_lag_ms, sums.records_lost,
            coalesce(sums.unknown_lags, 0) AS unknown_lags,
            coalesce(sums.unknown_time_partitions, 0) AS unknown_time_partitions,
            coalesce(reasons.uncommitted, 0) AS uncommitted, reasons.worst_partition, reasons.lag_problem,
            reasons.time_problem, CASE WHEN earlier.unknown_lags = 0 THEN earlier.lag END AS earlier_lag, owners.owner,
            expected.should_run, expected.hours, expected.reason
          FROM (SELECT * FROM consumer_groups_published WHERE {of(now)}) AS groups
          LEFT JOIN ({SUMS_OF_GROUPS} {of(now)} GROUP BY cluster, snapshot_id, group_id) AS sums
            ON groups.group_id = sums.group_id
          LEFT JOIN ({_reasons()} {of(now)} GROUP BY group_id) AS reasons ON groups.group_id = reasons.group_id
          LEFT JOIN ({SUMS_OF_GROUPS} {of(then)} GROUP BY cluster, snapshot_id, group_id) AS earlier
            ON groups.group_id = earlier.group_id
          LEFT JOIN (SELECT * FROM owners_published WHERE {of(now)} AND entity_type = 'group') AS owners
            ON groups.group_id = owners.name
          LEFT JOIN (SELECT * FROM expected_groups_published WHERE {of(now)}) AS expected
            ON groups.group_id = expected.group_id
        ) AS behind ORDER BY {WORST_GROUP}"""  # noqa: S608  names of ours
    return scope.read(Group, statement, *ids(now), *ids(now), *ids(now), *ids(then), *ids(now), *ids(now))


def _reasons() -> str:
    """A query for the reasons of unknown sums; conditions and GROUP BY group_id follow it."""
    return f"""
        SELECT group_id, count(CASE WHEN {UNCOMMITTED} THEN 1 END) AS uncommitted,
          min_by(
            concat('topic ', topic, ', partition ', CAST(partition AS STRING)),
            CASE WHEN lag > 0 THEN (-lag, topic, partition) END
          ) AS worst_partition,
          min(CASE WHEN {UNKNOWN_LAG} THEN coalesce(problem, 'no reason given') END) AS lag_problem,
          min(CASE WHEN {UNKNOWN_TIME} THEN coalesce(time_lag_problem, problem, 'no reason given') END) AS time_problem
        FROM {LAG_TABLE} WHERE"""  # noqa: S608  names of ours


def histories(scope: Scope, groups: Sequence[Group]) -> Mapping[str, GroupHistory]:
    """The history of these groups, by id."""
    names = [one.group_id for one in groups]
    statement = f"""
        SELECT group_id, point, max(lag), max(time_lag_ms), max(unknown_lags), max(unknown_times) FROM (
          SELECT behind.group_id, places.point, places.snapshot_id, {whole_sum("behind.lag")} AS lag,
            max({TIME_LAG}) AS time_lag_ms, count(CASE WHEN {UNKNOWN_LAG} THEN 1 END) AS unknown_lags,
            count(CASE WHEN {UNKNOWN_TIME} THEN 1 END) AS unknown_times
          FROM (SELECT * FROM consumer_lag WHERE cluster = ? AND {scope.history_days()} AND {_among(names)}) AS behind
          JOIN ({scope.places()}) AS places
            ON behind.snapshot_id = places.snapshot_id AND behind.snapshot_date = places.snapshot_date
          GROUP BY behind.group_id, places.point, places.snapshot_id
        ) AS snapshot_sums GROUP BY group_id, point"""  # noqa: S608  names of ours
    cluster, points = scope.snapshot.cluster, len(scope.axis.points)
    lags: dict[str, list[Reading | None]] = {name: [None] * points for name in names}
    times: dict[str, list[Reading | None]] = {name: [None] * points for name in names}
    incomplete = scope.incomplete_points("consumer_groups")
    lacking = {name: set(incomplete) for name in names}  # a group without a row may have existed at these points
    for name, point, lag, time_lag, unknown_lags, unknown_times in scope.rows(statement, cluster, *names, cluster):
        if lag is not None or unknown_lags:  # else it has no commit, and there is nothing to draw
            lags[name][point] = Reading(lag, bool(unknown_lags))
        if time_lag is not None or unknown_times:
            times[name][point] = Reading(time_lag, bool(unknown_times))
        lacking[name].discard(point)
    for name, among in lacking.items():
        for point in among:
            lags[name][point] = times[name][point] = Reading(None)
    return {name: GroupHistory(lag=lags[name], time_lag=times[name]) for name in names}


def statuses(scope: Scope, groups: Sequence[Group]) -> Mapping[str, str | None]:
    """The status of these groups by the rules of Burrow; None where too few snapshots know it."""
    names = [one.group_id for one in groups]
    statement = f"SELECT group_id, status FROM {STATUS} WHERE {of(scope.snapshot)} AND {_among(names)}"  # noqa: S608
    return dict(tuples(scope.recent(statement, *ids(scope.snapshot), *names)))


def total_history(scope: Scope) -> Series:
    """The lag of all groups together at each point; a chart needs no more digits than a double has."""
    statement = f"""
        SELECT point, max(lag), max(unknown_lags) FROM (
          SELECT places.point, places.snapshot_id, sum(CAST(behind.lag AS DOUBLE)) AS lag,
            count(CASE WHEN {UNKNOWN_LAG} THEN 1 END) AS unknown_lags
          FROM (SELECT * FROM consumer_lag WHERE cluster = ? AND {scope.history_days()}) AS behind
          JOIN ({scope.places()}) AS places
            ON behind.snapshot_id = places.snapshot_id AND behind.snapshot_date = places.snapshot_date
          GROUP BY places.point, places.snapshot_id
        ) AS snapshot_sums GROUP BY point"""  # noqa: S608  names of ours
    return scope.series(statement, "consumer_lag")


def _among(names: Sequence[str]) -> str:
    return f"group_id IN ({', '.join('?' for _ in names) or 'NULL'})"
