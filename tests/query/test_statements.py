"""Parts that both engines of `lagoon sql` share."""

import time

import pyarrow as pa
import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query.statements import Rows, failed, first_tuples, mentioned, refuse_writing
from kafka_lagoon.query.views import NAMES


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("SELECT 1", set()),
        ("SELECT group_id FROM LAG_NOW", {"lag_now"}),
        ("SELECT topics FROM lag_by_group", {"topics", "lag_by_group"}),
        ("SHOW TABLES", set(NAMES)),
        ("select * from information_schema.tables", set(NAMES)),
    ],
)
def test_only_what_a_statement_names_is_opened(statement: str, names: set[str]) -> None:
    """Names match in upper and lower case; a statement that lists tables opens all of them."""
    assert mentioned(statement) == names


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        " (select 1)",
        "-- why\nWITH a AS (SELECT 1) TABLE a",
        "/* x */ FROM records",
        "EXPLAIN SELECT 1",
    ],
)
def test_statements_that_read_run(statement: str) -> None:
    """Comments and brackets may come before the first word."""
    refuse_writing(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        ";",
        "DELETE FROM records",
        "/* select */ drop view lag_now",
        "SELEC 1",
        "SET x = 1",
        "copy (select 1) to 'f'",
    ],
)
def test_other_statements_do_not(statement: str) -> None:
    """`lagoon sql` changes nothing, even if an engine could: exit 2."""
    with pytest.raises(ConfigError, match="runs SELECT and other statements that read"):
        refuse_writing(statement)


def test_a_statement_is_text() -> None:
    """Bytes of a command line that are not UTF-8 are refused; DuckDB raises a TypeError for them."""
    with pytest.raises(ConfigError, match="not text in UTF-8"):
        refuse_writing("SELECT '\udcff'")


def test_names_are_looked_for_in_linear_time() -> None:
    """A pattern that may begin with any number of blanks takes the square of the blanks."""
    started = time.process_time()
    assert mentioned("SELECT 1" + " " * 60_000) == set()
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "message",
    [
        'Catalog Error: Table with name lag_nwo does not exist!\nDid you mean "pg_am"?',
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `lag_nwo` cannot be found. Verify the spelling. SQLSTATE: 42P01; line 1",
    ],
)
def test_an_unknown_name_is_printed_with_the_nearest(message: str) -> None:
    """The suggestion is ours, because an engine knows only the names in the statement."""
    assert str(failed(message)) == "there is no table or view lag_nwo (did you mean lag_now?); `lagoon sql` lists them"


@pytest.mark.parametrize(
    ("limit", "kept", "others"), [(None, 5, 0), (0, 0, 5), (1, 1, 4), (3, 3, 2), (5, 5, 0), (9, 5, 0)]
)
def test_first_rows_and_the_number_of_the_others(limit: int | None, kept: int, others: int) -> None:
    """Also where a batch ends at the limit, or is empty."""
    batches = [pa.RecordBatch.from_pydict({"x": pa.array(some, pa.int64())}) for some in ([0, 1, 2], [], [3, 4])]
    rows = Rows(schema=batches[0].schema, batches=iter(batches))
    assert first_tuples(rows, limit) == ([(number,) for number in range(kept)], others)
