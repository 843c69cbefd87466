"""The notebook in docs/notebooks: its cells run, their outputs are the stored ones, and the file stays small."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import duckdb
import pytest

from kafka_lagoon.notebooks import register_duckdb
from tests.cookbook.week import make_week
from tests.delta.lake import make_lake
from tests.tools import is_there, notebook

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "lagoon.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.proof
def test_cells_say_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs in order, without drawing, and gives the stored tables."""
    monkeypatch.setenv("WAREHOUSE", str(make_week(tmp_path)))
    drawing = MagicMock()
    drawing.pyplot.subplots.return_value = (MagicMock(), MagicMock())
    monkeypatch.setitem(sys.modules, "matplotlib", drawing)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", drawing.pyplot)
    names: dict[str, Any] = {}
    for cell in CELLS:
        assert _shown("".join(cell["source"]), names) == _stored(cell)


def _shown(source: str, names: dict[str, Any]) -> str | None:
    """Return the value of a cell's last line, if it is an expression that is not null."""
    *statements, last = ast.parse(source).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)  # noqa: S102  what the notebook says
    if isinstance(last, ast.Expr) and ast.unparse(last) != "plt.show()":
        return str(eval(compile(ast.Expression(last.value), "cell", "eval"), names))  # noqa: S307  as above
    return None


def _stored(cell: dict[str, Any]) -> str | None:
    results = [output for output in cell["outputs"] if output["output_type"] == "execute_result"]
    return "".join(results[0]["data"]["text/plain"]) if results else None


def test_it_is_small_and_has_pictures() -> None:
    """It has two pictures, no errors, and nothing about the machine that it ran on."""
    text = NOTEBOOK.read_text("utf-8")
    kinds = [kind for cell in CELLS for output in cell["outputs"] for kind in output.get("data", {})]
    assert kinds.count("image/png") == 2
    assert len(text) < 200_000
    assert not any(words in text for words in ("Traceback", '"stderr"', str(ROOT), "/tmp/"))  # noqa: S108


@pytest.mark.proof
def test_it_runs_in_a_kernel(tmp_path: Path) -> None:
    """Jupyter's kernel runs all cells, with matplotlib."""
    command = [is_there(notebook()), "-m", "tests.cookbook.notebook", tmp_path / "run.ipynb"]
    environ = {"PYTHONPATH": f"{ROOT / 'pipeline'}:{ROOT}", "HOME": str(tmp_path)}
    subprocess.run(command, check=True, cwd=ROOT, env=environ, capture_output=True)
    cells = [cell for cell in json.loads((tmp_path / "run.ipynb").read_text("utf-8"))["cells"] if "outputs" in cell]
    assert [_stored(cell) for cell in cells] == [_stored(cell) for cell in CELLS]


def test_the_column_offset_needs_quotes(tmp_path: Path) -> None:
    """A connection of DuckDB takes `offset` in quotes only, and the page about notebooks says so."""
    with duckdb.connect() as connection:
        register_duckdb(connection, str(make_lake(tmp_path)))
        with pytest.raises(duckdb.ParserException):
            connection.sql("SELECT partition, offset, value FROM records_now")
        assert connection.sql('SELECT max("offset") FROM records_now').fetchall() == [(4,)]
    page = (ROOT / "docs" / "sql.md").read_text("utf-8")
    assert 'Write the column `offset` as `"offset"`' in page.partition("## Notebooks")[2]
