"""Declares the rows that describe a snapshot, and the columns that all rows of a snapshot share."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row

T = TypeVar("T")


@row
class SnapshotHeader:
    """Values that every row of a snapshot has; they are added when rows are written to a table."""

    snapshot_id: str = column(
        "Id of the snapshot (UUIDv7). Its rows are valid once table snapshots has the id; views show only valid rows."
    )
    cluster: str = column("Name of the cluster in the configuration.")
    cluster_id: str | None = column("Kafka's own id of the cluster; null if no broker returned it.", null_if=ALWAYS)
    captured_at_ms: Timestamp = column("Time at which the run began to read the cluster.")


@row
class TableState:
    """The state of one table of a snapshot: the result of its collection, and the place of its rows."""

    table_name: str = column("Name of the table.")
    outcome: str = column(
        "complete; partial (requests failed, and the table has rows, or only some brokers have the API); failed (requests "
        "failed, and the table has no rows); skipped (by the setting snapshot.skip_tables); not_offered (no broker has the "
        "API, or it is disabled)."
    )
    row_count: Int64 = column("Rows of the table in this snapshot.")
    stored_in: str = column(
        "snapshot_id under which the rows are stored: this snapshot's own; for a table that is only written when it "
        "changes, the id of an earlier snapshot of the same UTC day with the same rows."
    )
    digest: str | None = column(
        "Digest of the rows; null for a table that every snapshot writes, and for a table that is not complete.",
        null_if=ALWAYS,
    )


@row
class SnapshotRow:
    """Published snapshots, one row each, written last: rows of other tables are valid only if their snapshot is here."""

    slot_ms: Timestamp = column("The scheduler's time for the run; published at most once per cluster.")
    started_at_ms: Timestamp = column("Time at which the run began to read the cluster.")
    finished_at_ms: Timestamp = column(
        "Time at which all rows had been made, after the last response; the state was read between captured_at and this time."
    )
    status: str = column(
        "complete, or partial if requests failed; tables that can be skipped (snapshot.skip_tables) do not count."
    )
    software_version: str = column("Version of Kafka Lagoon that wrote the rows.")
    kafka_version_range: str | None = column(
        "Kafka release whose APIs the brokers list, or a range such as 2.8 to 3.9; between 2.4 and 3.0, or close "
        "to 3.9, if no release has exactly the APIs that a broker lists; 4.4 or newer, newer than 4.4, 2.4 or "
        "older, or unlike any release for APIs of releases that are not known here; null if not known.",
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
    throttle_ms: Int64 = column("Milliseconds for which brokers throttled this client, summed over brokers.")
    completeness: float | None = column(
        "Answered items divided by expected items, from 0 to 1; null if no items were expected.",
        null_if="NOT EXISTS (SELECT * FROM coverage WHERE coverage.expected > 0)",
    )
    tables: tuple[TableState, ...] | None = column(
        "States of the tables of this snapshot, and the place of their rows; view table_states has one row for each. Null in "
        "rows of version 0.1.0.",
        null_if="false",
    )


@frozen
class Snapshot:
    """All rows of one snapshot attempt at one cluster by class, with exactly one `SnapshotRow`, which is written last.

    The `SnapshotRow` names the tables whose rows an earlier snapshot has stored.
    """

    header: SnapshotHeader
    rows: Mapping[type[Any], Sequence[object]]

    def of(self, cls: type[T]) -> Sequence[T]:
        """Return the rows of a class."""
        return cast("Sequence[T]", self.rows[cls])

    @property
    def stored_elsewhere(self) -> frozenset[str]:
        """Return the names of the tables whose rows an earlier snapshot has stored."""
        states = self.published.tables or ()
        return frozenset(one.table_name for one in states if one.stored_in != self.header.snapshot_id)

    @property
    def published(self) -> SnapshotRow:
        """Return the row that publishes the snapshot."""
        return self.of(SnapshotRow)[0]


@row
class CoverageRow:
    """Requests and their responses, one row per API, broker and snapshot, and one per API of a skipped table."""

    api: str = column("Kafka's name of the API.")
    api_version: Int32 | None = column(
        "Highest version of the requests; null if no request was sent.", null_if="requests = 0"
    )
    broker_id: Int32 | None = column(
        "Broker that received the requests, or that does not offer the API; null for a bootstrap server with an unknown id, "
        "and if no broker was asked.",
        null_if=ALWAYS,
    )
    expected: Int64 = column("Requested items: brokers, topics, partitions or groups, depending on the API.")
    answered: Int64 = column("Items that were returned with a value.")
    failed: Int64 = column("Items that were returned with an error, or not at all.")
    visibility: str | None = column(
        "For APIs that list: complete (the permission to list everything is proven), filtered (permissions are missing, so "
        "the list may be incomplete) or unknown; null for other APIs.",
        null_if="api NOT IN ('ListGroups', 'Metadata', 'OffsetFetch', 'DescribeShareGroupOffsets', "
        "'DescribeDelegationToken', 'ListTransactions')",
    )
    requests: Int64 = column("Requests sent, retries included.")
    bytes: Int64 = column("Bytes received.")
    elapsed_ms: Int64 = column(
        "Milliseconds from the first request that was answered to the last response; 0 without a response."
    )
    throttle_ms: Int64 = column("Milliseconds for which the broker throttled this client.")
    not_collected_because: str | None = column(
        "Reason why the API returned nothing although no request failed: UNSUPPORTED_VERSION (the brokers do not offer it), "
        "SECURITY_DISABLED (no authorizer), DELEGATION_TOKEN_AUTH_DISABLED (tokens are disabled), "
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (not allowed with PLAINTEXT, TLS without a certificate, or login by token), "
        "SKIPPED (by the setting snapshot.skip_tables) or "
        "LEFT_OUT (topics or groups, by settings; see left_out); null in other rows. The errors of brokers among these have "
        "requests.",
        null_if=ALWAYS,
    )
    skipped_table: str | None = column(
        "Table that has no rows of this snapshot because it is skipped; null for rows about requests.",
        null_if="not_collected_because IS DISTINCT FROM 'SKIPPED'",
    )
    bytes_sent: Int64 | None = column("Bytes sent. Null in rows of version 0.1.0.", null_if="false")
    most_in_flight: Int32 | None = column(
        "Most requests of a connection that waited for their responses when a request of this API was sent, including that "
        "request; at most kafka.max_in_flight_requests_per_connection. Null in rows of version 0.1.0.",
        null_if="false",
    )
    left_out: Int64 | None = column(
        "Number of topics (api Metadata) or groups (ListGroups) that the settings snapshot.topics, exclude_topics, groups and "
        "exclude_groups left out, in a row of its own; null in other rows.",
        null_if="not_collected_because IS DISTINCT FROM 'LEFT_OUT'",
    )


@row
class CollectionFailureRow:
    """Failed requests, one row per API, broker, type of scope, error and snapshot, with the number of items."""

    api: str = column("Kafka's name of the API.")
    broker_id: Int32 | None = column(
        "Broker that received the request, or that it was about; null if no broker could be chosen.", null_if=ALWAYS
    )
    scope: str = column("Items of the request, for people: the first three, and the number of the others.")
    error_code: Int32 | None = column(
        "Kafka's number of the error; null if no broker gave one: without a response, or if we refuse the response.",
        null_if="message IS NOT NULL",
    )
    error_name: str = column(
        "Kafka's name of the error, or our name where no broker gave one, such as CONNECTION_LOST or "
        "CONTRADICTORY_ANSWER.",
    )
    attempts: Int32 = column("Highest number of attempts of a request.")
    elapsed_ms: Int64 | None = column(
        "Milliseconds until the last attempt was given up, also if no broker could be chosen; 0 if we refuse the response.",
        null_if="attempts = 0",
    )
    message: str | None = column(
        "Message of the broker or of the network; null if there is none.", null_if="error_code IS NOT NULL"
    )
    scope_type: str | None = column(
        "cluster, broker, topic, partition, group, member, group_partition (a group's commit for a partition), "
        "transaction, config, log_dir or list (a list as a whole). Null in rows of version 0.1.0.",
        null_if="false",
    )
    topic: str | None = column("Name of the topic; null if the scope has none, or if the items differ.", null_if=ALWAYS)
    partition: Int32 | None = column(
        "Partition number; null if the scope has none, or if the items differ.", null_if=ALWAYS
    )
    group_id: str | None = column(
        "group.id of the group; null if the scope has none, or if the items differ.", null_if=ALWAYS
    )
    member_id: str | None = column(
        "Id of the member; null if the scope has none, or if the items differ.", null_if=ALWAYS
    )
    transactional_id: str | None = column(
        "transactional.id; null if the scope has none, or if the items differ.", null_if=ALWAYS
    )
    log_dir: str | None = column(
        "Path of the log directory; null if the scope has none, or if the items differ.", null_if=ALWAYS
    )
    items: Int64 | None = column(
        "Number of items (partitions, groups, topics) with this failure; each kind of offset of a partition is "
        "one (ListOffsets). Null in rows of version 0.1.0.",
        null_if="false",
    )
