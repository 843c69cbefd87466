"""Makes the two examples in README from the week's tables: the first screen of the report, and the output of `lagoon lag`.

`python -m tests.cookbook.first_screen` writes both, two minutes after the last snapshot; a test compares the text. The picture needs
what tests/report/test_browser.py needs.
"""

import contextlib
import io
import os
import re
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

from kafka_lagoon.cli.main import run
from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.page import RELATIONS
from kafka_lagoon.runs.report import ReportOptions, chosen_scopes, make_report
from tests.clock import clock_at
from tests.cookbook.load import LAST
from tests.cookbook.week import make_week
from tests.tools import node_modules

ROOT = Path(__file__).resolve().parents[2]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "images" / "report.png"
NOW = LAST + timedelta(minutes=2)
_SHOWN = re.compile(r"(```text\n\$ lagoon lag --conf lagoon.toml -n 4\n).*?(```\n)", re.DOTALL)


def printed_lag(warehouse: Path) -> str:
    """Return what `lagoon lag` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert run(["lag", "--warehouse", str(warehouse), "-n", "4"], {}, clock_at(NOW)) == 0
    return shown.getvalue()


def with_lag(readme: str, printed: str) -> str:
    """Return README with this output of `lagoon lag`."""
    assert _SHOWN.search(readme), "README.md: the block of lagoon lag"
    return _SHOWN.sub(lambda match: match[1] + printed + match[2], readme)


def report_page(warehouse: Path) -> str:
    """Make the report over the whole week."""
    options = ReportOptions(hours=24 * 7)
    with opened(warehouse, RELATIONS) as ask:
        return make_report(chosen_scopes(ask, options), options, round(NOW.timestamp() * 1000)).html


def _main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warehouse, page = Path(folder) / "warehouse", Path(folder) / "report.html"
        warehouse.mkdir()
        make_week(warehouse)
        README.write_text(with_lag(README.read_text("utf-8"), printed_lag(warehouse)), "utf-8")
        page.write_text(report_page(warehouse), "utf-8")
        script = Path(__file__).with_suffix(".js")
        environ = {**os.environ, "NODE_PATH": str(node_modules())}
        subprocess.run(["node", script, page, PICTURE, str(round(NOW.timestamp() * 1000))], check=True, env=environ)


if __name__ == "__main__":
    _main()
