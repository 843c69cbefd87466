"""Declares the rows of the tables about writes to clusters: alterations, and records that a restore wrote."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

_UNFINISHED = "event = 'started'"


@row
class AdminActionRow:
    """Alterations of clusters: one row before an action is sent, and one with its outcome.

    An action without a second row belongs to a run that died: whether it was carried out is not known.
    """

    action_id: str = column("The action (UUIDv7); its two rows have the same.")
    run_id: str = column("The run that it belongs to (UUIDv7); ids sort by time.")
    job: str = column("apply, admin or restore.")
    plan_id: str = column("The plan that it belongs to, as `lagoon plan` prints it.")
    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str = column("Kafka's own id of the cluster.")
    event: str = column("started: about to be sent; finished: its outcome is known.")
    at_ms: Timestamp = column("When this row was written.")
    kind: str = column("What it does: create_topic, alter_configs, ...")
    resource_type: str = column("Type of the resource: topic, partition, group, acl, ...")
    resource_name: str = column("Name of the resource within its type.")
    before: str | None = column("What the cluster had, as JSON; null if the resource did not exist.", null_if=ALWAYS)
    after: str | None = column(
        "What was asked for, as JSON; null if it is removed. Secrets are left out.", null_if=ALWAYS
    )
    guards: tuple[str, ...] = column("Options without which it is refused.")
    outcome: str | None = column(
        "done; failed: refused, or nothing changed; unknown: sent, and neither an answer nor the live state tells.",
        null_if=_UNFINISHED,
    )
    error_code: Int32 | None = column("Kafka's error code; null if no broker gave one.", null_if=ALWAYS)
    error_name: str | None = column(
        "Name of the error; null if there is none. An action without an answer may be done, as the live state shows.",
        null_if="outcome IS NULL OR outcome = 'done'",
    )
    message: str | None = column("What the broker said, or we; null if there is nothing to say.", null_if=ALWAYS)
    source: str | None = column("File and line that asked for it; null if a command line did.", null_if=ALWAYS)
    user: str = column("Who ran it: the name that the operating system gives.")
    host: str = column("Where it ran.")
    principal: str | None = column(
        "The user of SASL; null if a certificate, a token or nothing tells it.", null_if=ALWAYS
    )
    software_version: str = column("Version of this package.")


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
