"""Jobs die at points and are run again; a durable effect that has no point is found. `python -m tests.proof.points` tries all."""

from collections.abc import Iterator, Mapping

import pytest

from tests.proof.points.__main__ import Counts, died, recorded
from tests.proof.points.effects import points
from tests.proof.points.jobs import Job, new_jobs
from tests.proof.points.world import World, new_world

pytestmark = [pytest.mark.proof, pytest.mark.kafka, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One broker, and a folder."""
    with new_world(tmp_path_factory.mktemp("points") / "world") as made:
        yield made


@pytest.fixture(scope="module")
def jobs(world: World) -> Mapping[str, Job]:
    """Jobs with topics of their own."""
    return new_jobs(world)


def test_every_effect_has_a_point(world: World, jobs: Mapping[str, Job]) -> None:
    """All files that change, and all requests that change something, are in the log."""
    counts = Counts()
    for name, wanted in (("snapshot", "delta.publish._write:commit snapshots#1"), ("apply", "CreateTopics#1")):
        assert any(point.endswith(wanted) for point in points(recorded(world, jobs[name], counts)))
    assert not counts.failures


@pytest.mark.parametrize(
    ("job", "left_out", "problem"),
    [
        ("snapshot", "io.open", "snapshots/"),
        ("snapshot", "kafka_lagoon.delta.storage.delete.delete", ".lagoon-probe-"),
        ("snapshot", "kafka_lagoon.delta.kernel.append.commit", "snapshots/_delta_log: 1 commits, 0 effects"),
        ("snapshot", "kafka_lagoon.delta.kernel.checkpoint.writeCheckpoint", "checkpoint.parquet"),
        ("apply", "requests", "CreateTopics: "),
    ],
)
def test_an_effect_without_a_point_is_found(
    world: World, jobs: Mapping[str, Job], job: str, left_out: str, problem: str
) -> None:
    """Files by the watch from outside, requests by the relay."""
    counts = Counts()
    recorded(world, jobs[job], counts, left_out)
    assert counts.numbers["unexplained"] == len(counts.failures) > 0
    assert any(problem in failure for failure in counts.failures), counts.failures


@pytest.mark.parametrize(
    "point", ["delta.publish._write:commit snapshots#1", "LagoonLocalLogStore:remove snapshots temporary file#1"]
)
def test_a_snapshot_that_dies(world: World, jobs: Mapping[str, Job], point: str) -> None:
    """Before and after the commit that publishes it: the process that waited publishes the slot, or says that it is."""
    counts = Counts()
    died(world, jobs["snapshot"], point, counts, is_alone=False, resumes=False)
    assert counts.failures == []
    assert counts.numbers["deaths"] == counts.numbers["seconds_waited"] == 1
