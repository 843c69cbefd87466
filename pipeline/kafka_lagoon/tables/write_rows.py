"""Declares the rows of the tables about writes to clusters: alterations, and records that a restore wrote."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

_UNFINISHED = "event = 'started'"


@row
class AdminActionRow:
    """Alterations of clusters: one row before an action is sent, and one with its outcome.

    An action without a second row belongs to a run that died; it may have been carried out.
    """

    action_id: str = column("Id of the action (UUIDv7), in both of its rows.")
    run_id: str = column("Id of the run of the action (UUIDv7); ids sort by time.")
    job: str = column("apply, admin or restore.")
    plan_id: str = column("Id of the plan of the action, as `lagoon plan` prints it.")
    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str = column("Kafka's own id of the cluster.")
    event: str = column("started: written before the action is sent; finished: written with its outcome.")
    at_ms: Timestamp = column("Time at which this row was written.")
    kind: str = column("Kind of the action: create_topic, alter_configs, ...")
    resource_type: str = column("Type of the resource: topic, partition, group, acl, ...")
    resource_name: str = column("Name of the resource within its type.")
    before: str | None = column(
        "State of the resource before, as JSON; null if the resource did not exist.", null_if=ALWAYS
    )
    after: str | None = column(
        "Requested state, as JSON; null if the resource is removed. Secrets are left out.", null_if=ALWAYS
    )
    guards: tuple[str, ...] = column("Options that the action needs, or it is refused.")
    outcome: str | None = column(
        "done; failed: refused, or not sent; unknown: sent, but neither a response nor the live state shows the result.",
        null_if=_UNFINISHED,
    )
    error_code: Int32 | None = column("Kafka's error code; null if no broker returned one.", null_if=ALWAYS)
    error_name: str | None = column(
        "Name of the error; null if there is none. The live state may show that an action without a response is done.",
        null_if="outcome IS NULL OR outcome = 'done'",
    )
    message: str | None = column("Message of the broker or of the run; null if there is none.", null_if=ALWAYS)
    source: str | None = column("File and line that requested the action; null for a command line.", null_if=ALWAYS)
    user: str = column("Name of the operating system's user who ran it.")
    host: str = column("Name of the machine that it ran on.")
    principal: str | None = column(
        "User name of SASL, or the principal in the settings for Kerberos or an unsecured OAuth token; null for login by "
        "another token (delegation tokens, OAuth), and without SASL.",
        null_if=ALWAYS,
    )
    software_version: str = column("Version of this package.")


@row
class RestoreMapRow:
    """Offsets of restored records in source and target, as ranges over which both offsets increase by one per record."""

    restore_id: str = column("Id of the restore (UUIDv7 of its first run).")
    source_cluster: str = column("Name of the source cluster.")
    source_cluster_id: str = column("Kafka's own id of the source cluster.")
    source_topic: str = column("Name of the topic in the source cluster.")
    source_topic_id: str | None = column(
        "Id of the topic in the source cluster; null if the brokers gave none.", null_if=ALWAYS
    )
    source_partition: Int32 = column("Partition number in the source cluster.")
    source_offset: Int64 = column("First offset of the range in the source cluster.")
    target_cluster: str = column("Name of the target cluster.")
    target_cluster_id: str = column("Kafka's own id of the target cluster.")
    target_topic: str = column("Name of the topic in the target cluster.")
    target_topic_id: str | None = column(
        "Id of the topic in the target cluster; null if the brokers give none.", null_if=ALWAYS
    )
    target_partition: Int32 = column("Partition number in the target cluster.")
    target_offset: Int64 = column("First offset of the range in the target cluster.")
    records: Int64 = column("Number of records in the range; from one to the next both offsets increase by one.")
    written_at_ms: Timestamp = column("Time at which the row was written.")


@row
class RestoreReceiptRow:
    """Records that a finished restore has written to each partition, and the result of reading them back."""

    restore_id: str = column("Id of the restore (UUIDv7 of its first run).")
    source_cluster_id: str = column("Kafka's own id of the source cluster.")
    source_topic: str = column("Name of the topic in the source cluster.")
    source_topic_id: str | None = column(
        "Id of the topic in the source cluster; null if the brokers gave none.", null_if=ALWAYS
    )
    source_partition: Int32 = column("Partition number in the source cluster.")
    target_cluster_id: str = column("Kafka's own id of the target cluster.")
    target_topic: str = column("Name of the topic in the target cluster.")
    target_partition: Int32 = column("Partition number in the target cluster.")
    target_from_offset: Int64 = column("First offset that the restore wrote.")
    target_to_offset: Int64 = column("First offset after the last record that the restore wrote.")
    records: Int64 = column("Number of records to write.")
    records_read_back: Int64 | None = column(
        "Number of records that were read back; null if they could not be read.", null_if="problem IS NOT NULL"
    )
    digest: str = column(
        "Hash of the archived records' keys, values, headers, timestamps and order; without timestamps if the "
        "target stores the time of appending instead.",
    )
    digest_read_back: str | None = column(
        "The same hash of the records that were read back; null if they could not be read.",
        null_if="problem IS NOT NULL",
    )
    problem: str | None = column(
        "Reason why the target is not known to be equal: RECORDS_DIFFER, RECORDS_MISSING, RECORDS_DOUBLED, "
        "ORDER_DIFFERS, OPEN_TRANSACTION (of others, so it could not be read), or why else it could not be read; "
        "OTHER_RECORDS if it is equal except for records of others. Null if it is equal.",
        null_if=ALWAYS,
    )
    checked_at_ms: Timestamp = column(
        "Time at which the target was read back, or 1 ms after an earlier receipt if that is later."
    )
    other_records: Int64 | None = column(
        "Number of records that others wrote during the restore, before its last record; null if they could not be counted.",
        null_if=ALWAYS,
    )
    other_offsets: str | None = column(
        "Offsets of the records that others wrote, as at most twenty ranges; null if there are none.", null_if=ALWAYS
    )
