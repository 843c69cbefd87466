"""What Delta's log says of a data file: plain values in, the log's JSON out.

Guards one rule: files are described where they are written, on executors too, so nothing here needs a JVM. Readers skip a
file by its statistics, so a bound may be wider than the values, never narrower.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

Value = str | int | bool | datetime
_COMPACT = (",", ":")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Rows of a file, and of some columns the least and the greatest value and the number of nulls."""

    rows: int
    least: Mapping[str, Value]
    greatest: Mapping[str, Value]
    nulls: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file to be added to a table: below the table's folder, complete and closed."""

    url: str
    size: int
    modified_at_ms: int
    statistics: Statistics


def statistics_of_constants(rows: int, constants: Mapping[str, Value]) -> Statistics:
    """Statistics of a file in which these columns have one value throughout."""
    return Statistics(rows=rows, least=constants, greatest=constants, nulls=dict.fromkeys(constants, 0))


def add_action(file: DataFile, path: str, partition: tuple[str, date]) -> str:
    """The log's line for a new file; `path` as seen from the table's folder."""
    column, day = partition
    add = {
        "path": path,
        "partitionValues": {column: day.isoformat()},
        "size": file.size,
        "modificationTime": file.modified_at_ms,
        "dataChange": True,
        "stats": json.dumps(_statistics(file.statistics), separators=_COMPACT),
    }
    return json.dumps({"add": add}, separators=_COMPACT)


def _statistics(statistics: Statistics) -> dict[str, Any]:
    return {
        "numRecords": statistics.rows,
        "minValues": {name: _in_log(value) for name, value in statistics.least.items()},
        "maxValues": {name: _in_log(value) for name, value in statistics.greatest.items()},
        "nullCount": dict(statistics.nulls),
    }


def _in_log(value: Value) -> Any:
    """As Delta's log has it: times in milliseconds, cut off, which its readers allow for in a greatest value."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
