"""A task of an ingest handles its splits correctly when time is short, with fake brokers and without Spark."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext

from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import BROKER_STALLED, RUN_DEADLINE_PASSED
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskSettings, archive, archive_or_repeat
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault, Hang
from tests.fetch.reading import damage, small
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


def task(state: FakeCluster, *partitions: int, expected_bytes: int | None = None) -> Task:
    topic_id = uuid_text(state.topics["t"].topic_id)
    return Task(
        splits=tuple(
            Split(
                topic="t",
                topic_id=topic_id,
                partition=number,
                from_offset=0,
                to_offset=4,
                stable_end=4,
                expected_bytes=expected_bytes,
            )
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


def ends(settings: TaskSettings, task: Task) -> list[tuple[str | None, int, int]]:
    """The failure, the next offset and the number of counted offsets of each split."""
    outcomes = archive(settings, task).outcome.outcomes
    return [(one.failure, one.next_offset, one.counts.offsets()) for one in outcomes]


def test_a_task_whose_turn_comes_too_late(state: FakeCluster, tmp_path: Path) -> None:
    """The run's deadline is a fixed time, also for tasks that wait for a core: no request is sent and nothing written."""
    settings = task_settings(state, tmp_path, ends_at_ms=CLOCK.now_ms() - 1)
    assert ends(settings, task(state, 0, 1)) == [(RUN_DEADLINE_PASSED, 0, 0)] * 2
    assert state.requests == []
    assert not list(tmp_path.iterdir())


def test_an_executor_that_reaches_no_broker(state: FakeCluster, tmp_path: Path) -> None:
    """Each split ends where it begins, so that the next run reads its offsets, and nothing is written."""
    state.faults.append(Fault(METADATA.key, Close(), times=1_000_000))
    assert ends(task_settings(state, tmp_path, "apart"), task(state, 0, 1)) == [("CONNECTION_FAILED", 0, 0)] * 2
    assert not list(tmp_path.iterdir())


def test_a_broker_that_starts_later_than_a_task(state: FakeCluster, tmp_path: Path) -> None:
    """The driver has planned with it, so the task waits for it, and reads all."""
    state.faults.append(Fault(API_VERSIONS.key, Close(), times=40))
    assert ends(task_settings(state, tmp_path, "late"), task(state, 0, 1)) == [(None, 4, 4)] * 2


@pytest.mark.long
def test_a_stall_is_known_to_later_tasks(state: FakeCluster, tmp_path: Path) -> None:
    """Later tasks of the same run in this process know it, too; another run tries all brokers."""
    state.faults.append(Fault(FETCH.key, Close(), times=1_000_000))
    settings = task_settings(state, tmp_path, stall_timeout_ms=400)
    assert failures(settings, task(state, 0, 1)) == ["CONNECTION_LOST"] * 2
    assert failures(settings, task(state, 2, 3, 4)) == ["CONNECTION_LOST"] * 2 + [BROKER_STALLED]
    state.faults.clear()
    assert failures(task_settings(state, tmp_path, "next", stall_timeout_ms=5_000), task(state, 4, 5)) == [None, None]


def test_a_broker_that_is_well_again(state: FakeCluster, tmp_path: Path) -> None:
    """A partition that stalled is read by a later task, and so are the partitions after it."""
    state.faults.append(Fault(FETCH.key, Close(), times=1_000_000))
    settings = task_settings(state, tmp_path, stall_timeout_ms=400)
    assert failures(settings, task(state, 0, 1, 2)) == ["CONNECTION_LOST"] * 3
    state.faults.clear()
    assert failures(settings, task(state, 0, 1, 2, 3)) == [None] * 4


@pytest.mark.parametrize(("attempt", "attempts"), [(0, 4), (2, 4), (3, 4), (0, 1)])
def test_a_task_that_cannot_write(
    state: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int, attempts: int
) -> None:
    """Spark repeats it, so that other executors try, too; the error of its last attempt is a result."""
    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(attemptNumber=lambda: attempt))
    (tmp_path / "a file").touch()
    settings = task_settings(state, tmp_path / "a file" / "folder")
    if attempt < attempts - 1:
        with pytest.raises(TableError, match="cannot be written"):
            archive_or_repeat(attempts, settings, task(state, 0))
    else:
        result = archive_or_repeat(attempts, settings, task(state, 0))
        assert "cannot be written" in str(result.error)
        assert not result.files


def test_small_partitions_share_a_request_and_a_file(state: FakeCluster, tmp_path: Path) -> None:
    """A partition with a damaged log is read alone, and each record has its own topic and partition."""
    damaged = state.topics["t"].partitions[3].log[0]
    damaged.data = damage(damaged, 70)
    settings = task_settings(state, tmp_path, "sharing", fetch_bytes=1 << 20)
    result = archive(settings, task(state, *range(8), expected_bytes=100))
    outcomes = {one.split.partition: one for one in result.outcome.outcomes}
    assert {number: (one.counts.records, one.counts.corrupt, one.failure) for number, one in outcomes.items()} == {
        number: (0, 4, None) if number == 3 else (4, 0, None) for number in range(8)
    }
    assert {key.partition: count for key, count in result.outcome.files.items() if count} == dict.fromkeys(
        [0, 1, 2, 4, 5, 6, 7], 1
    )
    (file,) = result.files
    rows = pq.read_table(file.url.removeprefix("file:"), columns=["topic", "partition", "offset"]).to_pylist()
    wanted = [("t", number, offset) for number in range(8) for offset in range(4) if number != 3]
    assert [tuple(row.values()) for row in rows] == wanted
    assert state.count(FETCH.key) == 2  # the damaged batch is fetched once more


def test_a_broker_that_hangs_is_known_to_later_tasks(state: FakeCluster, tmp_path: Path) -> None:
    """A stalled request for several partitions counts as one for a single partition does."""
    state.faults.append(Fault(FETCH.key, Hang(), times=1_000_000))
    settings = task_settings(state, tmp_path, "hanging", stall_timeout_ms=100, fetch_bytes=1 << 20)
    shared = failures(settings, task(state, 0, 1, 2, 3, expected_bytes=100))
    assert shared.count(BROKER_STALLED) == 1
    assert failures(settings, task(state, 4, 5, expected_bytes=100)) == [BROKER_STALLED] * 2
    state.faults.clear()
    calm = task_settings(state, tmp_path, "calm", stall_timeout_ms=5_000, fetch_bytes=1 << 20)
    assert failures(calm, task(state, 4, 5, expected_bytes=100)) == [None, None]


def test_an_executor_loads_little() -> None:
    """Modules of the driver took two thirds of the processor time before a process's first task."""
    of_tasks = "delta.executors", "ingest.archive_task", "fetch.small_partitions", "fetch.reader", "delta.record_files"
    lines = [*(f"import kafka_lagoon.{name}" for name in of_tasks), "import sys", "print(*sys.modules)"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "kafka_lagoon.fetch.reader" in loaded
    of_drivers = "settings", "snapshot", "apply", "fetch.planning", "tables.schema", "delta.warehouse"
    assert not loaded & {"pydantic", *(f"kafka_lagoon.{name}" for name in of_drivers)}
