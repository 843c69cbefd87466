"""Declares the rows of the record tables: records, ranges of offsets with their counts, and problems.

Every offset of a range is counted: `to_offset - from_offset` equals the sum of its counts. Each range of a partition begins
where the one before it ended. A truncation of the log is a range that goes back, with counts of 0.
"""

from kafka_lagoon.tables.row_classes import ALWAYS, Binary, Int32, Int64, Timestamp, column, row

_CLUSTER = "Name of the cluster in the configuration; null if archived by a version that did not store it."
CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = 0, 1, -1


@row
class Header:
    """One header of a record."""

    key: str = column("Key of the header; in a record with undecodable keys, bytes are escaped, as in \\xff.")
    value: Binary | None = column("Value of the header; null and empty stay different.", null_if=ALWAYS)


@row
class RecordRow:
    """Records as they were in Kafka, one row each, exactly once."""

    cluster: str | None = column(_CLUSTER, null_if=ALWAYS)
    cluster_id: str = column("Kafka's own id of the cluster.")
    topic: str = column("Name of the topic.")
    topic_id: str | None = column("Id of the topic; null if the brokers give none.", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    offset: Int64 = column("Offset of the record.")
    timestamp: Timestamp | None = column(
        "Timestamp of the record; null if it has none, or outside the years 1 to 9999.",
        null_if="timestamp_ms = -1 OR timestamp_ms NOT BETWEEN -62135596800000 AND 253402300799999",
    )
    timestamp_ms: Int64 = column("Timestamp of the record as stored, in milliseconds since 1970; -1 if it has none.")
    timestamp_type: Int32 = column(
        "0: time set by the producer; 1: time of the append on the broker; -1: no timestamp (message format 0)."
    )
    key: Binary | None = column("Key; null and empty stay different.", null_if=ALWAYS)
    value: Binary | None = column(
        "Value; null (a tombstone in compacted topics) and empty stay different.", null_if=ALWAYS
    )
    headers: tuple[Header, ...] = column("Headers in order, duplicates kept; empty if there are none.")
    leader_epoch: Int32 | None = column(
        "Epoch of the leader that appended it; null if the batch has none.", null_if=ALWAYS
    )
    producer_id: Int64 | None = column("Id of the idempotent producer; null for other producers.", null_if=ALWAYS)
    producer_epoch: Int32 | None = column("Epoch of the idempotent producer; null for other producers.", null_if=ALWAYS)
    is_transactional: bool = column("True if the record was written in a transaction.")
    is_aborted: bool | None = column(
        "True if the transaction was aborted (only kept by read_uncommitted); null if it was still open.",
        null_if=ALWAYS,
    )
    ingest_id: str = column("Id of the run that archived the record (UUIDv7).")


@row
class RecordRangeRow:
    """Counts of offsets, one row per run, partition and range. Each range of a partition begins where the one before it ended.

    A truncation of the log is a range that goes back, with counts of 0; a range from an offset to the same offset says that a
    topic ended or that its archive waits, as its problem says, or that it continues under another id.
    """

    ingest_id: str = column("Id of the run (UUIDv7); column sequence orders runs.")
    cluster: str | None = column(f"{_CLUSTER[:-1]}, or if problem is COUNTS_LOST and the range has no records.")
    cluster_id: str = column("Kafka's own id of the cluster.")
    topic: str = column("Name of the topic.")
    topic_id: str | None = column("Id of the topic; null if the brokers give none.", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    from_offset: Int64 = column("First offset of the range.")
    to_offset: Int64 = column(
        "First offset after the range; below from_offset if the log was truncated and continued there."
    )
    records: Int64 = column("Offsets whose records are in table records.")
    control: Int64 = column("Offsets of control batches, such as transaction markers.")
    aborted: Int64 = column("Offsets of records of aborted transactions, which read_committed leaves out.")
    compacted: Int64 = column("Offsets whose records compaction has removed.")
    lost: Int64 = column(
        "Offsets that retention or DeleteRecords removed before they were read, or that the log lacks although "
        "its topic is not compacted; if problem is COUNTS_LOST, all offsets without a record.",
    )
    corrupt: Int64 = column("Offsets that could not be decoded: see table record_problems.")
    bytes_fetched: Int64 = column("Bytes of record batches received, before decompression.")
    bytes_decoded: Int64 = column("Bytes of records after decompression.")
    codec: str | None = column(
        "Codecs of the batches, sorted and comma-separated; null if there were none.", null_if="bytes_fetched = 0"
    )
    files: Int32 = column("Data files that hold the records.")
    leader_epoch: Int32 | None = column(
        "Leader epoch in which the last offset of the range was written; null if no batch has one.", null_if=ALWAYS
    )
    problem: str | None = column(
        "LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED, NOT_CONFIRMED (brokers disagree), COUNTS_LOST (the "
        "row was made again from table records: its other counts and bytes are 0), or the reason why the range "
        "ended early; null if there is none.",
    )
    planned_at_ms: Timestamp = column("Time at which the run requested the end offsets.")
    sequence: Int64 | None = column(
        "Number of the run in its cluster's archive: it orders runs independently of clocks; null if archived by a version "
        "that did not store it.",
        null_if=ALWAYS,
    )


@row
class RecordProblemRow:
    """Batches that could not be decoded, and records whose header keys are not UTF-8."""

    ingest_id: str = column("Id of the run (UUIDv7).")
    cluster: str | None = column(_CLUSTER, null_if=ALWAYS)
    cluster_id: str = column("Kafka's own id of the cluster.")
    topic: str = column("Name of the topic.")
    topic_id: str | None = column("Id of the topic; null if the brokers give none.", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    base_offset: Int64 = column("First affected offset.")
    last_offset: Int64 = column("Last affected offset.")
    reason: str = column("CORRUPT_BATCH, UNSUPPORTED_CODEC, EXPANDED_TOO_LARGE, HEADER_KEY_NOT_UTF8, ...")
    detail: str | None = column("Details of the problem; null if there are none beyond the reason.", null_if=ALWAYS)
    raw: Binary | None = column(
        "Bytes of the batch as received, up to a limit; null if the record itself is archived.",
        null_if="reason = 'HEADER_KEY_NOT_UTF8'",
    )
