"""Provides the types and decorators that declare rows of tables: type, nullability and meaning of each column.

Columns are declared only here. An unknown value is None, never 0 or -1, so no field has a default.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, dataclass_transform

from kafka_lagoon.frozen import slotted

Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
Binary = Annotated[bytes, "binary"]
Timestamp = Annotated[int, "timestamp"]  # milliseconds since 1970 in UTC; the field `x_ms` is the column `x`

T = TypeVar("T")


ALWAYS = "true"  # for `null_if`: null is Kafka's own value


def column(comment: str, null_if: str | None = None) -> Any:
    """Declare the meaning and unit of a column, and the condition under which it is null.

    If a value could not be read, column `problem` of the row has the reason. If null is an ordinary value, `null_if` is the
    condition, in SQL over the row and the other tables of its snapshot (see `before`), or ALWAYS. tests/nulls.py checks the
    rows of tests against it.
    """
    return dataclasses.field(metadata={"comment": comment, "null_if": null_if})


def before(api: str, api_version: int) -> str:
    """Make the `null_if` of a column that an API returns since a version: true if a request had an older version."""
    oldest = f"SELECT min(coverage.api_version) FROM coverage WHERE coverage.api = '{api}'"  # noqa: S608  no user's input
    return f"coalesce(({oldest}) < {api_version}, true)"


@dataclass_transform(frozen_default=True, field_specifiers=(column,))
def row(cls: type[T]) -> type[T]:
    """Make a row class: slotted, compared by value, every field required.

    It is frozen for type checkers, not at run time: making a frozen lag row takes 4.0 us, this one 1.4 us by keyword and
    0.35 us by position, and a snapshot makes tens of thousands.
    """
    return slotted(cls)


def known(number: int) -> int | None:
    """The number, or None for Kafka's -1, which means "none" or "unknown"."""
    return number if number >= 0 else None


def named(names: Mapping[int, str], number: int) -> str:
    """Return the name of one of Kafka's numbers, or UNKNOWN_n if it is not known here."""
    return names.get(number, f"UNKNOWN_{number}")
