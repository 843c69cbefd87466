"""Drivers and executors killed in known states of a run: afterwards every record exists once, and ranges have no gaps.

A run says in its log which step it begins, writes files that a test can see, and waits for the lock that every commit takes.
That tells its state. Where the state was over before the kill came, the test tries again with new records.
"""

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import ROOT, environment, here
from tests.jobs.processes import Job, descendants, running

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]
RECORDS_A_ROUND = 60_000
ATTEMPTS = 5


def in_driver(kafka: LocalKafka, warehouse: Path, topic: str) -> AbstractContextManager[Job]:
    """An ingest that reads in its own process."""
    return running(["lagoon", "ingest", *arguments(kafka, warehouse, topic)], environment(), warehouse)


def started(kafka: LocalKafka, warehouse: Path, topic: str, *spark: str, **environ: str) -> AbstractContextManager[Job]:
    """An ingest by spark-submit."""
    command = ["spark-submit", *spark, str(ROOT / "jobs" / "ingest.py"), *arguments(kafka, warehouse, topic)]
    return running(command, environment(**environ), warehouse)


def arguments(kafka: LocalKafka, warehouse: Path, topic: str) -> list[str]:
    """Make arguments with small requests and one task per partition: reading takes many steps."""
    return [
        *("--warehouse", str(warehouse), "--topics", topic),
        *("--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"),
        *("--set", "ingest.max_partition_fetch_bytes=16384"),
    ]


def load(kafka: LocalKafka, topic: str) -> None:
    """Write a few megabytes in small batches, so that reading takes some hundred requests."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "linger.ms": 20,
            "batch.num.messages": 200,
            "queue.buffering.max.messages": 10**6,
        }
    )
    for number in range(RECORDS_A_ROUND):
        producer.produce(topic, key=b"%d" % number, value=os.urandom(50))
    assert producer.flush(60) == 0


@contextmanager
def commit_lock(warehouse: Path) -> Iterator[None]:
    """Hold the lock of every commit to a table."""
    with (warehouse / ".lagoon-commit.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def commits(warehouse: Path, table: str) -> int:
    """Return the number of versions of a table."""
    return len(list((warehouse / table / "_delta_log").glob("*.json")))


def killed_while_planning(job: Job) -> bool:
    """Kill the run before any record is read."""
    job.wait_until(lambda: job.begins("plan"))
    job.kill()
    return not job.begins("read")


def killed_while_reading(job: Job) -> bool:
    """Kill the run when some data files are written and others are not."""
    job.wait_until(lambda: job.begins("plan"))
    before = job.files("records/ingest_date=*/*.parquet")
    job.wait_until(lambda: job.files("records/ingest_date=*/*.parquet") - before)
    job.kill()
    return not job.begins("commit")


def killed_before_its_commit(job: Job) -> bool:
    """Kill the run when data files and pending files are written, and the commit waits for its lock."""
    job.wait_until(lambda: job.begins("read"))
    before = commits(job.warehouse, "records")
    with commit_lock(job.warehouse):
        job.wait_until(lambda: job.begins("commit") and job.files("records/_lagoon/*/*-record_ranges.parquet"))
        is_waiting = job.process.poll() is None
        job.kill()
        return is_waiting and commits(job.warehouse, "records") == before


def killed_between_its_commits(job: Job) -> bool:
    """Kill the run when records are committed and their ranges are not."""
    job.wait_until(lambda: job.begins("read"))
    records, ranges = commits(job.warehouse, "records"), commits(job.warehouse, "record_ranges")
    job.wait_until(lambda: commits(job.warehouse, "records") > records)
    job.kill()
    return (commits(job.warehouse, "records"), commits(job.warehouse, "record_ranges")) == (records + 1, ranges)


State = Callable[[Job], bool]
STATES: tuple[State, ...] = (
    killed_while_planning,
    killed_while_reading,
    killed_before_its_commit,
    killed_between_its_commits,
)


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("start", [started, in_driver])
def test_drivers_that_die(kafka: LocalKafka, tmp_path: Path, start: Callable[..., AbstractContextManager[Job]]) -> None:
    """After SIGKILL of the driver and its workers in each state, one after another, one undisturbed run completes the tables."""
    topic = f"kill-{start.__name__}"
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 8, 3)])
    for state in STATES:
        for _ in range(ATTEMPTS):
            load(kafka, topic)
            with start(kafka, tmp_path, topic) as job:
                if state(job):
                    break
        else:
            pytest.fail(f"{state.__name__}: {''.join(job.output)}")
    last = here("ingest", *arguments(kafka, tmp_path, topic))
    assert last.returncode == 0, last.stdout + last.stderr
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [topic])
    assert_tiled(tmp_path)


@pytest.mark.proof
@pytest.mark.parametrize("executors", [1, 2])
def test_executors_that_die(kafka: LocalKafka, tmp_path: Path, executors: int) -> None:
    """After SIGKILL of an executor during reading Spark runs its tasks again, and the run ends well."""
    topic = f"kill-executor-{executors}"
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 8, 3)])
    for _ in range(ATTEMPTS):
        load(kafka, topic)
        cluster = ("--master", f"local-cluster[{executors},1,1024]", "--conf", "spark.executor.memory=512m")
        with started(kafka, tmp_path, topic, *cluster) as job:
            is_lost = executor_killed_while_reading(job)
        assert job.process.returncode == 0, "".join(job.output)
        assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [topic])
        assert_tiled(tmp_path)
        if is_lost:
            return
    pytest.fail("reading was over before an executor was killed")


def executor_killed_while_reading(job: Job) -> bool:
    """Return True if an executor died after the first data file was written and before all were."""
    job.wait_until(lambda: job.begins("read"))
    executors: list[int] = []
    job.wait_until(lambda: executors.extend(executors_of(job.process.pid)) or executors)
    before = job.files("records/ingest_date=*/*.parquet")
    job.wait_until(lambda: job.files("records/ingest_date=*/*.parquet") - before)
    os.kill(executors[0], signal.SIGKILL)
    job.end()
    lines = [number for number, line in enumerate(job.output) if "Lost executor" in line]
    commit = next(number for number, line in enumerate(job.output) if '"name": "commit"' in line)
    return bool(lines) and lines[0] < commit


def executors_of(driver: int) -> list[int]:
    """Return executors' processes below the driver's."""
    return [process for process in descendants(driver) if is_executor(process)]


def is_executor(process: int) -> bool:
    """Return True if a process is one of Spark's executors, and alive."""
    try:
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return False
