"""Declares the rows of the tables that a restore writes: which source offset became which, and what was read back.

The ranges of restore_map translate offsets: within a range, both sides count alike.
"""

from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row


@row
class RestoreMapRow:
    """Which offset each restored record has in the target, as ranges over which both offsets increase together."""

    restore_id: str = column("The restore (UUIDv7 of its first run).")
    source_cluster: str = column("Name of the cluster that the records came from.")
    source_cluster_id: str = column("Kafka's own id of that cluster.")
    source_topic: str = column("Name of the topic there.")
    source_topic_id: str | None = column("Id of the topic there; null if the brokers gave none.", null_if=ALWAYS)
    source_partition: Int32 = column("Partition there.")
    source_offset: Int64 = column("First offset of the range there.")
    target_cluster: str = column("Name of the cluster that they were written to.")
    target_cluster_id: str = column("Kafka's own id of that cluster.")
    target_topic: str = column("Name of the topic there.")
    target_topic_id: str | None = column("Id of the topic there; null if the brokers give none.", null_if=ALWAYS)
    target_partition: Int32 = column("Partition there.")
    target_offset: Int64 = column("First offset of the range there.")
    records: Int64 = column("Records of the range: both sides count on from their first offset.")
    written_at_ms: Timestamp = column("When the row was written.")


@row
class RestoreReceiptRow:
    """What a finished restore wrote to each partition, and what was read back from it."""

    restore_id: str = column("The restore (UUIDv7 of its first run).")
    source_cluster_id: str = column("Kafka's own id of the cluster that the records came from.")
    source_topic: str = column("Name of the topic there.")
    source_topic_id: str | None = column("Id of the topic there; null if the brokers gave none.", null_if=ALWAYS)
    source_partition: Int32 = column("Partition there.")
    target_cluster_id: str = column("Kafka's own id of the cluster that they were written to.")
    target_topic: str = column("Name of the topic there.")
    target_partition: Int32 = column("Partition there.")
    target_from_offset: Int64 = column("First offset that the restore wrote there.")
    target_to_offset: Int64 = column("First offset after them.")
    records: Int64 = column("Records that were to be written.")
    records_read_back: Int64 | None = column(
        "Records that were read back; null if they could not be read.", null_if="problem IS NOT NULL"
    )
    digest: str = column("Hash of their keys, values, headers, times and order.")
    digest_read_back: str | None = column(
        "The same hash of what was read back; null if it could not be read.", null_if="problem IS NOT NULL"
    )
    problem: str | None = column("Why the target is not known to be equal; null if it is.", null_if=ALWAYS)
    checked_at_ms: Timestamp = column("When the target was read back.")
    other_records: Int64 | None = column(
        "Records that somebody else wrote while the restore did, before its last record; null if they could not be counted.",
        null_if=ALWAYS,
    )
    other_offsets: str | None = column(
        "Their offsets as ranges, at most twenty; null if there are none.", null_if=ALWAYS
    )
