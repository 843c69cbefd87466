"""Maps the columns of a query of the data source to those of the decoder.

A column is one of the connector's, with its name and type, or one of table `records`.
"""

import difflib
from collections.abc import Iterable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_lagoon.errors import ConfigError

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

# The columns of Spark's connector, in its order.
_CONNECTOR: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
# Further columns of table `records`; a test compares the two.
_RECORDS: dict[str, DataType] = {
    "topic_id": StringType(),
    "timestamp_ms": LongType(),
    "timestamp_type": IntegerType(),
    "leader_epoch": IntegerType(),
    "producer_id": LongType(),
    "producer_epoch": IntegerType(),
    "is_transactional": BooleanType(),
    "is_aborted": BooleanType(),
}
COLUMNS: dict[str, DataType] = {**_CONNECTOR, "headers": _HEADERS, **_RECORDS}
_DECODED_AS = {"timestampType": "timestamp_type"}
OF_THE_SPLIT = frozenset({"topic", "topic_id", "partition"})  # the same in all rows of a split


def default_schema(*, with_headers: bool) -> StructType:
    """The connector's columns, in its order."""
    columns = {**_CONNECTOR, "headers": _HEADERS} if with_headers else _CONNECTOR
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def require_known(schema: StructType) -> None:
    """ConfigError for columns that no record has, or that have another type, and for no column."""
    # An Arrow batch without columns has no rows: a count would be 0.
    problems = [] if schema.fields else [f"there are no columns: name one of {', '.join(COLUMNS)}"]
    for field in schema.fields:
        known = COLUMNS.get(field.name)
        if known is None:
            close = difflib.get_close_matches(field.name, COLUMNS, n=1)
            hint = f" (did you mean {close[0]}?)" if close else f"; there are {', '.join(COLUMNS)}"
            problems.append(f"column {field.name}: records have no such column{hint}")
        elif field.dataType.simpleString() != known.simpleString():
            requested = field.dataType.simpleString()
            problems.append(f"column {field.name}: it is {known.simpleString()}, not {requested}: cast it in the query")
        elif not (field.nullable and _has_only_nullable_parts(field.dataType)):
            problems.append(f"column {field.name}: leave out NOT NULL: Spark would believe it unchecked")
    if problems:
        raise ConfigError(problems)


def _has_only_nullable_parts(kind: DataType) -> bool:
    match kind:
        case ArrayType():
            return kind.containsNull and _has_only_nullable_parts(kind.elementType)
        case StructType():
            return all(field.nullable and _has_only_nullable_parts(field.dataType) for field in kind.fields)
        case _:
            return True


def decoded(names: Iterable[str]) -> frozenset[str]:
    """The decoder's columns for these columns; if there are none, the headers of batches tell the number of rows."""
    return frozenset(map(decoded_as, set(names) - OF_THE_SPLIT))


def decoded_as(name: str) -> str:
    """The decoder's name of a column."""
    return _DECODED_AS.get(name, name)
