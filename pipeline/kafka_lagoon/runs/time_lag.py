"""Measures the time lag of a snapshot's positions as its settings say: on the driver, on Spark's executors, or from history.

The budget of bytes and of time is shared by the tasks; the requests of executors are counted as if the driver had sent them.
"""

from collections.abc import Sequence
from functools import partial

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, refusal_name
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.delta.executors import on_executors
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import PipelineError, TableError
from kafka_lagoon.fetch.unread_positions import Position, UnreadRecords, not_read
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.runs.earlier_offsets import interpolated
from kafka_lagoon.snapshot.time_lag import Limited, Measure
from kafka_lagoon.topic_partition import TopicPartition

_TASK_POSITIONS = 10_000
EXECUTORS_FAILED = "EXECUTORS_FAILED"


@frozen
class _TaskSettings:
    """Settings that all tasks share; each may fetch `bytes_per_position` for each of its positions."""

    kafka: KafkaSettings
    clock: Clock
    bytes_per_position: float
    budget_ms: int


@frozen
class _TaskResult:
    unread: UnreadRecords
    request_stats: RequestStats


def measure_of(
    limits: SnapshotSettings, cluster: Cluster, name: str, warehouse: Warehouse, deadline: Deadline
) -> Measure | None:
    """A function that measures the time lag of a snapshot of the cluster called `name`; None if it is switched off.

    It may take half of the time that is left of the deadline: other tables follow.
    """
    if limits.time_lag == "off":
        return None
    if limits.time_lag == "interpolate":
        return partial(interpolated, warehouse, cluster, name, limits.time_lag_history_days)

    def measure(positions: Sequence[Position]) -> UnreadRecords:
        budget_ms = int(deadline.remaining() * 500)
        is_paced = cluster.settings.max_bytes_per_second is not None  # which each executor would otherwise do itself
        has_executors = warehouse.session is not None
        if has_executors and len(positions) >= limits.time_lag_executor_positions and not is_paced:
            return _on_executors(cluster, warehouse, positions, limits.time_lag_max_bytes, budget_ms)
        return _on_driver(cluster, positions, limits.time_lag_max_bytes, budget_ms)

    return Limited(measure, limits.time_lag_max_positions)


def _on_driver(cluster: Cluster, positions: Sequence[Position], max_bytes: int, budget_ms: int) -> UnreadRecords:
    from kafka_lagoon.fetch.first_unread import first_unread  # noqa: PLC0415  codecs, which other runs do not need

    return first_unread(cluster, positions, max_bytes, Deadline.after(cluster.clock, budget_ms))


def _on_executors(
    cluster: Cluster, warehouse: Warehouse, positions: Sequence[Position], max_bytes: int, budget_ms: int
) -> UnreadRecords:
    """Positions grouped by leader into tasks, so that each task connects to few brokers."""
    by_leader = sorted(positions, key=lambda position: cluster.leader_of(TopicPartition(*position[:2])) or -1)
    tasks = [by_leader[start : start + _TASK_POSITIONS] for start in range(0, len(by_leader), _TASK_POSITIONS)]
    settings = _TaskSettings(
        kafka=cluster.settings,
        clock=cluster.clock,
        bytes_per_position=max_bytes / len(positions),
        budget_ms=budget_ms,
    )
    try:
        results = on_executors(warehouse, _run, settings, tasks)
    except TableError:
        return UnreadRecords(first=not_read(positions, EXECUTORS_FAILED), failures=(), bytes_fetched=0)
    for result in results:
        cluster.request_stats.add(result.request_stats)
    first = {position: known for result in results for position, known in result.unread.first.items()}
    failures: list[Failure] = [failure for result in results for failure in result.unread.failures]
    return UnreadRecords(
        first=first, failures=failures, bytes_fetched=sum(result.unread.bytes_fetched for result in results)
    )


def _run(settings: _TaskSettings, positions: Sequence[Position]) -> _TaskResult:
    """Run one task; never raises for failures of brokers."""
    from kafka_lagoon.fetch.first_unread import first_unread  # noqa: PLC0415  the driver needs no codecs

    stats, deadline = RequestStats(), Deadline.after(settings.clock, settings.budget_ms)
    with Cluster(settings.kafka, settings.clock, stats) as cluster:
        try:
            cluster.refresh({position.topic for position in positions}, deadline)
        except PipelineError as error:
            unread = UnreadRecords(first=not_read(positions, refusal_name(error)), failures=(), bytes_fetched=0)
        else:
            max_bytes = int(settings.bytes_per_position * len(positions))
            unread = first_unread(cluster, positions, max_bytes, deadline)
    return _TaskResult(unread=unread, request_stats=stats)
