"""Row classes become columns, Arrow schemas, Delta's JSON and DDL."""

import pyarrow as pa
import pytest

from kafka_lagoon.snapshot.collectors import COLLECTORS
from kafka_lagoon.tables import record_rows as records
from kafka_lagoon.tables.columns import TIMESTAMP
from kafka_lagoon.tables.record_tables import INGEST_DATE, RECORD_TABLES
from kafka_lagoon.tables.schema import HEADER, SNAPSHOT_DATE, STATE_TABLES, STORED_TABLES, TABLES, WRITE_DATE
from kafka_lagoon.tables.snapshot_rows import SnapshotRow
from kafka_lagoon.tables.table import Table

BY_NAME = {table.name: table for table in TABLES}


def test_every_row_class_has_its_table() -> None:
    """Tables and collectors are the same in the same order; `snapshots` is published last."""
    assert [table.row for table in STATE_TABLES] == [collector.row for collector in COLLECTORS]
    assert STATE_TABLES[-1].row is SnapshotRow
    assert {table.row for table in RECORD_TABLES} == {
        records.RecordRow,
        records.RecordRangeRow,
        records.RecordProblemRow,
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_and_columns_are_explained(table: Table) -> None:
    """Every table and column has a comment that is a sentence, on one line."""
    for comment in (table.comment, *(column.comment for column in table.columns)):
        assert comment.strip().endswith(".")
        assert "\n" not in comment


def test_times_of_brokers_may_be_null() -> None:
    """Arrow makes null of a time outside the years 1 to 9999, and writes no null that a column forbids."""
    never_null = {
        (table.name, column.name)
        for table in STATE_TABLES
        for column in table.columns[len(HEADER) :]
        if column.type == TIMESTAMP and not column.nullable
    }
    assert never_null == {("snapshots", name) for name in ("slot", "started_at", "finished_at")}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_come_between_header_and_partition(table: Table) -> None:
    """State tables begin with the common columns; each table ends with its partition column; no name occurs twice."""
    names = [column.name for column in table.columns]
    if table in STATE_TABLES:
        assert table.columns[: len(HEADER)] == HEADER
        assert [column.name for column in HEADER] == ["snapshot_id", "cluster", "cluster_id", "captured_at"]
    of_snapshots = (*STATE_TABLES, *STORED_TABLES)
    day = SNAPSHOT_DATE if table in of_snapshots else INGEST_DATE if table in RECORD_TABLES else WRITE_DATE
    assert names[-1] == table.partition_by == day
    assert len(set(names)) == len(names)
    assert table.file_schema().names == names[:-1]


@pytest.mark.parametrize(
    ("table", "column", "kind", "nullable"),
    [
        ("brokers", "broker_id", pa.int32(), False),
        ("consumer_lag", "lag", pa.int64(), True),
        ("consumer_lag", "time_lag_ms", pa.int64(), True),
        ("committed_offsets", "read_at", TIMESTAMP, True),
        ("snapshots", "slot", TIMESTAMP, False),
        ("snapshots", "completeness", pa.float64(), True),
        ("partitions", "isr", pa.list_(pa.int32()), True),
        ("group_members", "subscribed_topics", pa.list_(pa.string()), True),
        ("brokers", "is_fenced", pa.bool_(), True),
        ("records", "timestamp", TIMESTAMP, True),
        ("records", "timestamp_ms", pa.int64(), False),
        ("records", "value", pa.binary(), True),
    ],
)
def test_annotations_become_types(table: str, column: str, kind: pa.DataType, nullable: bool) -> None:
    """A field's annotation decides type and nullability; `_ms` is dropped from the names of timestamps, not of durations."""
    field = BY_NAME[table].file_schema().field(column)
    assert (field.type, field.nullable) == (kind, nullable)


def test_assignments_are_structs() -> None:
    """The assignment of a member is one value: topics with their ids and partitions."""
    (column,) = (column for column in BY_NAME["group_members"].columns if column.name == "assignment")
    assert column.type.value_type.names == ["topic", "topic_id", "partitions"]
    assert "ARRAY<STRUCT<topic: STRING COMMENT 'Name" in column.ddl()


def test_headers_keep_order_and_null() -> None:
    """Headers of a record are a list of pairs, which keeps order, duplicates and null values."""
    headers = BY_NAME["records"].file_schema().field("headers")
    assert not headers.nullable
    assert [(field.name, field.type) for field in headers.type.value_type] == [
        ("key", pa.string()),
        ("value", pa.binary()),
    ]


def test_positions_can_be_stored_beside_records() -> None:
    """The DDL of tables whose commits have positions names the feature of domain metadata; that of other tables does not."""
    asking = [table.name for table in TABLES if "'delta.feature.domainMetadata' = 'supported'" in table.ddl("t")]
    assert asking == ["records", "restore_map"]


# Tables of version 0.1.0, with their columns that may not be null; state tables have those of HEADER and their day, too.
REQUIRED_IN_0_1_0 = {
    "brokers": "broker_id",
    "topics": "topic",
    "partitions": "topic partition",
    "partition_offsets": "topic partition",
    "consumer_groups": "group_id",
    "group_members": "group_id member_id",
    "committed_offsets": "group_id topic partition",
    "consumer_lag": "group_id topic partition lag_basis",
    "coverage": "api expected answered failed requests bytes elapsed_ms throttle_ms",
    "collection_failures": "api scope error_name attempts",
    "snapshots": "slot started_at finished_at status software_version brokers topics partitions groups failures requests "
    "bytes_in bytes_out throttle_ms",
    "records": "cluster_id topic partition offset timestamp_ms timestamp_type headers is_transactional ingest_id",
    "record_ranges": "ingest_id cluster_id topic partition from_offset to_offset records control aborted compacted lost "
    "corrupt bytes_fetched bytes_decoded files planned_at",
    "record_problems": "ingest_id cluster_id topic partition base_offset last_offset reason",
}


def test_a_warehouse_of_0_1_0_has_what_is_required() -> None:
    """A later table says so by `added_in`, and a later column of these tables may be null: an older warehouse has neither."""
    required = {
        table.name: [column.name for column in table.columns[:-1] if column not in HEADER and not column.nullable]
        for table in TABLES
        if not table.is_optional
    }
    assert required == {name: columns.split() for name, columns in REQUIRED_IN_0_1_0.items()}


def test_tables_of_0_1_0_go_on() -> None:
    """The columns of 0.1.0 are unchanged, and later columns are nullable, so that tables with rows can get them.

    `scope` is still a text for people, so that queries over failures of old and new snapshots keep running.
    """
    of_0_1_0 = {
        "coverage": "api api_version broker_id expected answered failed visibility requests bytes elapsed_ms throttle_ms",
        "collection_failures": "api broker_id scope error_code error_name attempts elapsed_ms message",
    }
    for name, columns in of_0_1_0.items():
        own = BY_NAME[name].stored()[len(HEADER) :]
        old = columns.split()
        assert [column.name for column in own[: len(old)]] == old
        assert all(column.nullable for column in own[len(old) :])
    scope = BY_NAME["collection_failures"].file_schema().field("scope")
    assert (scope.type, scope.nullable) == (pa.string(), False)
