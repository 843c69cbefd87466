"""Declares the rows that describe a snapshot, and the columns that all rows of a snapshot share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

T = TypeVar("T")


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
    """All rows of one attempt at one cluster by class, with exactly one `SnapshotRow`, which is written last.

    It names the tables whose rows an earlier snapshot has stored.
    """

    header: SnapshotHeader
    rows: Mapping[type[Any], Sequence[object]]

    def of(self, cls: type[T]) -> Sequence[T]:
        """The rows of a class."""
        return cast("Sequence[T]", self.rows[cls])

    @property
    def stored_elsewhere(self) -> frozenset[str]:
        """Names of the tables whose rows an earlier snapshot has stored."""
        states = self.published.tables or ()
        return frozenset(one.table_name for one in states if one.stored_in != self.header.snapshot_id)

    @property
    def published(self) -> SnapshotRow:
        """The row that publishes the snapshot."""
        return self.of(SnapshotRow)[0]


@row
class CoverageRow:
    """What was asked and what answered, one row per API, broker and snapshot, and one per API of a skipped table."""

    api: str = column("Kafka's name of the API.")
    api_version: Int32 | None = column("Highest version that was sent; null if no request was.", null_if="requests = 0")
    broker_id: Int32 | None = column(
        "Broker that was asked; null for a bootstrap server whose id is not known, or if no broker was asked.",
        null_if=ALWAYS,
    )
    expected: Int64 = column("Items (brokers, topics, partitions, groups, as the API has them) that were asked about.")
    answered: Int64 = column("Items that came back with a value.")
    failed: Int64 = column("Items that came back with an error, or not at all.")
    visibility: str | None = column(
        "For APIs that list: complete (the permission to see everything is proven), filtered (permissions are missing, so "
        "the list may be short) or unknown; null for other APIs.",
        null_if="api NOT IN ('ListGroups', 'Metadata', 'OffsetFetch', 'DescribeDelegationToken', 'ListTransactions')",
    )
    requests: Int64 = column("Requests sent, retries included.")
    bytes: Int64 = column("Bytes received.")
    elapsed_ms: Int64 = column("Milliseconds from the first request to the last answer.")
    throttle_ms: Int64 = column("Milliseconds for which the broker throttled us.")
    not_collected_because: str | None = column(
        "Why the API gave nothing although nothing failed: UNSUPPORTED_VERSION (the brokers do not offer it), "
        "SECURITY_DISABLED (no authorizer), DELEGATION_TOKEN_AUTH_DISABLED (tokens are switched off), "
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, TLS without a certificate, and logins by token see no tokens), "
        "SKIPPED (by the setting snapshot.skip_tables) or "
        "LEFT_OUT (topics or groups, by settings; see left_out); null if it was asked.",
        null_if=ALWAYS,
    )
    skipped_table: str | None = column(
        "Table that has no rows of this snapshot because it is skipped; null for rows about requests.",
        null_if="not_collected_because IS DISTINCT FROM 'SKIPPED'",
    )
    bytes_sent: Int64 | None = column("Bytes sent. Null in rows of version 0.1.0.", null_if="false")
    most_in_flight: Int32 | None = column(
        "Most requests of a connection that waited for their answers at once when one of this API was sent, itself "
        "included; at most kafka.max_in_flight_requests_per_connection. Null in rows of version 0.1.0.",
        null_if="false",
    )
    left_out: Int64 | None = column(
        "Topics (api Metadata) or groups (ListGroups) that the settings snapshot.topics, exclude_topics, groups and "
        "exclude_groups left out, in a row of their own; null for other rows.",
        null_if="not_collected_because IS DISTINCT FROM 'LEFT_OUT'",
    )


@row
class CollectionFailureRow:
    """What could not be collected, one row per API, broker, type of scope, error and snapshot, with the number of items."""

    api: str = column("Kafka's name of the API.")
    broker_id: Int32 | None = column(
        "Broker that was asked, or that the request was about; null if none could be chosen.", null_if=ALWAYS
    )
    scope: str = column("What the request was about, for people: the first three of the items, and how many more.")
    error_code: Int32 | None = column(
        "Kafka's number of the error; null if there was no answer.", null_if="message IS NOT NULL"
    )
    error_name: str = column("Kafka's name of the error, or ours for a request without an answer.")
    attempts: Int32 = column("How often it was tried, at most.")
    elapsed_ms: Int64 | None = column(
        "Milliseconds until the last of them was given up; null if it was never sent.", null_if="attempts = 0"
    )
    message: str | None = column(
        "What the broker or the network said; null if nothing.", null_if="error_code IS NOT NULL"
    )
    scope_type: str | None = column(
        "cluster, broker, topic, partition, group, member, group_partition (what a group committed for a partition), "
        "transaction, config, log_dir or list (a list as a whole). Null in rows of version 0.1.0.",
        null_if="false",
    )
    topic: str | None = column("Name of the topic; null if the scope has none, or if the items differ.", null_if=ALWAYS)
    partition: Int32 | None = column("Partition number; null likewise.", null_if=ALWAYS)
    group_id: str | None = column("group.id of the group; null likewise.", null_if=ALWAYS)
    member_id: str | None = column("Id of the member; null likewise.", null_if=ALWAYS)
    transactional_id: str | None = column("transactional.id; null likewise.", null_if=ALWAYS)
    log_dir: str | None = column("Path of the log directory; null likewise.", null_if=ALWAYS)
    items: Int64 | None = column(
        "How many items (partitions, groups, topics) failed so. Null in rows of version 0.1.0.",
        null_if="false",
    )
