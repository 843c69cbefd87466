"""Declares the rows of the state tables about transactions and the producers of partitions."""

from kafka_lagoon.tables.cluster_rows import ID_COMMENT, NO_LASTING_ID, TopicPartitions
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

_NOT_OPEN = "open_since_offset IS NULL AND problem IS NULL"


@row
class TransactionRow:
    """Transactional ids that coordinators know and their transactions, one row per id and snapshot."""

    transactional_id: str = column("transactional.id of the producer.")
    state: str = column("State as Kafka spells it, e.g. Ongoing.")
    producer_id: Int64 = column("Id of the producer.")
    producer_epoch: Int32 | None = column(
        "Epoch of the producer; null if problem is set, or the coordinator could not store the first epoch of the id.",
        null_if="state = 'Empty'",
    )
    coordinator_id: Int32 = column("Broker that coordinates the transaction.")
    timeout_ms: Int32 | None = column("transaction.timeout.ms of the producer; null if problem is set.")
    started_at_ms: Timestamp | None = column(
        "Start of the open transaction, or of the last transaction if none is open; null if there was none since "
        "a producer took over the id.",
        null_if=ALWAYS,
    )
    duration_ms: Int64 | None = column(
        "Milliseconds since started_at by the local clock, as kafka-transactions.sh shows it; null if started_at is null.",
        null_if="started_at IS NULL",
    )
    partitions: tuple[TopicPartitions, ...] | None = column(
        "Partitions of the open transaction that have no marker yet, except topics without permission to describe them; empty "
        "if no transaction is open, null if problem is set."
    )
    problem: str | None = column("Reason why the listed id could not be described; null if it was described.")


@row
class PartitionProducerRow:
    """Producers of the partitions with an open transaction, one row per partition, producer and snapshot.

    Only partitions whose last_stable_offset is below the high_watermark, and partitions of table transactions, are described:
    for other partitions brokers would return every idempotent producer of the last day.
    """

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(ID_COMMENT, null_if=NO_LASTING_ID)
    partition: Int32 = column("Partition number.")
    producer_id: Int64 | None = column("Id of the producer; null if the leader did not answer for the partition.")
    producer_epoch: Int32 | None = column("Epoch of the producer; null if producer_id is null.")
    last_sequence: Int32 | None = column(
        "Sequence number of the producer's last record; null if the broker does not know it.", null_if=ALWAYS
    )
    last_written_at_ms: Timestamp | None = column(
        "Timestamp of the producer's last record, or of the marker that ended its transaction if that is later; "
        "null if the broker does not know it, or outside the years 1 to 9999.",
        null_if=ALWAYS,
    )
    coordinator_epoch: Int32 | None = column(
        "Epoch of the coordinator that ended the producer's last transaction; null if none has ended.", null_if=ALWAYS
    )
    open_since_offset: Int64 | None = column(
        "First offset of the producer's open transaction; null if there is none.", null_if=ALWAYS
    )
    transactional_id: str | None = column(
        "transactional.id that a coordinator lists for the producer; null if there is none.", null_if=ALWAYS
    )
    idle_ms: Int64 | None = column(
        "Milliseconds since last_written_at by the local clock; null if the broker does not know that time, or the number has "
        "more than 64 bits.",
        null_if="last_written_at IS NULL",
    )
    is_hanging: bool | None = column(
        "True if the producer's transaction is open and no coordinator will end it, by the rules of kafka-transactions.sh "
        "find-hanging, and in two answers of the leader; null if they or the coordinators did not answer."
    )
    evidence: str | None = column(
        "Reason for the value of is_hanging. Not hanging: recent (its last record is at most 15 minutes old), in_transaction "
        "(its coordinator has the partition in an open transaction), ended (while the coordinators were asked). Hanging: "
        "no_transaction (no coordinator lists the producer; coordinators leave out transactional ids without permission to "
        "describe them, see table coverage), transactional_id_gone, or partition_not_in_transaction. Null without an open "
        "transaction.",
        null_if=_NOT_OPEN,
    )
    problem: str | None = column(
        "Reason why the producers of the partition, or the value of is_hanging, are not known; null if they are known."
    )
