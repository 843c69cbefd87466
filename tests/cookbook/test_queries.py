"""docs/queries.md: its results are those of both engines for the week, and its snippets run unchanged."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.notebooks import register
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.query.statements import tuples
from tests.cookbook.pages import QUERIES, by_duckdb, markdown, renewed, statements
from tests.cookbook.week import make_asked_week
from tests.query.duckdb_rows import rows_of
from tests.query.views.worked_examples import lake_of, lake_of_text, read_examples

PAGE = QUERIES.read_text("utf-8")


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the warehouse of the week."""
    folder = tmp_path_factory.mktemp("cookbook")
    (folder / "warehouse").mkdir()
    make_asked_week(folder / "warehouse")
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
    """Statements over published rows alone give the same tables."""
    make_available(at_path(spark, str(week / "warehouse")), _PLAIN)
    plain = [one for one in statements(PAGE) if _read_tables(one) <= {*_PLAIN}]
    assert len(plain) == 6
    assert [one for one in plain if _by_spark(spark, one) not in PAGE] == []


def _read_tables(statement: str) -> set[str]:
    """Return the tables and views that a statement reads, without the names that its WITH defines."""
    own = re.findall(r"(?m)^(?:WITH )?(\w+) AS \(", statement)
    return {*re.findall(r"(?m)^ *(?:FROM|JOIN) (\w+)", statement)} - {*own}


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
    assert len(answers) == len(statements(PAGE)) == 25
    assert all(answer.count("\n") >= 2 for answer in answers)


def test_the_zone_comes_before_what_depends_on_it() -> None:
    """Literals and functions mean the zone of a Spark session: the page says what to set before the first statement with one."""
    dependent = next(one for one in statements(PAGE) if re.search(r"\bhour\(|\bTIMESTAMP '|\bcurrent_date\b", one))
    assert 'spark.conf.set("spark.sql.session.timeZone", "UTC")' in PAGE.partition(dependent)[0]


def _snippet(reader: str) -> str:
    (snippet,) = (one for one in re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if reader in one)
    return snippet


@pytest.mark.long
@pytest.mark.parametrize(
    ("reader", "expected"),
    [("polars", ["26535", "8202"]), ("deltalake", ["'audit'", "2026, 11, 20, 9, 0", "2026, 11, 20, 10, 0"])],
)
def test_other_readers(
    week: Path, reader: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippets run in the folder of the warehouse, and give the same results as SQL."""
    monkeypatch.chdir(week)
    exec(_snippet(reader), {})  # noqa: S102  what the page says
    printed = capsys.readouterr().out.replace("_", "")
    assert [one for one in expected if one not in printed] == []


@pytest.mark.long
@pytest.mark.parametrize("group", ["billing", "dashboard"])
def test_polars_says_what_sql_says(week: Path, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Question 2 has the same numbers in both, and no lag for a group whose lag is not known."""
    (statement,) = (one for one in statements(PAGE) if "'billing'" in one)
    monkeypatch.chdir(week)
    names: dict[str, Any] = {}
    exec(_snippet("polars").replace('"billing"', f'"{group}"'), names)  # noqa: S102  what the page says
    with rows_of(week / "warehouse", statement.replace("'billing'", f"'{group}'")) as rows:
        wanted = [(slot, lag, known, of) for slot, lag, _, known, of in tuples(rows)]
    by_slot = {slot: rest for slot, *rest in names["by_slot"].collect().rows()}
    assert [(slot, *by_slot[slot]) for slot, *_ in wanted] == wanted
    assert (wanted[0][1] is None) == (group == "dashboard")


_RECREATED = """\
== a topic that is created again
snapshots | captured_at
1         | 10:00
2         | 11:00
3         | 12:00

partitions | topic | topic_id | partition | leader_epoch | is_preferred_leader
1          | t     | T1       | 0         | 40           | true
2          | t     | T2       | 0         | 0            | true
3          | t     | T2       | 0         | 2            | true
1          | u     | U1       | 0         | 7            | true
2          | u     | U2       | 0         | 0            | true
"""


def test_elections_are_those_of_one_topic(tmp_path: Path) -> None:
    """Question 8 compares epochs of the same topic_id only: a new topic begins at 0, whatever the old one had."""
    (statement,) = (one for one in statements(PAGE) if "AS elections" in one)
    (tmp_path / "example.txt").write_text(_RECREATED)
    lake = lake_of(tmp_path, read_examples(tmp_path / "example.txt"))
    with rows_of(lake, statement) as rows:
        assert [one[:3] for one in tuples(rows)] == [("t", 0, 2)]


_SET_BACK = """\
== a group that is set back
snapshots | captured_at
1         | 10:00
2         | 11:00
3         | 12:00
4         | 13:00

consumer_lag | group_id | topic  | topic_id | partition | committed_offset | lag_basis
1            | back     | orders | O        | 0         | 1000             | committed
2            | back     | orders | O        | 0         | 1010             | committed
3            | back     | orders | O        | 0         | 0                | committed
4            | back     | orders | O        | 0         | 7                | committed
1            | still    | orders | O        | 0         | 5                | committed
2            | still    | orders | O        | 0         | 5                | committed
4            | new      | orders | O        | 0         | 5                | committed
"""


def test_commits_that_are_set_back_consume_nothing(tmp_path: Path) -> None:
    """Question 13 counts what a group has read before and after; of a group with a single commit nothing is known."""
    (statement,) = (one for one in statements(PAGE) if "AS offsets_consumed" in one)
    with rows_of(lake_of_text(tmp_path, _SET_BACK), statement) as rows:
        assert [one[:2] for one in tuples(rows)] == [("back", 17), ("still", 0), ("new", None)]
