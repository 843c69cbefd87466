"""Estimates when offsets were written from the end offsets of earlier snapshots, without requests and permissions.

An offset was written between the last snapshot whose end offset is not above it and the first whose end offset is. Between
them the time is interpolated; before the first snapshot it is unknown.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql.functions import col, lit, unix_millis

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.delta.storage import JAVA_ERRORS
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.unread_positions import FirstUnread, FirstUnreadOutcome, Position, UnreadRecords, not_read
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.times import utc_day

NO_EARLIER_SNAPSHOT, HISTORY_UNREADABLE = "NO_EARLIER_SNAPSHOT", "HISTORY_UNREADABLE"

_End = tuple[int, int]  # epoch milliseconds, and the high watermark then
# The latest end offset that is not above the offset, and the earliest that is, of the same topic.
_STATEMENT = """
SELECT positions.number,
  max(struct(ends.read_at_ms, ends.high_watermark)) FILTER (WHERE ends.high_watermark <= positions.first_offset) AS before,
  min(struct(ends.read_at_ms, ends.high_watermark)) FILTER (WHERE ends.high_watermark > positions.first_offset) AS after
FROM {positions} AS positions
JOIN {ends} AS ends
  ON ends.topic = positions.topic
  AND ends.partition = positions.partition
  AND ends.topic_id IS NOT DISTINCT FROM positions.topic_id
GROUP BY positions.number
"""
_COLUMNS = "number INT, topic STRING, topic_id STRING, partition INT, first_offset BIGINT"


def interpolated(
    warehouse: Warehouse, cluster: Cluster, name: str, days: int, positions: Sequence[Position]
) -> UnreadRecords:
    """The time at which the offset of each position was written, for the cluster called `name` in the tables."""
    now_ms = cluster.clock.now_ms()
    try:
        ends = _ends(warehouse, cluster, name, days, positions)
    except (TableError, *JAVA_ERRORS):  # the snapshot does not depend on it
        return UnreadRecords(first=not_read(positions, HISTORY_UNREADABLE), failures=(), bytes_fetched=0)
    first = not_read(positions, NO_EARLIER_SNAPSHOT)
    for number, before, after in ends:
        position = positions[number]
        written_ms = _written_ms(position.offset, before, after or (now_ms, position.high_watermark))
        if written_ms is not None:
            first[position] = FirstUnread(
                outcome=FirstUnreadOutcome.INTERPOLATED,
                timestamp_ms=written_ms,
                read_at_ms=now_ms,
                is_blocked=position.is_blocked,
            )
    return UnreadRecords(first=first, failures=(), bytes_fetched=0)


def _written_ms(offset: int, before: _End | None, after: _End) -> int | None:
    """None if nothing is known before, or if the log was truncated in between."""
    if before is None or not (before[0] < after[0] and before[1] <= offset < after[1]):
        return None
    share = (offset - before[1]) / (after[1] - before[1])
    return before[0] + round(share * (after[0] - before[0]))


def _ends(
    warehouse: Warehouse, cluster: Cluster, name: str, days: int, positions: Sequence[Position]
) -> list[tuple[int, _End | None, _End | None]]:
    """Numbers of positions with the ends around them; not of those without any."""
    rows = [
        (number, one.topic, cluster.topics.id_of(one.topic), one.partition, one.offset)
        for number, one in enumerate(positions)
    ]
    first_day = utc_day(cluster.clock.now_ms()) - timedelta(days)  # current_date of Spark is that of the session
    spark = warehouse.spark
    make_available(warehouse, ["partition_offsets_published"])
    ends = (
        spark.table("partition_offsets_published")
        .where((col("cluster") == name) & (col("snapshot_date") >= lit(first_day)))
        # Brokers before 2.8 have no ids of topics, which would tell those of another cluster of this name apart.
        .where(col("cluster_id").eqNullSafe(lit(cluster.cluster_id)))
        .where(col("high_watermark").isNotNull() & col("read_at").isNotNull())
        .select("topic", "topic_id", "partition", "high_watermark", unix_millis("read_at").alias("read_at_ms"))
    )
    answers = spark.sql(_STATEMENT, positions=spark.createDataFrame(rows, _COLUMNS), ends=ends).collect()
    return [(row.number, _end(row.before), _end(row.after)) for row in answers]


def _end(pair: tuple[int, int] | None) -> _End | None:
    return None if pair is None else (pair[0], pair[1])
