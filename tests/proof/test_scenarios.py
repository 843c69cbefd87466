"""Histories that are short and kept as files: each plays its faults, and the judge finds nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proof.history import History
from tests.proof.play.cluster import Cluster3, cluster
from tests.proof.play.player import play

pytestmark = [pytest.mark.proof, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1200)]
FOLDER = Path(__file__).parent / "scenarios"
# Faults that must happen. Others depend on how fast the machine is.
HAPPENS = {
    "broken-connections": ["network truncate", "network reset", "network cut"],
    "cut-off-brokers": ["peers cut", "controllers cut", "passwords rotated"],
    "dead-broker": ["broker kill"],
    "dying-alterations": ["apply: group killed", "drifts", "controller pause"],
    "dying-drivers": ["ingest: group killed"],
    "dying-restores": ["restore: group killed"],
    "dying-sinks": ["sink: group killed"],
    "dying-snapshots": ["snapshot: group killed"],
    "dying-workers": ["ingest: worker killed"],
    "failed-log-dir": ["log dir failed"],
    "frozen-broker": ["broker pause"],
    "full-disk": ["disk full"],
    "in-a-bucket": ["store: refuse", "store: lose", "ingest: group killed"],
    "orphans": ["ingest: driver killed"],
    "others-change-tables": ["Spark DELETE", "Spark RESTORE", "RESTORE undone", "retention of records", "clock steps"],
    "topics-that-change": ["DeleteRecords", "topics re-created", "topics grown", "leaders moved"],
    "unclean-election": ["unclean elections"],
}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster3]:
    """Run the cluster of all scenarios."""
    with cluster(tmp_path_factory.mktemp("proof")) as running:
        yield running


@pytest.mark.parametrize("name", HAPPENS)
def test_scenario(brokers: Cluster3, name: str) -> None:
    """The faults happen, and nothing is lost, doubled, altered, silent, stuck or secret."""
    outcome = play(brokers, History.parse((FOLDER / f"{name}.txt").read_text("utf-8")))
    assert outcome.verdict.findings == []
    assert [fault for fault in HAPPENS[name] if not outcome.happened[fault]] == []


def test_every_file_is_played() -> None:
    """There is no other file."""
    assert {path.stem for path in FOLDER.iterdir()} == set(HAPPENS)
