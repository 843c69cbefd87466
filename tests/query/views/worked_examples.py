"""Reads worked examples of views: small text tables with the rows of snapshots, and the expected rows of a view.

An example begins with `== name`, which is also the name of its cluster. Its tables begin with a line of names (the table or
view, then columns) and end with an empty line; the first cell of each row is the number of its snapshot:

    snapshots | captured_at | published
    1         | 10:00       |
    2         | 10:10       | no

Table `snapshots` comes first. `captured_at` is a time of 20 November 2026, or has a day of that month before it: `21 10:00`. A
column `cluster_id` is needed only where another cluster had the name. A snapshot that is not published only has rows in the other
tables. A view without snapshot_id has `.` for the number. An empty cell means that no value is given (null, or else empty, 0 or
false), `-` is null, `''` is empty text; lists are JSON, assignments also `topic:0,1`.
Lines that begin with `#` say what the numbers show.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from kafka_lagoon.tables.schema import HEADER, SNAPSHOT_DATE, STATE_TABLES, STORED_TABLES
from kafka_lagoon.tables.table import Table
from tests.delta.lake import make_lake

FOLDER = Path(__file__).parent / "examples"
TABLES = {table.name: table for table in STATE_TABLES}
_MISSING = {"string": "", "bool": False}

# The list of topics is filtered between two complete ones, and two topics come and go meanwhile.
FILTERED_FOR_DAYS = """== filtered
snapshots | captured_at | topics | status
1 | 03 09:30 | 2 | complete
2 | 03 10:30 | 1 | complete
3 | 21 08:30 | 1 | complete
4 | 21 09:30 | 2 | complete

coverage | api | requests | visibility
1 | Metadata | 1 | complete
2 | Metadata | 1 | filtered
3 | Metadata | 1 | filtered
4 | Metadata | 1 | complete

topics | topic | topic_id | partitions
1 | a | A | 1
1 | gone | G | 1
2 | a | A | 1
3 | a | A | 1
4 | a | A | 1
4 | new | N | 1
"""


@dataclass(slots=True)
class Expected:
    """The expected rows of some of a view's columns, as text. A wide view may have several tables."""

    view: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class Example:
    """The snapshots of one cluster, and the expected rows of views over them."""

    name: str
    captured_at: dict[str, datetime] = field(default_factory=dict)  # by number of the snapshot
    cluster_ids: dict[str, str | None] = field(default_factory=dict)  # by number of the snapshot
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by table
    expected: list[Expected] = field(default_factory=list)

    def snapshot_id(self, number: str) -> str:
        """Return an id that says nothing about the order of snapshots: views order them by captured_at."""
        return f"{9 - int(number) % 10}-{self.name}-{number}"

    def numbers(self) -> dict[str, str]:
        """Return the number of each snapshot by its id."""
        return {self.snapshot_id(number): number for number in self.captured_at}


def read_examples(file: Path) -> list[Example]:
    """Read all examples of a file."""
    examples: list[Example] = []
    for block in file.read_text("utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if lines and lines[0].startswith("== "):
            examples.append(Example(name=lines.pop(0).removeprefix("== ").strip()))
        if lines:
            _add(examples[-1], [[cell.strip() for cell in line.split("|")] for line in lines])
    return examples


def _add(example: Example, lines: list[list[str]]) -> None:
    (name, *columns), *rows = lines
    assert all(len(row) == len(lines[0]) for row in rows), f"{example.name}: {name}: cells are missing: {rows}"
    if name not in TABLES:
        example.expected.append(Expected(name, columns, rows))
        return
    for number, *cells in rows:
        given = dict(zip(columns, cells, strict=True))
        if name == "snapshots":
            example.captured_at[number] = _time(given["captured_at"])
            example.cluster_ids[number] = value_of(given.pop("cluster_id", f"id of {example.name}"), pa.string())
            if given.pop("published", "") == "no":
                continue
        example.rows.setdefault(name, []).append(_row(TABLES[name], example, number, given))


def _row(table: Table, example: Example, number: str, given: dict[str, str]) -> dict[str, Any]:
    captured_at = example.captured_at[number]
    row = {
        "snapshot_id": example.snapshot_id(number),
        "cluster": example.name,
        "cluster_id": example.cluster_ids[number],
        "captured_at": captured_at,
        SNAPSHOT_DATE: captured_at.date(),
    }
    for column in table.columns[len(HEADER) : -1]:
        cell = given.pop(column.name, "")
        row[column.name] = (
            value_of(cell, column.type) if cell else _not_given(column.type, column.nullable, captured_at)
        )
    assert given.keys() <= {"captured_at"}, f"{example.name}: {table.name} has no {given}"
    return row


def _not_given(kind: pa.DataType, nullable: bool, captured_at: datetime) -> Any:
    if nullable:
        return None
    return captured_at if pa.types.is_timestamp(kind) else _MISSING.get(str(kind), [] if pa.types.is_list(kind) else 0)


def value_of(cell: str, kind: pa.DataType) -> Any:
    """Return the value of a cell in a column of this type."""
    if cell == "-":
        return None
    if pa.types.is_timestamp(kind):
        return _time(cell)
    if pa.types.is_list(kind):
        return _list(cell)
    if pa.types.is_date(kind):
        return date.fromisoformat(cell)
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}[cell]
    if pa.types.is_integer(kind):
        return int(cell)
    return "" if cell == "''" else float(cell) if pa.types.is_floating(kind) else cell


def _list(cell: str) -> Any:
    if cell.startswith("["):
        return json.loads(cell)
    assigned = (part.rpartition(":") for part in cell.split())
    return [
        {"topic": topic, "topic_id": None, "partitions": [int(number) for number in numbers.split(",")]}
        for topic, _, numbers in assigned
    ]


def _time(cell: str) -> datetime:
    day, _, time = cell.rpartition(" ")
    text = time if time.count(":") > 1 else f"{time}:00"
    return datetime.fromisoformat(f"2026-11-{day or '20'}T{text}").replace(tzinfo=UTC)


def tables_of(examples: Sequence[Example]) -> Iterator[tuple[str, pa.Table]]:
    """Return every state table with the rows of all examples, and stored days without any."""
    for table in (*STATE_TABLES, *STORED_TABLES):
        rows = [row for example in examples for row in example.rows.get(table.name, ())]
        yield table.name, pa.Table.from_pylist(rows, pa.schema([(one.name, one.type) for one in table.columns]))


def lake_of(folder: Path, examples: Sequence[Example]) -> Path:
    """Make a warehouse with the rows of all examples."""
    make_lake(folder, ())
    for name, table in tables_of(examples):
        if len(table):
            write_deltalake(folder / name, table, mode="append")
    return folder


def lake_of_text(folder: Path, text: str) -> Path:
    """Make a warehouse with the rows of the examples in a text, below an existing folder."""
    file = folder / "examples.txt"
    file.write_text(text, "utf-8")
    return lake_of(folder / "lake", read_examples(file))
