"""Every column of every table is named in a test, because a column that no test checks could be wrong."""

import re

import pytest

from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import Table
from tests.test_tree import TESTS


@pytest.fixture(scope="module")
def named() -> set[str]:
    """Return every word of the tests."""
    files = [path for path in TESTS.rglob("test_*.py") if path.name != "test_named_columns.py"]
    return {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_is_named_by_a_test(named: set[str], table: Table) -> None:
    """A new column of consumer_lag needs a line in tests/snapshot/test_lag.py, and so on."""
    missing = [column.name for column in table.columns if not {column.name, column.field} & named]
    assert not missing, f"expect these columns of {table.name} in the tests of the module that makes its rows"


def _problems(table: Table) -> set[str]:
    """Return the values that comments of columns such as `problem` name: Kafka's error names, and ours."""
    comments = [column.comment for column in table.columns if column.name.endswith(("problem", "because", "evidence"))]
    return {word for comment in comments for word in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", comment)}


@pytest.mark.parametrize("table", [table for table in TABLES if _problems(table)], ids=lambda table: table.name)
def test_every_problem_is_named_by_a_test(named: set[str], table: Table) -> None:
    """Each reason that a comment names occurs in a test."""
    assert _problems(table) <= named, f"a problem in a comment of {table.name} is in no test"
