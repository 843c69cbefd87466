"""Declares the rows of the state tables about brokers and topics, and what all rows of a snapshot carry.

A column's type, meaning and what null means in it are written once, beside the field; the tables' schemas, their DDL and the
dictionary in docs/tables.md are derived from here. A class's docstring is the comment of its table. Unknown is None, never 0,
-1 or a default, so no field has a default. No null without a reason: see `column`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, Timestamp, before, column, row

T = TypeVar("T")


# What several columns say in `null_if`. Older brokers, and newer ones under an old inter.broker.protocol.version, give no
# topic ids at all.
NO_TOPIC_IDS = "NOT EXISTS (SELECT * FROM topics WHERE topics.topic_id IS NOT NULL)"
_NO_ELIGIBLE_LEADERS = """NOT EXISTS (SELECT * FROM coverage
    WHERE coverage.api = 'DescribeTopicPartitions' AND coverage.requests > 0)"""
_RACK_UNKNOWN = """NOT coalesce(list_has_all((SELECT list(brokers.broker_id) FROM brokers
    WHERE brokers.rack IS NOT NULL AND brokers.is_fenced IS NOT TRUE), replicas), false)"""


@row
class SnapshotHeader:
    """What every row of a snapshot carries; the tables stamp it."""

    snapshot_id: str = column(
        "Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others."
    )
    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str | None = column("Kafka's own id of the cluster; null if no broker named it.", null_if=ALWAYS)
    captured_at_ms: Timestamp = column("When the run began to look at the cluster.")


@row
class BrokerRow:
    """Brokers that the cluster knew of, one row per broker and snapshot."""

    broker_id: Int32 = column("node.id of the broker.")
    host: str | None = column("Host that the broker advertises on our listener; null if none is known.", null_if=ALWAYS)
    port: Int32 | None = column(
        "Port that the broker advertises on our listener; null if none is known.", null_if=ALWAYS
    )
    rack: str | None = column("broker.rack; null if none is set.", null_if=ALWAYS)
    is_controller: bool | None = column(
        "Whether it is the active controller: leader of the metadata quorum, or as metadata has it under ZooKeeper. "
        "Null if problem is set."
    )
    is_fenced: bool | None = column(
        "Whether the controller has fenced it off; null if the brokers cannot say (before Kafka 2.8), or problem is set.",
        null_if=before("DescribeCluster", 0),
    )
    problem: str | None = column(
        "Why is_controller or is_fenced is null: Kafka's name of the error, NO_CONTROLLER, or NOT_DESCRIBED: DescribeCluster "
        "left the broker out. Null if there is none."
    )


@row
class TopicRow:
    """Topics that the cluster knew of, one row per topic and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    is_internal: bool | None = column("Whether Kafka keeps its own state in it; null if problem is set.")
    partitions: Int32 | None = column("Number of partitions; null if problem is set.")
    replication_factor: Int32 | None = column(
        "Replicas of the first partition, as Kafka's tools print it; null if it has no partition, or problem is set.",
        null_if="partitions = 0",
    )
    problem: str | None = column("Kafka's name of the topic's error; null if there is none.")


@row
class PartitionRow:
    """Partitions, their leaders and replicas, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    leader_id: Int32 | None = column("Broker that leads the partition; null if none does.", null_if="is_leaderless")
    leader_epoch: Int32 | None = column(
        "Epoch of the leader; null if the brokers do not tell it.", null_if=before("Metadata", 7)
    )
    replicas: tuple[Int32, ...] | None = column("Brokers that hold a replica, the preferred leader first.")
    isr: tuple[Int32, ...] | None = column("Brokers whose replica is in sync.")
    offline_replicas: tuple[Int32, ...] | None = column(
        "Brokers whose replica is offline; null if the brokers do not say.", null_if=before("Metadata", 5)
    )
    eligible_leader_replicas: tuple[Int32, ...] | None = column(
        "Brokers outside the ISR that may lead without loss (KIP-966); null if the cluster does not keep them.",
        null_if=_NO_ELIGIBLE_LEADERS,
    )
    last_known_elr: tuple[Int32, ...] | None = column(
        "Last known eligible leader replicas (KIP-966); null if the cluster does not keep them.",
        null_if=_NO_ELIGIBLE_LEADERS,
    )
    is_leaderless: bool | None = column("Whether no broker leads it: neither reads nor writes are possible.")
    is_under_replicated: bool | None = column("Whether fewer replicas are in sync than there are replicas.")
    is_under_min_isr: bool | None = column(
        "Whether fewer replicas are in sync than min.insync.replicas; null if that setting could not be read."
    )
    is_at_min_isr: bool | None = column(
        "Whether exactly min.insync.replicas are in sync; null if that setting could not be read."
    )
    is_preferred_leader: bool | None = column(
        "Whether the leader is the first replica; null if it has no leader.",
        null_if="is_leaderless OR len(replicas) = 0",
    )
    rack_count: Int32 | None = column(
        "Different racks among the replicas; null if the rack of any is unknown: none set, or the broker is down.",
        null_if=_RACK_UNKNOWN,
    )
    problem: str | None = column(
        "Kafka's name of the partition's error, what happened to the topic meanwhile, or why min.insync.replicas or eligible "
        "leaders are not known. Null if there is none."
    )


@row
class PartitionOffsetsRow:
    """Log start offset, high watermark and other offsets of every partition, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    log_start_offset: Int64 | None = column("First offset that can be read; null if problem is set.")
    high_watermark: Int64 | None = column(
        "First offset not yet replicated to all in-sync replicas, the end for readers; null if problem is set."
    )
    last_stable_offset: Int64 | None = column(
        "End for read_committed: where the oldest open transaction begins, else the high watermark; null if problem is set.",
        null_if=before("ListOffsets", 2),
    )
    max_timestamp_offset: Int64 | None = column(
        "Offset of the record with the largest timestamp; null if no record has one, the brokers are older than Kafka "
        "3.0, or problem is set.",
        null_if=ALWAYS,
    )
    max_timestamp: Timestamp | None = column(
        "Largest timestamp of any record; null if max_timestamp_ms is, or is outside the years 1 to 9999.",
        null_if="max_timestamp_ms IS NULL OR max_timestamp_ms NOT BETWEEN -62135596800000 AND 253402300799999",
    )
    max_timestamp_ms: Int64 | None = column(
        "The same as stored, in milliseconds since 1970; null if max_timestamp_offset is.",
        null_if="max_timestamp_offset IS NULL",
    )
    local_log_start_offset: Int64 | None = column(
        "First offset on the broker's own disk (KIP-405); null if the brokers are older than Kafka 3.5, or problem is set.",
        null_if=before("ListOffsets", 8),
    )
    tiered_offset: Int64 | None = column(
        "Last offset in tiered storage (KIP-1005); null if there is none, the brokers are older than Kafka 3.9, or "
        "problem is set.",
        null_if=ALWAYS,
    )
    leader_epoch: Int32 | None = column(
        "Leader epoch at the high watermark; null if the log is empty, or the brokers do not tell it.", null_if=ALWAYS
    )
    read_at_ms: Timestamp | None = column("When the high watermark was received; null if it was not.")
    problem: str | None = column(
        "Why an offset is missing: Kafka's name of the first error, OFFSET_NOT_RETURNED, or what happened to the topic "
        "meanwhile. Null if there is none."
    )


@row
class TableState:
    """How one table of a snapshot was collected, and where its rows are."""

    table_name: str = column("Name of the table.")
    outcome: str = column(
        "complete; partial (some of what it is made of did not answer); failed (nothing did); skipped (by the setting "
        "snapshot.skip_tables); not_offered (by the brokers, or they are set up without)."
    )
    row_count: Int64 = column("Rows of the table in this snapshot.")
    stored_in: str = column(
        "snapshot_id under which the rows are stored: this snapshot's own, or, of a table that is written when it "
        "changes, that of an earlier one of the same UTC day whose rows are the same."
    )
    digest: str | None = column(
        "Digest of the rows; null for a table that every snapshot writes, or that is not complete.", null_if=ALWAYS
    )


@row
class SnapshotRow:
    """Published snapshots, one row each, written last: rows of other tables without one here do not count."""

    slot_ms: Timestamp = column("The scheduler's time for the run; published at most once per cluster.")
    started_at_ms: Timestamp = column("When the run began to look at the cluster.")
    finished_at_ms: Timestamp = column("When the last answer was in; what was true, was true between both.")
    status: str = column(
        "complete, or partial if anything did not answer; tables that can be skipped (snapshot.skip_tables) do not count."
    )
    software_version: str = column("Version of Kafka Lagoon that wrote the rows.")
    kafka_version_range: str | None = column(
        "Kafka release whose APIs the brokers list, or a range such as 2.8 to 3.9; between 2.4 and 3.0 if a broker's list is a "
        "mix that no release has; null if not known.",
        null_if=ALWAYS,
    )
    brokers: Int32 = column("Rows in table brokers.")
    topics: Int32 = column("Rows in table topics.")
    partitions: Int32 = column("Rows in table partitions.")
    groups: Int32 = column("Rows in table consumer_groups.")
    failures: Int32 = column("Rows in table collection_failures.")
    requests: Int64 = column("Requests sent, retries included.")
    bytes_in: Int64 = column("Bytes received.")
    bytes_out: Int64 = column("Bytes sent.")
    throttle_ms: Int64 = column("Milliseconds for which brokers throttled us, summed over brokers.")
    completeness: float | None = column(
        "Answered items by expected items, from 0 to 1; null if nothing was expected.",
        null_if="NOT EXISTS (SELECT * FROM coverage WHERE coverage.expected > 0)",
    )
    tables: tuple[TableState, ...] | None = column(
        "The tables that the cluster was asked for, and where their rows are; view table_states has one row each. Null in "
        "rows of version 0.1.0.",
        null_if="false",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All rows of one attempt at one cluster, by their class; exactly one `SnapshotRow`, which is written last.

    It says of which tables the rows are stored already, by an earlier snapshot.
    """

    header: SnapshotHeader
    rows: Mapping[type[Any], Sequence[object]]

    def of(self, cls: type[T]) -> Sequence[T]:
        """The rows of one class."""
        return cast("Sequence[T]", self.rows[cls])

    @property
    def stored_elsewhere(self) -> frozenset[str]:
        """Names of the tables whose rows an earlier snapshot has stored."""
        states = self.published.tables or ()
        return frozenset(one.table_name for one in states if one.stored_in != self.header.snapshot_id)

    @property
    def published(self) -> SnapshotRow:
        """The row that makes the others count."""
        return self.of(SnapshotRow)[0]
