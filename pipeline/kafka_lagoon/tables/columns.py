"""Derives columns from row classes: names, nullability, comments, and types for Arrow, Delta and SQL."""

import dataclasses
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables import row_classes as kinds

TIMESTAMP = pa.timestamp("us", tz="UTC")

_SCALARS: dict[Any, pa.DataType] = {
    kinds.Int32: pa.int32(),
    kinds.Int64: pa.int64(),
    kinds.Timestamp: TIMESTAMP,
    kinds.Binary: pa.binary(),
    bool: pa.bool_(),
    float: pa.float64(),
    str: pa.string(),
}
_DELTA = {
    pa.int32(): "integer",
    pa.int64(): "long",
    TIMESTAMP: "timestamp",
    pa.date32(): "date",
    pa.bool_(): "boolean",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
}
_SQL = {"integer": "INT", "long": "BIGINT"}


@frozen
class Column:
    """A column of a table; `field` is the attribute of the row class with its values."""

    name: str
    field: str
    type: pa.DataType
    nullable: bool
    comment: str

    def sql_type(self) -> str:
        """The column's type in SQL."""
        return sql_type(self.type)

    def ddl(self) -> str:
        """The column's definition for CREATE TABLE and ALTER TABLE ADD COLUMNS."""
        return f"{self.name} {self.sql_type()}{'' if self.nullable else ' NOT NULL'} COMMENT {quoted(self.comment)}"


def columns_of(row: type) -> Iterator[Column]:
    """Derive the columns of a row class, in its order."""
    hints = get_type_hints(row, include_extras=True)
    for field in dataclasses.fields(row):
        hint, nullable = _without_none(hints[field.name])
        name = field.name.removesuffix("_ms") if hint == kinds.Timestamp else field.name
        yield Column(
            name=name,
            field=field.name,
            type=_arrow_type(hint),
            nullable=nullable,
            comment=field.metadata["comment"],
        )


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in {Union, UnionType}:
        return hint, False
    (inner,) = (choice for choice in get_args(hint) if choice is not NoneType)
    return inner, True


def _arrow_type(hint: Any) -> pa.DataType:
    if get_origin(hint) is tuple:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        # Delta refuses NOT NULL below an array, so every field of a nested struct is nullable there.
        return pa.struct([arrow_field(column).with_nullable(True) for column in columns_of(hint)])
    return _SCALARS[hint]


def arrow_field(column: Column) -> pa.Field:
    """The column's field in Arrow schemas."""
    return pa.field(
        column.name,
        column.type,
        nullable=column.nullable,
        metadata={"comment": column.comment},
    )


def delta_type(kind: pa.DataType) -> Any:
    """The type as Delta's log spells it."""
    if pa.types.is_list(kind):
        return {
            "type": "array",
            "elementType": delta_type(kind.value_type),
            "containsNull": True,
        }
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_delta_field(field) for field in kind]}
    return _DELTA[kind]


def _delta_field(field: pa.Field) -> dict[str, Any]:
    comment = field.metadata[b"comment"].decode()
    return {
        "name": field.name,
        "type": delta_type(field.type),
        "nullable": field.nullable,
        "metadata": {"comment": comment},
    }


def sql_type(kind: pa.DataType) -> str:
    """The type in SQL, with the comments of nested fields."""
    if pa.types.is_list(kind):
        return f"ARRAY<{sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(_sql_field(field) for field in kind)}>"
    return _SQL.get(_DELTA[kind], _DELTA[kind].upper())


def _sql_field(field: pa.Field) -> str:
    return f"{field.name}: {sql_type(field.type)} COMMENT {quoted(field.metadata[b'comment'].decode())}"


def quoted(text: str) -> str:
    """The text as a SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
