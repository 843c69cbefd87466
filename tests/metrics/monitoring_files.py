"""Every declared metric, and the queries of conf/prometheus and conf/grafana."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kafka_lagoon.metrics import groups, run, snapshots
from kafka_lagoon.metrics.exposition import Metric

ROOT = Path(__file__).resolve().parent.parent.parent
RULES, DASHBOARD = ROOT / "conf/prometheus/lagoon.rules.yml", ROOT / "conf/grafana/lagoon.json"
PAGE = ROOT / "docs/monitoring.md"
METRICS = {
    value.name: value
    for module in (run, snapshots, groups)
    for value in vars(module).values()
    if isinstance(value, Metric)
}
_VARIABLE = re.compile(r"label_values\((.+), \w+\)")


def rules() -> list[dict[str, Any]]:
    """Return every alert."""
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    alerts: list[dict[str, Any]] = group["rules"]
    return alerts


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return loaded


def dashboard_expressions() -> Iterator[str]:
    """Return every query of the dashboard, of its panels and of its variables, as Grafana sends them."""
    board = dashboard()
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    variables = [one["query"]["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    queries += [match[1] for match in map(_VARIABLE.fullmatch, variables) if match]
    for query in queries:
        yield query.replace("$cluster", ".*").replace("$group", ".*")


def expressions() -> list[str]:
    return [*(rule["expr"] for rule in rules()), *dashboard_expressions()]
