"""Declares the rows of days that are over, which maintenance stores so that no query has to compute them again."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

_OF_THE_DAY = "change_type IS NULL"
_WITHOUT_TOPIC = "topic IS NULL"


@row
class StoredChangeRow:
    """Changes of UTC days that are over, as view daily_changes found them: a row per change, and one per cluster and day.

    The row of a day has no change: it says that the changes of the day are stored, also if there are none.
    """

    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str | None = column("Id of the cluster in Kafka; null if no broker returned it.", null_if=ALWAYS)
    state: str = column(
        "State of the snapshots that the change was found in; it is valid while view change_days has the same for its day."
    )
    snapshots: Int64 | None = column(
        "Number of snapshots of the day in the row of the day; null for a change.", null_if="change_type IS NOT NULL"
    )
    snapshot_id: str = column("The published snapshot that shows the change first; in the row of a day the last one.")
    captured_at_ms: Timestamp = column("When the snapshot began to read the cluster.")
    previous_snapshot_id: str | None = column(
        "The snapshot that it is compared with; null in the row of a day.", null_if=_OF_THE_DAY
    )
    previous_captured_at_ms: Timestamp | None = column(
        "When that snapshot began; in the row of a day the earliest of its snapshots' predecessors, null if one has none.",
        null_if=_OF_THE_DAY,
    )
    change_type: str | None = column(
        "added, removed, changed, recreated, moved_back or truncated; null in the row of a day.", null_if=ALWAYS
    )
    entity_type: str | None = column("Type of the changed entity; null in the row of a day.", null_if=_OF_THE_DAY)
    entity: str | None = column("The changed entity, for people; null in the row of a day.", null_if=_OF_THE_DAY)
    attribute: str | None = column("The attribute that changed; null for the entity as a whole.", null_if=ALWAYS)
    old_value: str | None = column("The value before; null if there was none, or if it is secret.", null_if=ALWAYS)
    new_value: str | None = column("The value after; null if there is none, or if it is secret.", null_if=ALWAYS)
    source: str | None = column("Where a config is set; null for other changes.", null_if=ALWAYS)
    topic: str | None = column("Name of the topic; null if the change is not about a topic.", null_if=ALWAYS)
    partition: Int32 | None = column("Partition number; null if the change is not about a partition.", null_if=ALWAYS)
    group_id: str | None = column("group.id; null if the change is not about a group.", null_if=ALWAYS)
    broker_id: Int32 | None = column("node.id of the broker; null if the change is not about a broker.", null_if=ALWAYS)
    is_proven: bool | None = column(
        "False for a topic or group whose list may have been incomplete; null in the row of a day.", null_if=_OF_THE_DAY
    )


@row
class StoredThroughputRow:
    """Throughput of UTC days that are over: a row of view topic_throughput per topic and snapshot, and one per day.

    The row of a day has no topic: it says that the throughput of the day is stored, also if there are no topics.
    """

    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str | None = column("Id of the cluster in Kafka; null if no broker returned it.", null_if=ALWAYS)
    state: str = column(
        "State of the snapshots that the rates follow from; it is valid while view throughput_days has the same for its day."
    )
    snapshots: Int64 | None = column(
        "Number of snapshots of the day in the row of the day; null for a topic.", null_if="topic IS NOT NULL"
    )
    snapshot_id: str = column("The snapshot that the row is about; in the row of a day the last one.")
    captured_at_ms: Timestamp = column("When the snapshot began to read the cluster.")
    previous_captured_at_ms: Timestamp | None = column(
        "In the row of a day when the earliest of its snapshots' predecessors began; null if one has none, and for a topic.",
        null_if=ALWAYS,
    )
    topic: str | None = column("Name of the topic; null in the row of a day.", null_if=ALWAYS)
    topic_id: str | None = column("Id of the topic; null if the brokers return none.", null_if=ALWAYS)
    partitions: Int64 | None = column("Partitions of the topic; null in the row of a day.", null_if=_WITHOUT_TOPIC)
    records: Int64 | None = column(
        "Offsets in the logs of the partitions whose end offsets are known; null if none is known.", null_if=ALWAYS
    )
    size_bytes: Int64 | None = column(
        "Bytes of the leader replicas whose size is known; null if no size is known.", null_if=ALWAYS
    )
    seconds: float | None = column(
        "Mean seconds since the previous snapshot; null if no partition has a rate.", null_if=ALWAYS
    )
    rate_partitions: Int64 | None = column(
        "Partitions with a rate of records; null in the row of a day.", null_if=_WITHOUT_TOPIC
    )
    produced: Int64 | None = column(
        "Offsets that were added to these partitions since then; null if there are none.", null_if=ALWAYS
    )
    records_per_second: float | None = column(
        "Sum of the rates of these partitions; null if there are none.", null_if=ALWAYS
    )
    bytes_partitions: Int64 | None = column(
        "Partitions with a rate of bytes; null in the row of a day.", null_if=_WITHOUT_TOPIC
    )
    estimated_partitions: Int64 | None = column(
        "Partitions among these whose bytes are computed from the mean size of a record; null in the row of a day.",
        null_if=_WITHOUT_TOPIC,
    )
    bytes_per_second: float | None = column(
        "Sum of the rates of bytes, before replication; null if there is none.", null_if=ALWAYS
    )
