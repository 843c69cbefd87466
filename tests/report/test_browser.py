"""The page in a browser: an empty console, no requests, fast with 50,000 groups, and no findings of axe-core.

Needs `chromium` (or CHROMIUM), Node, and what `python -m tests.tools` installs.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.report.page_tables import Column, PageTable
from kafka_lagoon.report.scope import Scope
from kafka_lagoon.runs.report import Report
from tests.report.test_page import large_page, page_of
from tests.tools import node_modules

BROWSER = Path(__file__).parent / "browser.js"
ROWS = Path(__file__).parent / "rows.js"

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


def by_node(script: Path, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Run a script."""
    environ = {**os.environ, "NODE_PATH": str(node_modules())}
    return subprocess.run(["node", script, *arguments], capture_output=True, text=True, check=False, env=environ)


def opened(html: str, folder: Path) -> Mapping[str, Any]:
    """Open a page in a browser; screenshots are in the folder."""
    page = folder / "page.html"
    page.write_text(html)
    run = by_node(BROWSER, page, folder / "shot")
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
    assert re.fullmatch(r"\d+ more columns to the right →", seen["more"])
    before, by_tile, by_button = seen["folded"]
    assert (by_tile, by_button) == (before - 1, 0)
    assert seen["readout"]


def test_script_and_page_spell_values_alike(scope: Scope, tmp_path: Path) -> None:
    """The rows that the script writes are those of the page without it, for every kind of value."""
    numbers = (None, 0, 1, 999, 1_000, 58_999, 60_000, 3_510_000, 21_599_000, 90_000_000, 9_876_543_210)
    kinds = ("count", "bytes", "rate", "byte_rate", "duration", "time_left", "time")
    columns = [Column(label="Kind", source=""), *(Column(label=kind, kind=kind, source="") for kind in kinds)]
    rows = [("row", *[value] * len(kinds)) for value in numbers]
    late = [("late", 0, 0, 0.0, 0.0, 0, value, 0) for value in (-400, -1_000, -59_000, -3_510_000, -90_000_000)]
    table = PageTable(name="groups", caption="Values", columns=columns, rows=[*rows, *late], empty="")
    page = tmp_path / "page.html"
    page.write_text(page_of(scope, table))
    run = by_node(ROWS, page)
    assert run.returncode == 0, run.stderr
    without, with_script = json.loads(run.stdout)
    assert without == with_script
    assert [row[6] for row in without[-5:]] == [
        "now",
        "overdue by 1s",
        "overdue by 59s",
        "overdue by 58m",
        "overdue by 1d01h",
    ]


def test_fifty_thousand_groups(scope: Scope, tmp_path: Path) -> None:
    """Filtering and sorting take less than a tenth of a second each."""
    seen = opened(large_page(scope, 50_000), tmp_path)
    assert seen["console"] == []
    assert seen["axe"] == {"light": [], "dark": [], "phone": []}
    assert seen["sorted"] == "descending"
    assert max(seen["times"].values()) < 100, seen["times"]


LOCAL_TIMES = """
const times = [%s].map((dateTime) => ({
  dateTime, title: "", classList: {contains: () => true}, textContent: "",
}));
const zone = {textContent: ""};
globalThis.addEventListener = () => {};
globalThis.location = {hash: ""};
globalThis.document = {querySelectorAll: (name) => (name === "time" ? times : []), getElementById: () => zone};
%s
console.log(JSON.stringify([...times.map((time) => time.title), zone.textContent !== ""]));
"""


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("2026-01-15T12:00:00Z", "2026-07-15T23:30:00Z"), ["", " (07-16 00:30)", True]),
        (("2026-01-15T12:00:00Z",), ["", False]),
    ],
)
def test_local_times_are_of_the_day_that_is_shown(times: tuple[str, ...], expected: list[object]) -> None:
    """In January a reader in London did not see the local times of July, and in July saw UTC of January in brackets."""
    script = LOCAL_TIMES % (", ".join(map(json.dumps, times)), (files("kafka_lagoon.report") / "page.js").read_text())
    environ = {**os.environ, "TZ": "Europe/London"}
    run = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=False, env=environ)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == expected
