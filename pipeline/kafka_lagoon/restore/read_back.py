"""Reads restored partitions back, on executors."""

from collections.abc import Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.restore.asked_together import AskedTogether, logs_of
from kafka_lagoon.restore.receipts import ReadBack, Restored, read_back
from kafka_lagoon.restore.recent_topics import RecentTopics


@frozen
class CheckSettings:
    """Settings that all tasks share."""

    kafka: KafkaSettings
    clock: Clock
    reading: ReadOptions
    timeout_ms: int


def read_back_partitions(settings: CheckSettings, several: Sequence[Restored]) -> list[ReadBack]:
    """Read partitions back, one after the other; a failure to read is a result, too."""
    with Cluster(settings.kafka, settings.clock, RequestStats(), waits=True) as cluster:
        leaders = RecentTopics(settings.clock, lambda topic: cluster.refresh({topic}, _deadline(settings)))
        logs = logs_of(cluster, (one.planned.target for one in several))
        return [_read_back(cluster, settings, one, leaders, logs) for one in several]


def _read_back(
    cluster: Cluster,
    settings: CheckSettings,
    restored: Restored,
    leaders: RecentTopics[MetadataResponse],
    logs: AskedTogether[LogBounds],
) -> ReadBack:
    try:
        leaders.of(restored.planned.target.topic)
        return read_back(cluster, restored, logs, settings.reading, _deadline(settings))
    except PipelineError as error:
        return ReadBack(digest=None, problem=str(error))


def _deadline(settings: CheckSettings) -> Deadline:
    return Deadline.after(settings.clock, settings.timeout_ms)
