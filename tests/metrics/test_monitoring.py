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


def test_the_six_alerts() -> None:
    """Each has a summary and a runbook, and no two are equal."""
    assert {rule["alert"] for rule in rules()} == {
        "LagoonSnapshotTooOld",
        "LagoonRunFailed",
        "LagoonJobTooOld",
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
    altered = (
        ("", "", True),
        ("> 900", "> 9000", False),
        ("last_over_time", "max_over_time", False),
        ("seconds[1d]", "seconds[10m]", False),
        ('ingest"}[1d]', 'ingest"}[10m]', False),
        ("> time() + 300", "> time() + 99999999", False),
        (" == 0\n", " > 9\n", False),
        ("failed|misconfigured", "failed", False),
        ("6 * 3600", "0", False),
        ("group_left (owner)", "", False),
        ("(1, lagoon_snapshot_captured", "(9, lagoon_snapshot_captured", False),
        ("(1, lagoon_run_end", "(9, lagoon_run_end", False),
        ('{kafka_cluster=""}', '{kafka_cluster="none"}', False),
        ("lagoon_group_expected == 1", "lagoon_group_expected == 9", False),
        ("time() - 86400", "time() - 864000", False),
        ("> 8 * 3600", "> 80 * 3600", False),
        ("> 2 * 86400", "> 20 * 86400", False),
        ("apply|restore", "apply|restore|ingest", False),
        ("offset 8h", "offset 80h", False),
        ("offset 2d", "offset 20d", False),
        ("> time() - 8 * 3600", "> 0", False),
        ("> time() - 2 * 86400", "> 0", False),
        ("unless on (lagoon_job, kafka_cluster) lagoon_last", "unless lagoon_last", False),
        ("            unless lagoon_last", "            unless lagoon_run_failures > lagoon_last", False),
    )
    for old, new, passes in altered:
        _write_tests_of_altered_alerts(tmp_path, RULES.read_text("utf-8").replace(old, new))
        command = [promtool, "test", "rules", str(tmp_path / "test.yml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == passes, (old, done.stdout + done.stderr)


def _write_tests_of_altered_alerts(folder: Path, altered: str) -> None:
    """Write the alerts that an altered rule file has, and their unit tests; all if nothing is altered.

    Rules are evaluated for each minute of two days, so that all of them together take ten times as long.
    """
    content, unit_tests = yaml.safe_load(altered), yaml.safe_load(UNIT_TESTS.read_text("utf-8"))
    (group,) = content["groups"]
    names = {new["alert"] for old, new in zip(rules(), group["rules"], strict=True) if new != old}
    if names:
        group["rules"] = [rule for rule in group["rules"] if rule["alert"] in names]
        for case in unit_tests["tests"]:
            case["alert_rule_test"] = [test for test in case["alert_rule_test"] if test["alertname"] in names]
        unit_tests["tests"] = [case for case in unit_tests["tests"] if case["alert_rule_test"]]
    (folder / "rules.yml").write_text(yaml.safe_dump(content))
    (folder / "test.yml").write_text(yaml.safe_dump(unit_tests | {"rule_files": [str(folder / "rules.yml")]}))


# Host `old` was replaced by `new`, and its files stayed. Jobs without a cluster may be about several warehouses.
HOSTS = {
    'lagoon_snapshot_captured_timestamp_seconds{kafka_cluster="prod", instance="HOST"}': (0, 300),
    'lagoon_snapshot_complete{kafka_cluster="prod", instance="HOST"}': (0, 1),
    'lagoon_snapshot_groups{kafka_cluster="prod", instance="HOST"}': (9, 8),
    'lagoon_snapshot_under_replicated_partitions{kafka_cluster="prod", instance="HOST"}': (9, 0),
    'lagoon_group_time_lag_seconds{kafka_cluster="prod", group="g", instance="HOST"}': (1000, 10),
    'lagoon_group_time_lag_seconds{kafka_cluster="prod", group="late", instance="HOST"}': (10, 1000),
    'lagoon_run_end_timestamp_seconds{lagoon_job="ingest", kafka_cluster="prod", instance="HOST"}': (0, 300),
    'lagoon_run_status{lagoon_job="ingest", kafka_cluster="prod", status="failed", instance="HOST"}': (1, 0),
    'lagoon_run_status{lagoon_job="ingest", kafka_cluster="prod", status="misconfigured", instance="HOST"}': (0, 1),
    'lagoon_run_records{lagoon_job="ingest", kafka_cluster="prod", instance="HOST"}': (900, 7),
    'lagoon_run_end_timestamp_seconds{lagoon_job="maintain", instance="HOST"}': (0, 300),
    'lagoon_run_status{lagoon_job="maintain", status="failed", instance="HOST"}': (1, 0),
    'lagoon_run_duration_seconds{lagoon_job="maintain", instance="HOST"}': (60, 5),
}
SHOWN = {
    "Newest snapshot": {'{kafka_cluster="prod"}': 1},
    "Runs that failed": {'{lagoon_job="ingest", kafka_cluster="prod"}': 1, '{lagoon_job="maintain"}': 1},
    "Groups behind": {'{kafka_cluster="prod"}': 1},
    "Under-replicated partitions": {'{kafka_cluster="prod"}': 0},
    "Time lag by group": {'{kafka_cluster="prod", group="late"}': 1000, '{kafka_cluster="prod", group="g"}': 10},
    "Seconds of a run": {'{lagoon_job="maintain"}': 60},
    "Records of an ingest": {'{kafka_cluster="prod"}': 7},
}


@pytest.mark.proof
def test_panels_show_the_newest_host(promtool: str, tmp_path: Path) -> None:
    """With a chosen cluster they show its newest snapshot and runs, and jobs that have no cluster."""
    series = [
        {"series": one.replace("HOST", host), "values": str(value)}
        for one, values in HOSTS.items()
        for host, value in zip(("old", "new"), values, strict=True)
    ]
    queries = {panel["title"]: panel["targets"][0]["expr"] for panel in dashboard()["panels"]}
    expected = [
        {
            "expr": queries[title].replace("$cluster", "prod").replace("$group", ".*"),
            "eval_time": "1m",
            "exp_samples": [{"labels": labels, "value": value} for labels, value in samples.items()],
        }
        for title, samples in SHOWN.items()
    ]
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"tests": [{"input_series": series, "promql_expr_test": expected}]}))
    checked([promtool, "test", "rules", str(path)])


@pytest.mark.proof
def test_owners_of_other_metrics_are_those_of_the_newest_host(promtool: str, tmp_path: Path) -> None:
    """The page's query takes the owner of a group from the host with the newest snapshot of its cluster."""
    (query,) = re.findall(r"^```promql\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    given = {
        'lagoon_snapshot_captured_timestamp_seconds{kafka_cluster="prod", instance="old"}': 0,
        'lagoon_snapshot_captured_timestamp_seconds{kafka_cluster="prod", instance="new"}': 300,
        'lagoon_group_info{kafka_cluster="prod", group="moved", owner="a", instance="old"}': 1,
        'lagoon_group_info{kafka_cluster="prod", group="moved", owner="b", instance="new"}': 1,
        'lagoon_group_info{kafka_cluster="prod", group="left", owner="a", instance="old"}': 1,
        'kafka_consumergroup_lag{kafka_cluster="prod", group="moved", topic="t", instance="exporter"}': 7,
        'kafka_consumergroup_lag{kafka_cluster="prod", group="left", topic="t", instance="exporter"}': 8,
    }
    expected = '{kafka_cluster="prod", group="moved", topic="t", instance="exporter", owner="b"}'
    test = {
        "input_series": [{"series": series, "values": str(value)} for series, value in given.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "1m", "exp_samples": [{"labels": expected, "value": 7}]}],
    }
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"tests": [test]}))
    checked([promtool, "test", "rules", str(path)])
