"""Drivers and executors killed at many points of a run: afterwards the tables hold every record once, and ranges tile."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import ROOT, environment, submit

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]
RECORDS_A_ROUND = 60_000


def load(kafka: LocalKafka, topic: str) -> None:
    """A few megabytes, so that a run has a middle."""
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20, "queue.buffering.max.messages": 10**6}
    )
    for number in range(RECORDS_A_ROUND):
        producer.produce(topic, key=b"%d" % number, value=os.urandom(50))
    assert producer.flush(60) == 0


def told(kafka: LocalKafka, warehouse: Path, topic: str) -> list[str]:
    """Small requests and one task a partition: many steps to die between."""
    return [
        *("--warehouse", str(warehouse), "--topics", topic),
        *("--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"),
        *("--set", "ingest.max_partition_fetch_bytes=65536"),
    ]


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """spark-submit in a process group of its own, of which nothing is left at the end."""
    process = subprocess.Popen(
        ["spark-submit", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def wait_for(process: subprocess.Popen[str], step: str) -> bool:
    """Read the job's log up to the line of a step; False if it ended before."""
    assert process.stdout is not None
    return any(f'"name": "{step}"' in line for line in process.stdout)


@pytest.mark.parametrize("rounds", [1, pytest.param(6, marks=[pytest.mark.proof, pytest.mark.timeout(1200)])])
def test_drivers_that_die(kafka: LocalKafka, tmp_path: Path, rounds: int) -> None:
    """SIGKILL of the driver and its workers while it plans, reads and commits; then one run in peace."""
    topic, dice = f"kill-driver-{rounds}", random.Random(20261121)
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 4, 3)])
    load(kafka, topic)
    job = (str(ROOT / "jobs" / "ingest.py"), *told(kafka, tmp_path, topic))
    alive_when_killed = 0
    for step, longest in (("plan", 0.2), *(("read", 1.5), ("commit", 0.25)) * rounds):
        with started(*job) as process:
            assert wait_for(process, step)
            time.sleep(dice.uniform(0, longest))
            alive_when_killed += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
        if step != "plan":
            load(kafka, topic)
    assert alive_when_killed >= rounds, "most runs were over before they could be killed"
    last = submit("ingest", *told(kafka, tmp_path, topic))
    assert last.returncode == 0, last.stdout + last.stderr
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [topic])
    assert_tiled(tmp_path)


def test_executors_that_die(kafka: LocalKafka, tmp_path: Path) -> None:
    """SIGKILL of an executor in the middle of reading: Spark runs its tasks again, and the run ends well."""
    topic = "kill-executor"
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 8, 3)])
    killed = 0
    for delay in (0.5, 1.5):
        load(kafka, topic)
        cluster = ("--master", "local-cluster[2,1,1024]", "--conf", "spark.executor.memory=512m")
        with started(*cluster, str(ROOT / "jobs" / "ingest.py"), *told(kafka, tmp_path, topic)) as process:
            assert wait_for(process, "read")
            executor = executor_of(process.pid)
            time.sleep(delay)
            if process.poll() is None:
                os.kill(executor, signal.SIGKILL)
                killed += 1
            output, _ = process.communicate(timeout=200)
            assert process.returncode == 0, output
    assert killed
    assert archived(tmp_path) == consumed(kafka.bootstrap_servers, [topic])
    assert_tiled(tmp_path)


def executor_of(driver: int) -> int:
    """An executor's process below the driver's, as soon as there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for process in descendants(driver):
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command:
                return process
        time.sleep(0.05)
    raise AssertionError("no executor started")


def descendants(process: int) -> Iterator[int]:
    """Processes that a process has started, and those that these have."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += (thread / "children").read_text().split()
    except FileNotFoundError:
        return
    for child in dict.fromkeys(map(int, children)):
        yield child
        yield from descendants(child)
