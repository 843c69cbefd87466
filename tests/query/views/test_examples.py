"""Views of history give the results of the worked examples in both engines; worked_examples.py describes their format."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.query.duckdb_engine import columns_of
from kafka_lagoon.query.views import HISTORY, VIEWS, column_comments, with_needs
from tests.effort import examples
from tests.query.views.engines import Engines
from tests.query.views.worked_examples import FOLDER, TABLES, Example, Expected, read_examples, tables_of, value_of
from tests.test_tree import TESTS

FILES = sorted(FOLDER.glob("*.txt"))
EXAMPLES = {file.stem: read_examples(file) for file in FILES}
EVERY = [example for of_file in EXAMPLES.values() for example in of_file]
CASES = {
    f"{expected.view}: {example.name} ({number})": (example, expected)
    for example in EVERY
    for number, expected in enumerate(example.expected, 1)
}
EXPECTED = {expected.view for example in EVERY for expected in example.expected}
ALIKE = {"unstored_snapshots": "consecutive_snapshots", "unstored_throughput": "partition_throughput"}
_OF_THE_CLUSTER = {"cluster", "cluster_id", "snapshot_date", "snapshot_id"}  # set and checked by the reader


pytestmark = [pytest.mark.examples, pytest.mark.timeout(900)]  # Spark plans the longest views for minutes


@pytest.fixture(scope="module")
def engines(spark: SparkSession) -> Engines:
    """Spark and DuckDB with the tables of all examples; Spark runs only the shortest views in `make test`."""
    lengths = {view.name: len(view.sql) for view in VIEWS}
    views = sorted(
        {*EXPECTED, *ALIKE}, key=lambda name: (sum(lengths.get(need, 0) for need in with_needs({name})), name)
    )
    return Engines(spark, dict(tables_of(EVERY)), views[: examples(len(views))])


@pytest.mark.parametrize("case", CASES)
def test_views_say_what_the_example_says(engines: Engines, case: str) -> None:
    """A view has every row of the example, and no other row."""
    example, expected = CASES[case]
    rows = [row for row in engines.rows(expected.view) if row["cluster"] == example.name]
    assert _lines(_shown(rows, expected.columns, example)) == _lines(_wanted(expected))


def _shown(rows: Sequence[dict[str, Any]], columns: Sequence[str], example: Example) -> list[list[Any]]:
    numbers = example.numbers()
    return [
        [numbers.get(row.get("snapshot_id", ""), "."), *(_plain(row[name], numbers) for name in columns)]
        for row in rows
    ]


def _plain(value: Any, numbers: dict[str, str]) -> Any:
    """Replace ids of snapshots by their numbers, and round to the digits of the examples."""
    if isinstance(value, float):
        return round(value, 6)
    return numbers.get(value, value) if isinstance(value, str) else value


def _wanted(expected: Expected) -> list[list[Any]]:
    schema = columns_of(expected.view)
    kinds = [schema.field(name).type for name in expected.columns]
    return [
        [number, *(value_of(cell, kind) for cell, kind in zip(cells, kinds, strict=True))]
        for number, *cells in expected.rows
    ]


def _lines(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Sort the rows, one per line, so that pytest shows which rows differ."""
    return sorted(" | ".join(map(str, row)) for row in rows)


@pytest.mark.parametrize("view", ALIKE)
def test_days_that_are_not_stored(engines: Engines, view: str) -> None:
    """Without stored days, a view of the others has the rows of the view of all days."""
    rows, columns = engines.rows(view), columns_of(view).names
    assert rows
    assert columns == list(column_comments(view))
    others = [{name: row[name] for name in columns} for row in engines.rows(ALIKE[view])]
    assert sorted(map(repr, rows)) == sorted(map(repr, others))


def test_examples_have_names_of_their_own() -> None:
    """Each example has its own name, which is also its cluster's; it uses existing tables and views."""
    names = [example.name for example in EVERY]
    assert len(names) == len(set(names))
    assert {view.name for view in VIEWS} - TABLES.keys() >= EXPECTED


def test_every_view_has_an_example() -> None:
    """A view has an example, is read by a view that has one, or is asked for its rows by a test."""
    selected = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"\bFROM (\w+)", path.read_text("utf-8"))
    }
    names = {view.name for view in VIEWS if not view.name.endswith("_published")}
    assert names - with_needs(EXPECTED) - selected == set(), "write tests/query/views/examples/VIEW.txt"


@pytest.mark.long
@pytest.mark.parametrize("view", sorted({*HISTORY, *EXPECTED}.difference(ALIKE)))
def test_every_column_has_an_example(view: str) -> None:
    """Every column of a view occurs in an example, and has a comment."""
    shown = {
        name for example in EVERY for expected in example.expected if expected.view == view for name in expected.columns
    }
    columns = set(columns_of(view).names)
    assert columns - shown <= _OF_THE_CLUSTER
    assert columns == column_comments(view).keys()
