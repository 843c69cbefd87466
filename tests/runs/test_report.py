"""The run of a report makes one document with the pages of all clusters."""

from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.report.page import RELATIONS, render
from kafka_lagoon.runs.report import ReportOptions, chosen_scopes, make_report
from tests.delta.lake import make_lake
from tests.delta.samples import NOON_MS, snapshot

pytestmark = pytest.mark.long


def test_one_page_for_all_clusters(tmp_path: Path) -> None:
    """Clusters are in the order of their names; the title has the names unless another title is given."""
    lake = make_lake(
        tmp_path, [snapshot(1, cluster="b", status="complete"), snapshot(2, cluster="a", status="complete")]
    )
    with opened(lake, RELATIONS) as ask:
        made = make_report(chosen_scopes(ask, ReportOptions()), ReportOptions(), NOON_MS)
    assert [page.snapshot.cluster for page in made.clusters] == ["a", "b"]
    assert "<title>Kafka report: a, b</title>" in made.html
    assert made.problems == []
    assert render(made.clusters, "Ours & yours", NOON_MS).count("<title>Ours &amp; yours</title>") == 1
