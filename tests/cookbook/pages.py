"""The answers in docs/queries.md and docs/values.md, from the statements above them; `python -m tests.cookbook.pages` writes them,
a test compares.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.cookbook.archive import make_archive
from tests.cookbook.week import make_asked_week
from tests.query.duckdb_rows import rows_of

ROOT = Path(__file__).resolve().parents[2]
QUERIES, VALUES = ROOT / "docs" / "queries.md", ROOT / "docs" / "values.md"
_STATEMENT = re.compile(
    r"^```sql\n(.*?)^```\n(?:\n<!-- answer: by tests.cookbook.pages -->\n.*?<!-- end of answer -->\n)?",
    re.DOTALL | re.MULTILINE,
)


def statements(page: str) -> list[str]:
    """Return the statements of a page, in their order."""
    return [match[1] for match in _STATEMENT.finditer(page)]


def with_answers(page: str, answer: Callable[[str], str]) -> str:
    """Return the page with a table after each statement."""
    return _STATEMENT.sub(
        lambda match: (
            f"```sql\n{match[1]}```\n\n<!-- answer: by tests.cookbook.pages -->\n\n{answer(match[1])}\n\n<!-- end of answer -->\n"
        ),
        page,
    )


def by_duckdb(warehouse: Path, statement: str) -> str:
    """Return the result of `lagoon sql`, as Markdown."""
    with rows_of(warehouse, statement) as rows:
        return markdown(pa.Table.from_batches(list(rows.batches), rows.schema))


def markdown(table: pa.Table) -> str:
    """Format a table of Markdown; null is an empty cell, times are UTC to the minute or the second."""
    kinds = ["---:" if _is_number(field.type) else "---" for field in table.schema]
    rows = [[_cell(value) for value in one.values()] for one in table.to_pylist()]
    return "\n".join(_line(cells) for cells in (table.schema.names, kinds, *rows))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}" if value.second == 0 else f"{value:%Y-%m-%d %H:%M:%S}"
        case date() | str():
            return str(value).replace("|", "\\|")
        case list():
            return ", ".join(map(_cell, value))
        case _:
            return f"{value:,}"


def run_snippet(page: str, words: str, spark: Any, brokers: str, registry: str = "") -> dict[str, Any]:
    """Run the page's Python block with these replacements against real brokers; return its variables."""
    (snippet,) = (one for one in re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if words in one)
    names: dict[str, Any] = {"spark": spark}
    exec(snippet.replace("localhost:9092", brokers).replace("http://localhost:8081", registry), names)  # noqa: S102
    return names


def renewed(page: str, answer: Callable[[str], str]) -> str:
    """Return the page with current results; a statement only for Spark (VARIANT) shares the result of the one before it."""
    answers: list[str] = []
    for statement in statements(page):
        answers.append(answers[-1] if "variant" in statement else answer(statement))
    return with_answers(page, lambda _: answers.pop(0))


if __name__ == "__main__":
    for page, make in ((QUERIES, make_asked_week), (VALUES, make_archive)):
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder))
            text = renewed(page.read_text("utf-8"), lambda statement, made=made: by_duckdb(made, statement))
        page.write_text(text, "utf-8")
