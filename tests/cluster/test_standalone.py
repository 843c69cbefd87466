"""Ingests whose tasks run on a standalone cluster: ways to install the package, and failures of executors.

Every run is held against what another client reads from the same brokers: each record once, and ranges that tile.
"""

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.cluster.packed import pack
from tests.cluster.standalone import Standalone
from tests.installed import CLONE
from tests.integration.restore_process import send
from tests.integration.state import create_topics
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.processes import TIMEOUT_S, Job
from tests.jobs.test_kill import ATTEMPTS, load, started

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.proof, pytest.mark.timeout(900)]
# Several tasks; the driver has the Python of the tests, with any Python on executors.
SMALL_TASKS = {"LAGOON_INGEST__TASK_MB": "1", "PYSPARK_DRIVER_PYTHON": sys.executable}
INSTALLED = SMALL_TASKS | {"PYSPARK_PYTHON": sys.executable}
ESTABLISHED = "01"  # state of a connection in /proc/net/tcp
# The environment of the tests may refer to another clone, where `make setup` was run.
THIS_CLONE = {"spark.executorEnv.PYTHONPATH": str(CLONE / "pipeline")}
PACKED = SMALL_TASKS | {"PYSPARK_PYTHON": "./lagoon/bin/python"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master and two workers of one core each."""
    with Standalone(tmp_path_factory.mktemp("standalone") / "cluster") as running:
        yield running


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment, packed."""
    return pack(tmp_path_factory.mktemp("packed"))


def topic_of(kafka: LocalKafka, name: str) -> str:
    """Make a topic of eight partitions with a few megabytes."""
    create_topics(kafka.bootstrap_servers, [NewTopic(name, 8, 3)])
    load(kafka, name)
    return name


def on(cluster: Standalone, **conf: str) -> list[str]:
    """Make options of spark-submit."""
    settings = {"spark.executor.cores": "1", "spark.executor.memory": "512m", **conf}
    recipe = ["--properties-file", str(cluster.properties)]
    return [
        "--master",
        cluster.master,
        *recipe,
        *(word for pair in settings.items() for word in ("--conf", "=".join(pair))),
    ]


def check(job: Job, kafka: LocalKafka, topic: str) -> None:
    """Check that the run ended well, and the tables are equal to the brokers' records."""
    assert job.process.returncode == 0, "".join(job.output)
    assert archived(job.warehouse) == consumed(kafka.bootstrap_servers, [topic])
    assert_tiled(job.warehouse)


def test_a_packed_environment(cluster: Standalone, kafka: LocalKafka, archive: Path, tmp_path: Path) -> None:
    """Executors without our packages take all from the archive, with the compiled decoder; their home stays empty."""
    topic = topic_of(kafka, "cluster-packed")
    before = cluster.executor_folders()
    with started(kafka, tmp_path / "lake", topic, *on(cluster), "--archives", f"{archive}#lagoon", **PACKED) as job:
        job.end()
    check(job, kafka, topic)
    executors = cluster.executor_folders() - before
    assert len(executors) == 2
    assert all((folder / "lagoon" / "bin" / "python").exists() for folder in executors)
    assert not cluster.left_at_home()
    for folder in executors:
        shutil.rmtree(folder / "lagoon")  # half a gigabyte for each


def test_an_installed_package(cluster: Standalone, kafka: LocalKafka, tmp_path: Path) -> None:
    """With the package on each machine, PYSPARK_PYTHON names its Python, and the decoder is that of its environment."""
    topic = topic_of(kafka, "cluster-installed")
    with started(kafka, tmp_path / "lake", topic, *on(cluster, **THIS_CLONE), **INSTALLED) as job:
        job.end()
    check(job, kafka, topic)
    assert not cluster.left_at_home()  # nothing was compiled


def attempted(
    interfere: Callable[[Job], bool], cluster: Standalone, kafka: LocalKafka, lake: Path, topic: str, **conf: str
) -> None:
    """Return a run that is interfered with while its tasks read; repeat it with another run if reading ended before."""
    for _ in range(ATTEMPTS):
        with started(kafka, lake, topic, *on(cluster, **THIS_CLONE, **conf), **INSTALLED) as job:
            happened = interfere(job)
            job.end()
        check(job, kafka, topic)
        if happened:
            return
        load(kafka, topic)
    pytest.fail("reading was always over before")


def reading(job: Job, find: Callable[[], list[int]]) -> list[int]:
    """Wait until some data files of this run exist and others are missing; return the processes at that time."""
    job.wait_until(lambda: job.begins("read"))
    before = job.files("records/ingest_date=*/*.parquet")
    job.wait_until(lambda: job.files("records/ingest_date=*/*.parquet") - before)
    return [] if job.begins("commit") else find()


def test_an_executor_that_is_killed(cluster: Standalone, kafka: LocalKafka, tmp_path: Path) -> None:
    """The master starts another executor, which runs the tasks again, and no record is written twice."""

    def kill(job: Job) -> bool:
        executors = reading(job, cluster.executors)
        for pid in executors[:1]:
            send(pid, signal.SIGKILL)
        job.end()
        return bool(executors) and any("Lost executor" in line for line in job.output)

    topic = topic_of(kafka, "cluster-killed")
    attempted(kill, cluster, kafka, tmp_path / "lake", topic)


def asks(pid: int, servers: str) -> bool:
    """Return True if a process has a connection to a broker, as a worker has while it reads a task's records."""
    ports = {int(address.rpartition(":")[2]) for address in servers.split(",")}
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    sockets = {
        f"socket:[{row[9]}]" for row in rows if row[3] == ESTABLISHED and int(row[2].partition(":")[2], 16) in ports
    }
    try:
        return any(str(path.readlink()) in sockets for path in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return False


def test_a_task_that_runs_twice(cluster: Standalone, kafka: LocalKafka, tmp_path: Path) -> None:
    """With speculation a second attempt overtakes a hanging worker; files that the first one writes later are never visible."""
    lake, topic = tmp_path / "lake", topic_of(kafka, "cluster-speculation")
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
    }

    def busy() -> list[int]:
        return [pid for pid in cluster.python_workers() if asks(pid, kafka.bootstrap_servers)]

    def stop(job: Job) -> bool:
        stopped: list[int] = []
        job.wait_until(lambda: stopped.extend(busy()[:1]) or stopped or job.begins("commit"))
        for pid in stopped:
            send(pid, signal.SIGSTOP)
        was_in_a_task = any(asks(pid, kafka.bootstrap_servers) for pid in stopped)
        try:
            job.wait_until(lambda: job.begins("commit"))  # it waits for the hanging task, or for its other attempt
        finally:
            for pid in stopped:
                send(pid, signal.SIGCONT)
        return was_in_a_task

    attempted(stop, cluster, kafka, lake, topic, **speculation)


def test_executors_that_come_and_go(cluster: Standalone, kafka: LocalKafka, tmp_path: Path) -> None:
    """With dynamic allocation a run starts without executors, requests them for its tasks, and survives their removal."""
    topic = topic_of(kafka, "cluster-dynamic")
    before = cluster.executor_folders()
    allocation = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
    }
    with started(kafka, tmp_path / "lake", topic, *on(cluster, **THIS_CLONE, **allocation), **INSTALLED) as job:
        job.end()
    check(job, kafka, topic)
    assert cluster.executor_folders() - before
    deadline = time.monotonic() + TIMEOUT_S
    while cluster.executors() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not cluster.executors()
