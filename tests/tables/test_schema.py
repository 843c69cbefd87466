"""Row classes become columns, Arrow schemas, Delta's JSON and DDL."""

from importlib.resources import files
from typing import get_args

import pyarrow as pa
import pytest

from pipeline.snapshot import rows
from pipeline.tables.schema import PARTITION_BY, TABLES, TIMESTAMP, Table, schema_sql

BY_NAME = {table.name: table for table in TABLES}


def test_the_committed_ddl_is_the_ddl() -> None:
    """schema.sql says what the row classes say; `python -m pipeline.tables.schema` writes it anew."""
    assert (files("pipeline.tables") / "schema.sql").read_text("utf-8") == schema_sql()


def test_every_row_class_has_its_table() -> None:
    """No row class is forgotten, and `snapshots` is published last."""
    assert {table.row for table in TABLES} == set(get_args(rows.Row))
    assert TABLES[-1].row is rows.SnapshotRow


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_and_columns_are_explained(table: Table) -> None:
    """Every table and column has a comment that is a sentence, on one line."""
    for comment in (table.comment, *(column.comment for column in table.columns)):
        assert comment.strip().endswith(".")
        assert "\n" not in comment


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_come_between_header_and_partition(table: Table) -> None:
    """Each table begins with the common columns and ends with the one it is partitioned by; no name occurs twice."""
    names = [column.name for column in table.columns]
    assert names[:4] == ["snapshot_id", "cluster", "cluster_id", "captured_at"]
    assert names[-1] == PARTITION_BY
    assert len(set(names)) == len(names)
    assert PARTITION_BY not in table.file_schema().names


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
    ],
)
def test_annotations_become_types(table: str, column: str, kind: pa.DataType, nullable: bool) -> None:
    """A field's annotation decides type and nullability; a timestamp's column drops `_ms`, a duration's keeps it."""
    field = BY_NAME[table].file_schema().field(column)
    assert (field.type, field.nullable) == (kind, nullable)


def test_assignments_are_structs() -> None:
    """What a member is assigned stays one value: topics with their ids and partitions."""
    (column,) = (column for column in BY_NAME["group_members"].columns if column.name == "assignment")
    assert column.type.value_type.names == ["topic", "topic_id", "partitions"]
    assert "ARRAY<STRUCT<topic: STRING COMMENT 'Name" in column.ddl()
