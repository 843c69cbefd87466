"""`lagoon report`: the page is written whole or not at all, and the exit code shows incomplete pages."""

import json
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main, options_of
from kafka_lagoon.cli.report import report_arguments
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.runs.report import Report
from tests.clock import CLOCK
from tests.delta.lake import make_lake

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lake(tmp_path_factory.mktemp("lake"))


def test_the_page_is_written(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line summarizes the page; the event has its path and size."""
    out = tmp_path / "report.html"
    assert main(["report", "--warehouse", str(lake), "--out", str(out), "--title", "Ours"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("default: 0 groups, ")  # the value in its row of table snapshots
    event = json.loads(shown.err.splitlines()[-1])
    assert (event["page"], event["page_bytes"]) == (str(out), out.stat().st_size)
    assert "<title>Ours</title>" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_made_leaves_the_last_one(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 and one line, for an unknown cluster or a missing folder."""
    out = tmp_path / "report.html"
    out.write_text("before")
    assert main(["report", "--warehouse", str(lake), "--out", str(out), "--cluster", "other"]) == 1
    assert "no published snapshot of other: there are default" in capsys.readouterr().err
    assert main(["report", "--warehouse", str(lake), "--out", str(tmp_path / "no" / "report.html")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert out.read_text() == "before"


def test_a_configured_cluster_without_a_snapshot(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page names it, and the exit code is 3."""
    out = tmp_path / "report.html"
    servers = "bootstrap_servers=localhost:1"
    clusters = ("--set", f"clusters.default.{servers}", "--set", f"clusters.third.{servers}")
    assert main(["report", "--warehouse", str(lake), "--out", str(out), *clusters]) == 3
    assert "lagoon: third: there is no snapshot of it for this page" in capsys.readouterr().err
    assert "<bdi>third</bdi></b>: no snapshot yet" in out.read_text()
    assert main(["report", "--warehouse", str(lake), "--out", str(out), *clusters, "--cluster", "default"]) == 0
    assert "third" not in out.read_text()


def test_a_part_that_cannot_be_read_is_exit_code_3(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is written, and says that a part is missing."""
    made = Report(html="the page", clusters=[])
    monkeypatch.setattr("kafka_lagoon.cli.report.make_report", lambda *_: made)
    monkeypatch.setattr(Report, "problems", ["default: Health: gone"])
    out = tmp_path / "report.html"
    assert main(["report", "--warehouse", str(lake), "--out", str(out)]) == 3
    assert "lagoon: default: Health: gone" in capsys.readouterr().err
    assert out.read_text() == "the page"


def test_arguments(lake: Path) -> None:
    """Days are hours; a slot may be relative to now; --hours and --days exclude each other."""
    given = ["--warehouse", str(lake), "--out", "x.html"]
    assert report_arguments(options_of("report", given), {}, CLOCK).options.hours == 24
    options = report_arguments(
        options_of("report", [*given, "--days", "7", "--slot", "2026-11-21T06:00", "--cluster", "a,b"]), {}, CLOCK
    ).options
    assert (options.hours, options.slot_ms, options.clusters) == (168, 1_795_240_800_000, ["a", "b"])
    with pytest.raises(ConfigError, match="not allowed with"):
        options_of("report", [*given, "--days", "7", "--hours", "7"])
    with pytest.raises(ConfigError, match="--out"):
        options_of("report", ["--warehouse", str(lake)])
