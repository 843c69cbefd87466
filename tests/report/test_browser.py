"""The page in a browser: an empty console, no requests, fast with 50,000 groups, and no findings of axe-core.

Needs what no other test does: Debian's `chromium` (or CHROMIUM), Node, and playwright-core and axe-core from npm, in a folder
that NODE_PATH names: npm install --prefix FOLDER playwright-core axe-core; NODE_PATH=FOLDER/node_modules.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.report.scope import Scope
from kafka_lagoon.runs.report import Report
from tests.report.test_page import large_page

BROWSER = Path(__file__).parent / "browser.js"

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


def opened(html: str, folder: Path) -> Mapping[str, Any]:
    """Open a page in a browser; screenshots are in the folder."""
    page = folder / "page.html"
    page.write_text(html)
    run = subprocess.run(["node", BROWSER, page, folder / "shot"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{__doc__}\n{run.stderr}"
    return json.loads(run.stdout)


def test_hostile_names_and_gaps(report: Report, tmp_path: Path) -> None:
    """Names stay text when the script writes the rows, which do not change; charts can be opened by keyboard."""
    seen = opened(report.html, tmp_path)
    assert seen["console"] == []
    assert seen["requests"] == []
    assert seen["axe"] == {"light": [], "dark": [], "phone": []}
    assert seen["with"] == seen["without"]
    assert (seen["dialog"], seen["wide"], seen["phoneWide"]) == (2, False, False)
    assert seen["readout"]


def test_fifty_thousand_groups(scope: Scope, tmp_path: Path) -> None:
    """Filtering and sorting take less than a tenth of a second each."""
    seen = opened(large_page(scope, 50_000), tmp_path)
    assert seen["console"] == []
    assert seen["axe"] == {"light": [], "dark": [], "phone": []}
    assert seen["sorted"] == "descending"
    assert max(seen["times"].values()) < 100, seen["times"]
