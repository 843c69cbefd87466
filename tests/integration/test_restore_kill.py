"""Restores whose processes are killed repeatedly at any time: in the end every record exists once."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.restore_process import RestoreProcess, send
from tests.integration.state import create_topics
from tests.integration.test_restore import arguments, check_map, ingest, read_all
from tests.jobs.commands import here, rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]
PARTITIONS, RECORDS = 3, 60_000
# About 2,000 batches, so that there are many moments between them.
SMALL_BATCHES = {"max.message.bytes": "6000"}
REPEATING, WORKER_KILLS = "local[2,4]", 30
NO_MASTER = "no-such-master"  # a session of Spark cannot be started
FORMS = {"plain": [], "transactional": ["--transactional"]}
PLACES = {"executors": ["--set", "restore.local_max_bytes=0"], "driver": []}


class Target:
    """The target topic, and the command that restores into it, by tasks on executors or in its own process."""

    def __init__(
        self, kafka: LocalKafka, target: LocalKafka, lake: Path, topic: str, form: str, place: str = "executors"
    ) -> None:
        self.source, self.kafka, self.lake, self.topic = kafka, target, lake, topic
        given = ["--topics", "kill", "--rename", f"kill={topic}", "--with-configs", *FORMS[form], *PLACES[place]]
        self.command = arguments(lake, kafka, target, *given)
        self._watching = Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": "watches"})

    def end(self) -> int:
        """Return the sum of the high watermarks of all partitions; 0 without a topic."""
        try:
            ends = [
                self._watching.get_watermark_offsets(TopicPartition(self.topic, number), timeout=10)
                for number in range(PARTITIONS)
            ]
        except KafkaException:
            return 0
        return sum(end for _, end in ends)

    def grown_by(self, records: int) -> Callable[[], bool]:
        """Make a condition: true once this many records have been added."""
        wanted = self.end() + records
        return lambda: self.end() >= wanted

    def check(self) -> None:
        """Let the restore finish: every record exists once, at its mapped offset, and was read back."""
        done = here(*self.command)
        assert done.returncode in (0, 2), done.stdout + done.stderr
        if done.returncode:  # it may have ended before, and the target has records
            assert f"topic {self.topic} has records" in done.stderr
        assert read_all(self.kafka, self.topic)[0] == read_all(self.source, "kill")[0]
        check_map(self.lake, self.source, self.kafka, "kill", self.topic)
        receipts = receipts_of(self.lake, self.topic)
        assert len(receipts) >= PARTITIONS
        assert all(row["problem"] is None for row in receipts)


def receipts_of(lake: Path, topic: str) -> list[dict[str, object]]:
    """Return the receipts of a topic of the target."""
    return [row for row in rows(lake, "restore_receipts") if row["target_topic"] == topic]


@contextmanager
def woken(target: Target, workers: Sequence[int]) -> Iterator[None]:
    """Resume workers of an earlier run once the next one writes, and kill them at the end."""
    ended = Event()
    waking = Thread(target=_wake, args=(target.grown_by(500), workers, ended))
    waking.start()
    try:
        yield
    finally:
        ended.set()
        waking.join()
        for pid in workers:
            send(pid, signal.SIGKILL)


def _wake(is_writing: Callable[[], bool], workers: Sequence[int], ended: Event) -> None:
    while not (is_writing() or ended.wait(0.002)):
        pass
    for pid in workers:
        send(pid, signal.SIGCONT)


def killed(target: Target, how: str, records: int, *more: str) -> list[int]:
    """Start a restore and kill it after this many written records; return the workers that were stopped."""
    with RestoreProcess([*target.command, *more]) as process:
        still_runs = process.wait_until(target.grown_by(records))
        assert still_runs or process.exit_code() in (0, 2), "".join(process.output)
        return _kill(process, how)


def _kill(process: RestoreProcess, how: str) -> list[int]:
    match how:
        case "stop workers":
            return process.leave_stopped_workers()
        case "driver":
            process.kill_driver()
        case "all":
            process.kill_all()
    return []


@pytest.fixture(scope="module")
def lake(kafka: LocalKafka, spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """Make an archive of one topic, of some megabytes, with a snapshot."""
    folder = tmp_path_factory.mktemp("killed") / "lake"
    create_topics(kafka.bootstrap_servers, [NewTopic("kill", PARTITIONS, 1, config=SMALL_BATCHES)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "batch.size": 5_000})
    value = os.urandom(200)
    for number in range(RECORDS):
        producer.produce("kill", key=b"%d" % number, value=value)
        producer.poll(0)
    assert producer.flush(60) == 0
    ingest(folder, kafka, ["kill"])
    cluster = f"clusters.old.bootstrap_servers={kafka.bootstrap_servers}"
    assert here("snapshot", "--warehouse", str(folder), "--set", cluster).returncode == 0
    return folder


@pytest.mark.parametrize(("form", "how"), [("plain", "driver"), ("transactional", "stop workers")])
def test_a_killed_restore_goes_on(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str, how: str) -> None:
    """Spark repeats the task of a killed worker; workers may continue to write after the driver, while the next run writes."""
    target = Target(kafka, kafka_392, lake, f"killed-{form}", form)
    # There are two workers: more than two partitions means a repeated task.
    has_begun, has_begun_again = target.grown_by(RECORDS // 30), target.grown_by(RECORDS * 3 // 4)
    with RestoreProcess(target.command, REPEATING) as process:
        assert process.wait_until(has_begun)
        send(process.workers()[0], signal.SIGKILL)
        process.wait_until(has_begun_again)
        stopped = _kill(process, how)
    assert not receipts_of(lake, target.topic)
    with woken(target, stopped):
        target.check()


@pytest.mark.parametrize("form", FORMS)
def test_a_killed_restore_without_spark_goes_on(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str
) -> None:
    """A restore that writes in its own process is killed while it writes; its next run writes the rest, and no record twice."""
    target = Target(kafka, kafka_392, lake, f"alone-{form}", form, "driver")
    has_begun = target.grown_by(RECORDS // 6)
    with RestoreProcess(target.command, NO_MASTER) as process:
        assert process.wait_until(has_begun), "".join(process.output)
        assert not process.workers()
        process.kill_driver()
    assert 0 < target.end() < RECORDS
    assert not receipts_of(lake, target.topic)
    target.check()


@pytest.mark.proof
@pytest.mark.parametrize("form", FORMS)
def test_workers_that_are_killed_are_replaced(kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str) -> None:
    """Spark repeats their tasks, which find the written records: the restore ends normally."""
    target = Target(kafka, kafka_392, lake, f"workers-{form}", form)
    dice = random.Random(form)
    kills = 0
    with RestoreProcess(target.command, f"local[2,{WORKER_KILLS + 1}]") as process:
        while kills < WORKER_KILLS:
            more = 1 + dice.randrange(RECORDS // WORKER_KILLS // 2)
            if not process.wait_until(target.grown_by(more)):
                break
            for pid in process.workers()[:1]:
                send(pid, signal.SIGKILL)
                kills += 1
        assert process.exit_code() == 0, "".join(process.output)
    assert kills > 1  # as many kills as there was time for: 60,000 records are written in a second or two
    target.check()


@pytest.mark.proof
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_restores_killed_at_many_points(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, form: str, place: str
) -> None:
    """Drivers are killed with and without their workers, and workers are resumed when the next run writes."""
    dice = random.Random(form)
    target = Target(kafka, kafka_392, lake, f"points-{form}-{place}", form, place)
    stopped: list[int] = []
    for how in ("driver", "all", "stop workers", "stop workers", "driver", "stop workers"):
        with woken(target, stopped):
            records, round_ms = 1 + dice.randrange(RECORDS // 6), dice.choice([500, 1_000, 60_000])
            stopped = killed(target, how, records, "--set", f"restore.commit_interval_ms={round_ms}")
    with woken(target, stopped):
        target.check()


@pytest.mark.proof
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("step", ["plan", "topics", "write", "check"])
def test_restores_killed_at_every_step(
    kafka: LocalKafka, kafka_392: LocalKafka, lake: Path, step: str, place: str
) -> None:
    """Plan, topics, commits and receipts: every interrupted step is completed once in the end."""
    dice = random.Random(step)
    target = Target(kafka, kafka_392, lake, f"steps-{step}-{place}", "plain", place)
    with RestoreProcess(target.command) as process:
        process.wait_until(lambda: process.has_begun(step))
        time.sleep(dice.random() / 2)
        process.kill_all()
    target.check()
