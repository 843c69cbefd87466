"""What one task of an ingest does with its splits when time is short, without Spark and without brokers that are real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import BROKER_STALLED, RUN_DEADLINE_PASSED
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskSettings, archive
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.fetch.reading import small
from tests.short_timeouts import short_timeouts


@pytest.fixture
def state() -> Iterator[FakeCluster]:
    """Topic t with eight partitions of four records each, led by one broker."""
    state = FakeCluster()
    for partition in state.add_topic("t", 8, end=0).partitions:
        partition.append(batch(0, [b"v"] * 4))
        partition.leader_id = 1
    with fake_cluster(state):
        yield state


def task(state: FakeCluster, *partitions: int) -> Task:
    topic_id = uuid_text(state.topics["t"].topic_id)
    return Task(
        splits=tuple(
            Split(topic="t", topic_id=topic_id, partition=number, from_offset=0, to_offset=4, stable_end=4)
            for number in partitions
        )
    )


def task_settings(state: FakeCluster, folder: Path, run: str = "run", **options: int) -> TaskSettings:
    return TaskSettings(
        kafka=short_timeouts(state),
        clock=CLOCK,
        options=small(**options),
        folder=f"file:{folder}",
        ingest_id=run,
        cluster="n",
        cluster_id="c",
        target_bytes=1 << 20,
        compression="zstd-fast",
    )


def failures(settings: TaskSettings, task: Task) -> list[str | None]:
    return [one.failure for one in archive(settings, task).outcome.outcomes]


def test_a_task_whose_turn_comes_too_late(state: FakeCluster, tmp_path: Path) -> None:
    """The run's deadline is one moment, however long tasks wait for a core: nobody is asked, and nothing is written."""
    settings = task_settings(state, tmp_path, ends_at_ms=CLOCK.now_ms() - 1)
    assert failures(settings, task(state, 0, 1)) == [RUN_DEADLINE_PASSED] * 2
    assert state.requests == []
    assert not list(tmp_path.iterdir())


def test_a_stall_is_known_to_later_tasks(state: FakeCluster, tmp_path: Path) -> None:
    """Also to those of the same run that this process gets later; another run asks all of them."""
    state.faults.append(Fault(FETCH.key, Close(), times=1_000_000))
    settings = task_settings(state, tmp_path, stall_timeout_ms=100)
    assert failures(settings, task(state, 0, 1)) == ["CONNECTION_LOST"] * 2
    assert failures(settings, task(state, 2, 3, 4)) == ["CONNECTION_LOST"] * 2 + [BROKER_STALLED]
    state.faults.clear()
    assert failures(task_settings(state, tmp_path, "next", stall_timeout_ms=5_000), task(state, 4, 5)) == [None, None]


def test_a_broker_that_is_well_again(state: FakeCluster, tmp_path: Path) -> None:
    """What stalled once is read by a later task, and partitions after it as well."""
    state.faults.append(Fault(FETCH.key, Close(), times=1_000_000))
    settings = task_settings(state, tmp_path, stall_timeout_ms=100)
    assert failures(settings, task(state, 0, 1, 2)) == ["CONNECTION_LOST"] * 3
    state.faults.clear()
    assert failures(settings, task(state, 0, 1, 2, 3)) == [None] * 4
