"""Rows are equal after they were written to Parquet and read."""

import dataclasses
import io
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.delta.arrow import (
    arrow_blocks,
    arrow_table,
    read_table,
    rows_with,
    snapshot_date,
    table_of,
    write_parquet,
)
from kafka_lagoon.delta.files import parquet_bytes
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables import cluster_rows, group_rows, security_rows
from kafka_lagoon.tables.columns import TIMESTAMP, Column
from kafka_lagoon.tables.schema import HEADER, STATE_TABLES
from tests.delta.awkward import struct_class
from tests.delta.samples import HOSTILE, NOON_MS, row, snapshot
from tests.effort import examples

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADER_OF_ONE = snapshot(1).header
BY_NAME = {table.name: table for table in STATE_TABLES}


def values_of(column: Column) -> st.SearchStrategy[Any]:
    """Make all values that a field may have, and some that no table can store."""
    if column.nullable:
        return st.none() | values_of(dataclasses.replace(column, nullable=False))
    if column.type == TIMESTAMP:
        return st.integers(-62_135_596_800_000, 253_402_300_799_999)
    return of_type(column.type)


def of_type(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Make values of an Arrow type, as the rows hold them."""
    if pa.types.is_list(kind):
        return st.lists(of_type(kind.value_type), max_size=3).map(tuple)
    if pa.types.is_struct(kind):
        return st.builds(struct_class(kind), **{field.name: st.none() | of_type(field.type) for field in kind})
    if pa.types.is_integer(kind):
        return st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    return {
        pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.just(HOSTILE),
        pa.bool_(): st.booleans(),
        pa.float64(): st.floats(allow_nan=False),
    }[kind]


def as_read(value: Any) -> Any:
    """Return a row's value as Arrow reads it."""
    if dataclasses.is_dataclass(value):
        return {field.name: as_read(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return list(map(as_read, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("table", STATE_TABLES, ids=lambda table: table.name)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_rows_come_back_from_parquet(table: Any, data: st.DataObject) -> None:
    """Rows are read back from the file as they were, times to the millisecond."""
    own = [column for column in table.columns[len(HEADER) :] if column.name != "snapshot_date"]
    made = data.draw(st.lists(st.builds(table.row, **{c.field: values_of(c) for c in own}), min_size=1, max_size=3))
    back = pq.read_table(pa.BufferReader(parquet_bytes(arrow_table(table, HEADER_OF_ONE, made))))
    for column in own:
        stored = back[column.name].to_pylist()
        wanted = [as_read(getattr(one, column.field)) for one in made]
        if column.type == TIMESTAMP:
            stored = [at and (at - EPOCH) // (datetime.resolution * 1000) for at in stored]
        assert stored == wanted


def test_header_is_stamped_on_every_row() -> None:
    """Each row has snapshot_id, cluster, cluster_id and captured_at; empty tables have these columns, too."""
    topics = [row(cluster_rows.TopicRow, topic=name) for name in ("a", "b")]
    made = arrow_table(BY_NAME["topics"], HEADER_OF_ONE, topics)
    assert made["snapshot_id"].to_pylist() == [HEADER_OF_ONE.snapshot_id] * 2
    assert made["captured_at"].to_pylist()[1] == datetime(2025, 11, 21, 13, 0, 0, 123_000, UTC)
    assert arrow_table(BY_NAME["topics"], HEADER_OF_ONE, []).num_rows == 0


@pytest.mark.parametrize("timestamp_ms", [2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001])
def test_times_that_no_table_can_hold_are_null(timestamp_ms: int) -> None:
    """Producers may set any timestamp; outside the years 1 to 9999 it is null, and no other value is lost."""
    offsets = row(cluster_rows.PartitionOffsetsRow, topic="a", max_timestamp=timestamp_ms, max_timestamp_offset=7)
    made = arrow_table(BY_NAME["partition_offsets"], HEADER_OF_ONE, [offsets]).to_pylist()[0]
    assert (made["max_timestamp"], made["max_timestamp_offset"]) == (None, 7)


@pytest.mark.parametrize("at_ms", [2**63 - 1, 253_402_300_800_000, 1_000 - 2**63])
def test_a_token_without_an_end_can_be_written(at_ms: int) -> None:
    """With the largest delegation.token.max.lifetime.ms the end of a token's life is the largest int64, or overflows."""
    times = ("issued_at", "expires_at", "max_lifetime_at")
    token = row(security_rows.DelegationTokenRow, renewers=(), **{f"{name}_ms": at_ms for name in times})
    parquet = io.BytesIO()
    write_parquet(parquet, arrow_blocks(BY_NAME["delegation_tokens"], HEADER_OF_ONE, [token]))
    assert table_of(parquet.getvalue(), [*times]).to_pylist() == [dict.fromkeys(times)]


def test_bytes_that_are_not_utf8_are_spelled_out() -> None:
    """Names of arbitrary bytes become text that every reader can read, also in lists and structs."""
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    owned = (group_rows.TopicPartitions(topic=name, topic_id=None, partitions=(1,)),)
    member = row(group_rows.GroupMemberRow, group_id=name, subscribed_topics=(name, "é"), assignment=owned)
    made = arrow_table(BY_NAME["group_members"], HEADER_OF_ONE, [member]).to_pylist()[0]
    assert made["group_id"] == r"caf\xe9"
    assert made["subscribed_topics"] == [r"caf\xe9", "é"]
    assert made["assignment"][0]["topic"] == r"caf\xe9"


def test_the_day_is_utc() -> None:
    """Rows belong to the UTC day of the run's start."""
    header = dataclasses.replace(HEADER_OF_ONE, captured_at_ms=NOON_MS + 12 * 3_600_000 - 124)
    assert snapshot_date(header).isoformat() == "2025-11-21"
    assert (
        snapshot_date(dataclasses.replace(header, captured_at_ms=header.captured_at_ms + 1)).isoformat() == "2025-11-22"
    )


@pytest.mark.parametrize("is_dictionary_first", [True, False])
def test_pieces_may_differ_in_their_dictionaries(is_dictionary_first: bool) -> None:
    """A file accepts rows that are kept in columns after row objects, and the reverse: groups of all types."""
    schema = pa.schema([pa.field("name", pa.string()), pa.field("number", pa.int32())])
    plain = pa.table([["a", None], [1, 2]], schema=schema)
    encoded = pa.table(
        [pa.array(["b", "b", None]).dictionary_encode(), pa.array([3, 4, 5], pa.int32())], names=["name", "number"]
    )
    pieces = [encoded, plain] if is_dictionary_first else [plain, encoded]
    file = io.BytesIO()
    statistics = write_parquet(file, pieces)
    wanted = [one for piece in pieces for one in piece.to_pylist()]
    assert pq.read_table(file).to_pylist() == wanted
    assert statistics.rows == 5


def in_two_pieces(rows: pa.Table) -> bytes:
    """A Parquet file with two row groups."""
    file = io.BytesIO()
    write_parquet(file, [rows[:1], rows[1:]])
    return file.getvalue()


@pytest.mark.parametrize("write", [parquet_bytes, in_two_pieces])
def test_filters_find_numbers_beside_nan(tmp_path: Path, write: Callable[[pa.Table], bytes]) -> None:
    """In DuckDB and Spark NaN is greater than every number: no row group is skipped for the numbers beside it."""
    (tmp_path / "it.parquet").write_bytes(write(pa.table({"value": [0.5, 0.0, math.nan, -1.0]})))
    file = duckdb.read_parquet(str(tmp_path / "it.parquet"))
    counts = [len(file.filter(f"value {condition}")) for condition in ("> 0.5", "= 'NaN'", "<= 0.5", ">= -1")]
    assert counts == [1, 1, 3, 4]


def test_times_as_spark_may_write_them() -> None:
    """INT96 has no time zone, and nanoseconds would end in 2262: the times are the same instants, in UTC."""
    times = [datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 11, 21, 12, 0, 0, 5000, tzinfo=UTC), None]
    rows = pa.table({"id": [1, 2, 3], "checked_at": pa.array(times, TIMESTAMP)})
    for is_int96 in (False, True):
        sink = io.BytesIO()
        pq.write_table(rows, sink, use_deprecated_int96_timestamps=is_int96)
        read = table_of(sink.getvalue())
        assert read.schema.types == rows.schema.types
        assert read["checked_at"].to_pylist() == times
        assert table_of(sink.getvalue(), ["id"]).column_names == ["id"]


def test_text_as_deltalake_stores_it(tmp_path: Path) -> None:
    """After a DELETE by deltalake Arrow reads text and bytes as views, in lists too; they become the types of our files."""
    kind = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
    columns = {
        "topic": pa.array(["a", None, "b"]),
        "value": pa.array([b"1", None, b"2"]),
        "headers": pa.array([[{"key": "k", "value": b"v"}, {"key": "", "value": None}], None, []], kind),
        "checked_at": pa.array([datetime(9999, 12, 31, tzinfo=UTC), None, EPOCH], TIMESTAMP),
    }
    rows = pa.table(columns)
    write_deltalake(tmp_path, rows)
    DeltaTable(tmp_path).delete("topic = 'b'")
    (uri,) = DeltaTable(tmp_path).file_uris()
    file = Path(uri).read_bytes()
    assert pa.types.is_string_view(pq.read_schema(pa.BufferReader(file)).field("topic").type)
    read = table_of(file)
    assert read.schema.types == rows.schema.types
    assert read.to_pylist() == rows.slice(0, 2).to_pylist()
    assert pc.equal(read["topic"], "a").to_pylist() == [True, None]
    assert pa.concat_tables([read, rows]).num_rows == 5


@pytest.mark.parametrize("kept", [0, 4, 40, -1])
def test_a_damaged_file_is_named(tmp_path: Path, kept: int) -> None:
    """A table has a file for each snapshot, and the error of Parquet does not say which of them it is about."""
    whole = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b"]}), whole, compression="snappy")
    content = whole.getvalue()
    damaged = bytearray(content[:kept])
    if kept < 0:
        damaged = bytearray(content)
        damaged[4:40] = b"x" * 36  # the data, and not the footer
    path = tmp_path / "one.parquet"
    path.write_bytes(damaged)
    storage = Storage(jvm=None, conf=None)
    with pytest.raises(TableError, match=rf"^file:{path} cannot be read: "):
        read_table(storage, f"file:{path}")
    path.write_bytes(content)
    assert read_table(storage, f"file:{path}", ["id"])["id"].to_pylist() == ["a", "b"]


def test_rows_with_a_value_are_counted_in_all_row_groups() -> None:
    """Also where a group has none, or only nulls."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b", "b", "c", None, None, "b"]}), sink, row_group_size=2)
    assert [rows_with(sink.getvalue(), "id", value) for value in ("a", "b", "z")] == [1, 3, 0]
