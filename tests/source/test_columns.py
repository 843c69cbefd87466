"""The columns of the data source are those of Spark's connector and of table records."""

import pytest
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.source.columns import COLUMNS, decoded, default_schema, require_known
from kafka_lagoon.tables.record_tables import RECORDS

NOT_KAFKA_S = {"cluster", "cluster_id", "ingest_id", "ingest_date"}


def test_columns_of_table_records_have_its_types():
    """All columns of table records that an ingest does not add are there, with the same names and types."""
    table = {column.name: from_arrow_type(column.type).simpleString() for column in RECORDS.columns}
    wanted = {name: kind for name, kind in table.items() if name not in NOT_KAFKA_S}
    assert {name: COLUMNS[name].simpleString() for name in wanted} == wanted
    assert COLUMNS.keys() - wanted.keys() == {"timestampType"}


def test_default_is_the_connectors_schema():
    """The schema has the connector's seven columns in its order, and headers after them if they are requested."""
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert default_schema(with_headers=False).names == names
    with_headers = default_schema(with_headers=True)
    assert with_headers.names == [*names, "headers"]
    header = StructType().add("key", StringType()).add("value", BinaryType())
    assert with_headers["headers"].dataType == ArrayType(header)
    assert all(field.nullable for field in to_arrow_schema(with_headers, timezone="UTC"))


def test_only_what_is_asked_for_is_decoded():
    """Columns that are constant in a partition are not decoded; batch headers have the number of rows."""
    assert decoded(["offset", "value", "topic"]) == {"offset", "value"}
    assert decoded(["timestampType"]) == {"timestamp_type"}
    assert decoded(["topic", "partition", "topic_id"]) == set()


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("valu", BinaryType(), "column valu: records have no such column (did you mean value?)"),
        ("xyz", LongType(), "column xyz: records have no such column; there are key, value, topic,"),
        ("key", StringType(), "column key: it is binary, not string: cast it in the query"),
        ("offset", IntegerType(), "column offset: it is bigint, not int: cast it in the query"),
        (
            "headers",
            ArrayType(StringType()),
            "column headers: it is array<struct<key:string,value:binary>>, not array<",
        ),
    ],
)
def test_a_column_that_is_none_is_refused(name: str, kind: DataType, line: str):
    """One line names the column and the columns that there are."""
    with pytest.raises(ConfigError) as refused:
        require_known(StructType().add("offset", LongType()).add(name, kind))
    assert len(refused.value.problems) == 1
    assert refused.value.problems[0].startswith(line)


def test_not_null_is_refused():
    """Spark does not check columns that are declared NOT NULL, and would read a null key as garbage."""
    with pytest.raises(ConfigError, match="column key: leave out NOT NULL"):
        require_known(StructType().add("key", BinaryType(), nullable=False))


@pytest.mark.parametrize(
    ("contains_null", "key_may_be_null", "value_may_be_null"),
    [(False, True, True), (True, False, True), (True, True, False)],
)
def test_not_null_within_headers_is_refused(contains_null: bool, key_may_be_null: bool, value_may_be_null: bool):
    """A header may have no value: NOT NULL in the struct is as unchecked as that of a column."""
    header = StructType(
        [StructField("key", StringType(), key_may_be_null), StructField("value", BinaryType(), value_may_be_null)]
    )
    with pytest.raises(ConfigError, match="column headers: leave out NOT NULL"):
        require_known(StructType().add("headers", ArrayType(header, contains_null)))
    require_known(default_schema(with_headers=True))


def test_no_column_is_refused():
    """An Arrow batch without columns has no rows, so that a count would be 0."""
    with pytest.raises(ConfigError, match="there are no columns: name one of key, value,"):
        require_known(StructType())
