"""Alerts, dashboard and documentation use only declared metrics; promtool, if configured, checks their syntax."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from kafka_lagoon.metrics.exposition import Sample, exposition
from tests.metrics.monitoring_files import METRICS, PAGE, RULES, dashboard, dashboard_expressions, expressions, rules

_WORDS = re.compile(r'"[^"]*"|[a-z_]+')
UNIT_TESTS = Path(__file__).with_name("lagoon.rules.test.yml")


def named(expression: str) -> Iterator[str]:
    """Return our metrics in an expression, outside of its strings."""
    return (word for word in _WORDS.findall(expression) if word.startswith("lagoon_") and word != "lagoon_job")


@pytest.mark.parametrize("expression", expressions())
def test_expressions_name_metrics_that_there_are(expression: str) -> None:
    """A renamed metric fails here, instead of making an alert that never fires."""
    used = set(named(expression))
    assert used
    assert used <= METRICS.keys()
    labels = {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")}
    assert labels <= {label for name in used for label in METRICS[name].labels}


def test_the_five_alerts() -> None:
    """Each has a summary and a runbook, and no two are equal."""
    assert {rule["alert"] for rule in rules()} == {
        "LagoonSnapshotTooOld",
        "LagoonRunFailed",
        "LagoonIncomplete",
        "LagoonGroupBehind",
        "LagoonDataLossAhead",
    }
    assert len({(rule["alert"], str(rule["labels"])) for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["alert"] in PAGE.read_text("utf-8")


def test_the_dashboard_is_laid_out() -> None:
    """Panels have unique ids and do not overlap; each has a description and uses the chosen Prometheus."""
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    covered = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(covered)) == len(covered)
    assert max(x for x, _ in covered) < 24
    for panel in panels:
        assert panel["description"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@pytest.fixture(scope="module")
def promtool() -> str:
    """Prometheus' own checker."""
    program = shutil.which("promtool")
    if not program:
        pytest.fail(
            "promtool is missing: apt-get install prometheus, or unpack a release of Prometheus into a folder of PATH"
        )
    return program


def checked(command: Sequence[str], given: str | None = None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.proof
def test_promtool_likes_the_names(promtool: str) -> None:
    """Names, units and help of every metric follow Prometheus' conventions."""
    samples = [Sample(metric, ["x"] * len(metric.labels), 1.5) for metric in METRICS.values()]
    assert checked([promtool, "check", "metrics"], exposition(samples)) == ""


@pytest.mark.proof
def test_promtool_parses_every_expression(promtool: str, tmp_path: Path) -> None:
    """The rules are parsed unchanged, and each query of the dashboard as a rule."""
    assert f"{len(rules())} rules found" in checked([promtool, "check", "rules", "--lint-fatal", str(RULES)])
    recorded = [{"record": f"query_{number}", "expr": expr} for number, expr in enumerate(dashboard_expressions())]
    path = tmp_path / "dashboard.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
    assert f"{len(recorded)} rules found" in checked([promtool, "check", "rules", "--lint-fatal", str(path)])


@pytest.mark.proof
def test_alerts_fire_when_they_should(promtool: str, tmp_path: Path) -> None:
    """promtool runs the rules over series of hours; altered rules do not fire."""
    unit_tests = tmp_path / "test.yml"
    unit_tests.write_text(UNIT_TESTS.read_text("utf-8").replace("RULES", str(tmp_path / "rules.yml")))
    one_owner = "topk by (kafka_cluster, group) (1, lagoon_group_info)"
    altered = (
        ("", "", True),
        ("> 900", "> 9000", False),
        (" == 0\n", " > 9\n", False),
        ("failed|misconfigured", "failed", False),
        ("6 * 3600", "0", False),
        (one_owner, "lagoon_group_info", False),
        ("(lagoon_group_expected) == 1", "(lagoon_group_expected) == 9", False),
    )
    for old, new, passes in altered:
        (tmp_path / "rules.yml").write_text(RULES.read_text("utf-8").replace(old, new))
        done = subprocess.run([promtool, "test", "rules", str(unit_tests)], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == passes, (old, done.stdout + done.stderr)
