"""Views of history give the results of the worked examples in both engines; worked_examples.py describes their format."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.query.duckdb_engine import columns_of
from kafka_lagoon.query.views import HISTORY, VIEWS, column_comments
from tests.effort import examples
from tests.query.views.engines import Engines
from tests.query.views.worked_examples import FOLDER, TABLES, Example, Expected, read_examples, tables_of, value_of

FILES = sorted(FOLDER.glob("*.txt"))
EXAMPLES = {file.stem: read_examples(file) for file in FILES}
EVERY = [example for of_file in EXAMPLES.values() for example in of_file]
CASES = {
    f"{expected.view}: {example.name} ({number})": (example, expected)
    for example in EVERY
    for number, expected in enumerate(example.expected, 1)
}
EXPECTED = {expected.view for example in EVERY for expected in example.expected}
_OF_THE_CLUSTER = {"cluster", "cluster_id", "snapshot_date", "snapshot_id"}  # the reader sets and checks these


pytestmark = pytest.mark.examples


@pytest.fixture(scope="module")
def engines(spark: SparkSession) -> Engines:
    """Spark and DuckDB with the tables of all examples; Spark runs the shortest views in `make test`, all in `make proof`."""
    lengths = {view.name: len(view.sql) for view in VIEWS}
    views = sorted(EXPECTED, key=lengths.__getitem__)
    return Engines(spark, dict(tables_of(EVERY)), views[: examples(len(views))])


@pytest.mark.parametrize("case", CASES)
def test_views_say_what_the_example_says(engines: Engines, case: str) -> None:
    """Every row that is written there, and no other."""
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
    """Ids of snapshots as their numbers; so many digits as an example has."""
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
    """In an order of their own, one line a row: pytest shows which differ."""
    return sorted(" | ".join(map(str, row)) for row in rows)


def test_examples_have_names_of_their_own() -> None:
    """An example has a name, and so a cluster, of its own; it speaks of tables and views that there are."""
    names = [example.name for example in EVERY]
    assert len(names) == len(set(names))
    assert {view.name for view in VIEWS} - TABLES.keys() >= EXPECTED


@pytest.mark.parametrize("view", sorted({*HISTORY, *EXPECTED}))
def test_every_column_has_an_example(view: str) -> None:
    """Every column of a view has an example, and a comment of its own."""
    shown = {
        name for example in EVERY for expected in example.expected if expected.view == view for name in expected.columns
    }
    columns = set(columns_of(view).names)
    assert columns - shown <= _OF_THE_CLUSTER
    assert columns == column_comments(view).keys()
