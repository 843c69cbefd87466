"""Restores that are killed by SIGKILL, again and again, at any moment: in the end every record is there once."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics
from tests.integration.test_restore import arguments, check_map, ingest, read_all
from tests.jobs.commands import environment, here

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]
_SHORT_ROUNDS = ("--set", "restore.commit_interval_ms=200", "--with-configs")


def archive(kafka: LocalKafka, lake: Path, topic: str, records: int) -> None:
    """A topic of three partitions, archived, with its snapshot."""
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 3, 1)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "queue.buffering.max.messages": 10**6})
    for number in range(records):
        producer.produce(topic, key=b"%d" % number, value=os.urandom(200))
    assert producer.flush(60) == 0
    ingest(lake, kafka, [topic])
    cluster = f"clusters.old.bootstrap_servers={kafka.bootstrap_servers}"
    assert here("snapshot", "--warehouse", str(lake), "--set", cluster).returncode == 0


def killed(command: list[str], after_s: float, *, workers_too: bool) -> int | None:
    """Start a restore and kill it so long after it began to write; its exit code, None if it was killed.

    Without `workers_too` its Python workers live on for a while, and may still be writing when the next one begins.
    """
    process = subprocess.Popen(
        ["lagoon", *command],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    output: list[str] = []
    assert process.stdout
    reading = Thread(target=output.extend, args=(process.stdout,), daemon=True)
    reading.start()
    deadline = time.monotonic() + 120
    while process.poll() is None and not any('"name": "write"' in line for line in output):
        assert time.monotonic() < deadline, "".join(output)
        time.sleep(0.005)
    time.sleep(after_s)
    if process.poll() is None:
        (os.killpg if workers_too else os.kill)(process.pid, signal.SIGKILL)
    return None if process.wait(60) < 0 else process.returncode


def kill_and_go_on(
    kafka: LocalKafka, target: LocalKafka, lake: Path, topic: str, new: str, kills: int, *more: str
) -> None:
    """Killed so often, then left alone."""
    command = arguments(lake, kafka, target, "--topics", topic, "--rename", f"{topic}={new}", *_SHORT_ROUNDS, *more)
    dice = random.Random(kills)
    for number in range(kills):
        code = killed(command, dice.random() * 1.5, workers_too=number % 2 == 0)
        if code == 0:
            break
        assert code is None
    done = here(*command)
    assert done.returncode in (0, 2), done.stderr  # 2: it was finished before, and the target has records
    assert read_all(target, new)[0] == read_all(kafka, topic)[0]
    check_map(lake, kafka, target, topic, new)


@pytest.fixture(scope="module")
def lake(kafka: LocalKafka, spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """An archive of one topic, of some megabytes."""
    folder = tmp_path_factory.mktemp("killed") / "lake"
    archive(kafka, folder, "kill", 60_000)
    return folder


def test_a_killed_restore_goes_on(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path) -> None:
    """The driver alone is killed: its workers may write on while the next run begins."""
    command = arguments(lake, kafka, kafka_392, "--topics", "kill", "--rename", "kill=killed", *_SHORT_ROUNDS)
    killed(command, 0.1, workers_too=False)
    done = here(*command)
    assert done.returncode in (0, 2), done.stderr
    assert read_all(kafka_392, "killed")[0] == read_all(kafka, "kill")[0]
    check_map(lake, kafka, kafka_392, "kill", "killed")


@pytest.mark.proof
@pytest.mark.parametrize("form", ["plain", "transactional"])
def test_restores_killed_at_many_points(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str) -> None:
    """Drivers with and without their workers, with and without transactions."""
    more = ["--transactional"] if form == "transactional" else []
    for attempt in range(4):
        kill_and_go_on(kafka, kafka_392, lake, "kill", f"kill-{form}-{attempt}", 5, *more)
