"""Reads what is known of topics and disks: throughput now and over time, sizes, growth, and how full the volumes are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.frozen import frozen
from kafka_lagoon.report.charts import Reading, Series
from kafka_lagoon.report.scope import PublishedSnapshot, Scope, ids, of

WATCHED = 50  # topics whose throughput is read over time
# Snapshots that are compared in one part: half a day of them every five minutes. Parts cost no more than all at once.
_OF_A_PART = 144
_LEAST_SPAN_MS = 3_600_000  # growth of less time says nothing about days


@frozen(kw_only=False)
class Topic:
    """A topic in the snapshot; a sum is null where a part of it is not known."""

    topic: str
    partitions: int | None
    replication_factor: int | None
    records_per_second: float | None
    bytes_per_second: float | None
    rate_partitions: int | None
    size_bytes: int | None
    size_change: int | None  # since the first snapshot of the history
    problem: str | None

    def remark(self) -> str:
        """The unknown values of the topic."""
        if self.problem:
            return self.problem
        if self.rate_partitions is None or self.partitions is None or self.rate_partitions >= self.partitions:
            return ""
        return f"no rate for {self.partitions - self.rate_partitions:,} of {self.partitions:,} partitions"


@frozen(kw_only=False)
class Disk:
    """A log directory of a broker."""

    broker_id: int
    log_dir: str
    size_bytes: int | None
    earlier_bytes: int | None
    total_bytes: int | None
    usable_bytes: int | None
    problem: str | None

    @property
    def growth(self) -> int | None:
        """The growth of its replicas in the history."""
        return None if self.size_bytes is None or self.earlier_bytes is None else self.size_bytes - self.earlier_bytes

    @property
    def used_share(self) -> float | None:
        """The used share of the volume, other files included."""
        if not self.total_bytes or self.usable_bytes is None:
            return None
        return 1 - self.usable_bytes / self.total_bytes

    def full_in_ms(self, span_ms: int) -> int | None:
        """The time until the volume is full at this growth; None without growth, or if the history is too short."""
        growth = self.growth
        if growth is None or growth <= 0 or self.usable_bytes is None or span_ms < _LEAST_SPAN_MS:
            return None
        return round(self.usable_bytes / growth * span_ms)


@frozen
class Flow:
    """Throughput over time: of single topics, and of all together in records and bytes a second."""

    by_topic: Mapping[str, Series]
    records: Series
    bytes: Series


def topics_of(scope: Scope) -> list[Topic]:
    """Every topic of the snapshot, the busiest first."""
    now, then = scope.snapshot, scope.first
    statement = f"""
        SELECT topics.topic, topics.partitions, topics.replication_factor, flow.records_per_second,
          flow.bytes_per_second, flow.rate_partitions, sizes.size_bytes, sizes.size_bytes - earlier.size_bytes, topics.problem
        FROM (SELECT * FROM topics_published WHERE {of(now)}) AS topics
        LEFT JOIN (SELECT * FROM topic_throughput WHERE {of(now)}) AS flow ON topics.topic = flow.topic
        LEFT JOIN ({_sizes(now)}) AS sizes ON topics.topic = sizes.topic
        LEFT JOIN ({_sizes(then)}) AS earlier
          ON topics.topic = earlier.topic AND topics.topic_id IS NOT DISTINCT FROM earlier.topic_id
        ORDER BY flow.bytes_per_second DESC NULLS LAST, flow.records_per_second DESC NULLS LAST,
          sizes.size_bytes DESC NULLS LAST, topics.topic"""  # noqa: S608  names of ours
    values = ids(now) * 5 + ids(then) * 3
    return scope.read(Topic, statement, *values)


def _sizes(snapshot: PublishedSnapshot) -> str:
    """A query of the bytes of all replicas of each topic, null if one has no size; it has the placeholders of `of` three times.

    Logs on brokers that no longer have a replica of the partition do not count, as in view topic_growth.
    """
    return f"""
        SELECT wanted.topic, wanted.topic_id,
          CASE WHEN sized.replicas >= wanted.replicas THEN sized.size_bytes END AS size_bytes
        FROM (
          SELECT topic, topic_id, sum(cardinality(replicas)) AS replicas
          FROM partitions_published WHERE {of(snapshot)} GROUP BY topic, topic_id
        ) AS wanted
        LEFT JOIN (
          SELECT dirs.topic, count(dirs.size_bytes) AS replicas, CAST(sum(dirs.size_bytes) AS BIGINT) AS size_bytes
          FROM (SELECT * FROM log_dirs_published WHERE {of(snapshot)} AND NOT is_future) AS dirs
          JOIN (SELECT topic, partition, replicas FROM partitions_published WHERE {of(snapshot)}) AS placed
            ON dirs.topic = placed.topic AND dirs.partition = placed.partition
            AND coalesce(array_contains(placed.replicas, dirs.broker_id), TRUE)
          GROUP BY dirs.topic
        ) AS sized ON wanted.topic = sized.topic"""  # noqa: S608  names of ours


def flow_of(scope: Scope, topics: Sequence[Topic]) -> Flow:
    """Records a second of the busiest topics, and records and bytes a second of all, at each point."""
    names = [one.topic for one in topics[:WATCHED]]
    by_topic = {name: _nowhere(scope) for name in names}
    records, in_bytes = _nowhere(scope), _nowhere(scope)
    among = f"topic IN ({', '.join('?' for _ in names) or 'NULL'})"
    for point, topic, rate, byte_rate, is_partial in _rates(scope, f"CASE WHEN {among} THEN topic ELSE '' END", names):
        if topic:
            by_topic[topic][point] = _reading(point, rate, is_partial)
        elif topic is None:
            records[point], in_bytes[point] = _reading(point, rate, is_partial), _reading(point, byte_rate, is_partial)
    return Flow(by_topic=by_topic, records=records, bytes=in_bytes)


def _reading(point: int, rate: float | None, is_partial: int) -> Reading | None:
    """The first snapshot has no rate, which is not an unknown rate."""
    return None if point == 0 and rate is None else Reading(rate, bool(is_partial))


def _rates(scope: Scope, name: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Point, name, largest rates of records and bytes, whether a partition had none; a name of None is the cluster.

    `name` is an expression with `values`.
    """
    largest: dict[tuple[int, str | None], Sequence[Any]] = {}
    computed = scope.rows(
        "SELECT DISTINCT snapshot_date FROM unstored_snapshots WHERE cluster = ?", scope.snapshot.cluster
    )
    for days in scope.short_parts(_OF_A_PART, {day for (day,) in computed}):
        for point, named, *rates in _rates_of(scope, days, name, values):
            known = largest.get((point, named), rates)  # a point may have snapshots of two parts
            largest[point, named] = [_larger(first, second) for first, second in zip(rates, known, strict=True)]
    return ((*key, *rates) for key, rates in largest.items())


def _larger(first: float | None, second: float | None) -> float | None:
    return max((value for value in (first, second) if value is not None), default=None)


def _rates_of(scope: Scope, days: str, name: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
    statement = f"""
        SELECT point, name, max(records), max(bytes), max(is_partial) FROM (
          SELECT point, snapshot_id, name, sum(records_per_second) AS records, sum(bytes_per_second) AS bytes,
            max(is_partial) AS is_partial
          FROM (
            SELECT places.point, places.snapshot_id, {name} AS name, flow.records_per_second, flow.bytes_per_second,
              CASE WHEN rate_partitions < partitions THEN 1 ELSE 0 END AS is_partial
            FROM (SELECT * FROM topic_throughput WHERE cluster = ? AND {days}) AS flow
            JOIN ({scope.places()}) AS places
              ON flow.snapshot_id = places.snapshot_id AND flow.snapshot_date = places.snapshot_date
          ) AS topic_rates
          GROUP BY GROUPING SETS ((point, snapshot_id, name), (point, snapshot_id))
        ) AS snapshot_rates GROUP BY point, name"""  # noqa: S608  names of ours
    cluster = scope.snapshot.cluster
    return scope.rows(statement, *values, cluster, cluster)


def _nowhere(scope: Scope) -> list[Reading | None]:
    return [None] * len(scope.axis.points)


def disks_of(scope: Scope) -> list[Disk]:
    """Every log directory of the snapshot."""
    now, then = scope.snapshot, scope.first
    statement = f"""
        SELECT disks.broker_id, disks.log_dir, disks.size_bytes, earlier.size_bytes, disks.total_bytes, disks.usable_bytes,
          disks.problem
        FROM ({_dirs(now)}) AS disks
        LEFT JOIN ({_dirs(then)}) AS earlier
          ON disks.broker_id = earlier.broker_id AND disks.log_dir = earlier.log_dir
        ORDER BY disks.broker_id, disks.log_dir"""  # noqa: S608  names of ours
    return scope.read(Disk, statement, *ids(now), *ids(then))


def _dirs(snapshot: PublishedSnapshot) -> str:
    """Log directories: 0 bytes without replicas, null bytes after a failure."""
    return f"""
        SELECT broker_id, log_dir, max(total_bytes) AS total_bytes, max(usable_bytes) AS usable_bytes, max(problem) AS problem,
          CASE WHEN max(problem) IS NULL THEN CAST(coalesce(sum(size_bytes), 0) AS BIGINT) END AS size_bytes
        FROM log_dirs_published WHERE {of(snapshot)} GROUP BY broker_id, log_dir"""  # noqa: S608  names of ours


def size_history(scope: Scope) -> Series:
    """Bytes of all replicas at each point; partial where a log directory or a broker had failed."""
    statement = f"""
        SELECT point, max(size_bytes), max(problems) FROM (
          SELECT places.point, places.snapshot_id, CAST(sum(size_bytes) AS BIGINT) AS size_bytes, count(problem) AS problems
          FROM (SELECT * FROM log_dirs_published WHERE cluster = ? AND {scope.history_days()}) AS sizes
          JOIN ({scope.places()}) AS places
            ON sizes.snapshot_id = places.snapshot_id AND sizes.snapshot_date = places.snapshot_date
          GROUP BY places.point, places.snapshot_id
        ) AS snapshot_sums GROUP BY point"""  # noqa: S608  names of ours
    return scope.series(statement, "log_dirs")
