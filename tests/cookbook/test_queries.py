"""docs/queries.md: its results are those of both engines for the week, and its snippets run unchanged."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.warehouse import at_path
from kafka_lagoon.notebooks import register
from kafka_lagoon.query.spark_engine import make_available
from tests.cookbook.pages import QUERIES, by_duckdb, markdown, renewed, statements
from tests.cookbook.week import OWNERS, make_week

PAGE = QUERIES.read_text("utf-8")


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the warehouse of the week."""
    folder = tmp_path_factory.mktemp("cookbook")
    (folder / "warehouse").mkdir()
    make_week(folder / "warehouse", OWNERS)
    return folder


@pytest.mark.proof
@pytest.mark.long
def test_answers_are_those_of_duckdb(week: Path) -> None:
    """Every result of the page is checked; `python -m tests.cookbook.pages` writes them."""
    assert renewed(PAGE, lambda statement: by_duckdb(week / "warehouse", statement)) == PAGE


# Tables of the statements that compare no snapshots; Spark takes half a second to open a table.
_PLAIN = ("consumer_lag_published", "consumer_groups_published", "partitions_published")


@pytest.mark.proof
def test_plain_answers_are_those_of_spark(week: Path, spark: SparkSession) -> None:
    """Statements over published rows alone give the same tables; the others are tested by `make proof`."""
    make_available(at_path(spark, str(week / "warehouse")), _PLAIN)
    plain = [one for one in statements(PAGE) if any(f"FROM {name}\n" in one for name in _PLAIN)]
    assert len(plain) == 6
    assert [one for one in plain if _by_spark(spark, one) not in PAGE] == []


def _by_spark(spark: SparkSession, statement: str) -> str:
    return markdown(pa.table(spark.sql(statement).toArrow()))


@pytest.mark.proof
def test_answers_are_those_of_spark(week: Path, spark: SparkSession) -> None:
    """All statements; 100 CPU seconds, most of them for planning."""
    register(spark, str(week / "warehouse"))
    assert renewed(PAGE, lambda statement: _by_spark(spark, statement)) == PAGE


def test_every_question_has_an_answer() -> None:
    """There are sixteen, and no result is empty."""
    assert len(re.findall(r"^### \d+\. .*\?$", PAGE, re.MULTILINE)) == 16
    answers = re.findall(r"<!-- answer: by tests.cookbook.pages -->\n\n(.*?)\n\n<!--", PAGE, re.DOTALL)
    assert len(answers) == len(statements(PAGE)) == 23
    assert all(answer.count("\n") >= 2 for answer in answers)


@pytest.mark.long
@pytest.mark.parametrize(
    ("reader", "expected"),
    [("polars", ["26535", "8202"]), ("deltalake", ["'audit'", "2026, 11, 20, 9, 0", "2026, 11, 20, 10, 0"])],
)
def test_other_readers(
    week: Path, reader: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippets run in the folder of the warehouse, and give the same results as SQL."""
    (snippet,) = (one for one in re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if reader in one)
    monkeypatch.chdir(week)
    exec(snippet, {})  # noqa: S102  what the page says
    printed = capsys.readouterr().out.replace("_", "")
    assert [one for one in expected if one not in printed] == []
