"""An unclean leader election during an ingest: the archive equals in the end what librdkafka reads."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskResult, TaskSettings, archive
from kafka_lagoon.runs import ingest as ingest_module
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration import every_broker
from tests.integration.state import create_topics
from tests.jobs.archived import archived, assert_tiled, consumed
from tests.jobs.commands import here, rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BEHIND, AHEAD = 3, 2  # a replica without the last records, and the leader that has them
WITH_EPOCH, WITHOUT_EPOCH = TOPICS = ("unclean-with-epoch", "unclean-without-epoch")
REPLICATED, ONLY_ON_LEADER, AFTERWARDS = 2_000, 2_100, 2_400


def produce(kafka: LocalKafka, records: int) -> None:
    """Write records of a kilobyte into both topics."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "batch.num.messages": 100})
    for _ in range(records):
        for topic in (WITH_EPOCH, WITHOUT_EPOCH):
            producer.produce(topic, value=os.urandom(1_000), partition=0)
    assert producer.flush(60) == 0


class Executors:
    """Runs tasks in the order of their offsets, and calls a function before the last task of each topic."""

    def __init__(self, kafka: LocalKafka) -> None:
        self.first_ends: dict[str, int] = {}  # end of the first split of each topic
        self._kafka = kafka

    def run_tasks(
        self, _: Warehouse, settings: TaskSettings, tasks: Sequence[Task], __: object = None
    ) -> list[TaskResult]:
        """Do the same as `execution.run_tasks`, with splits of one topic that have no leader epoch, as of older brokers."""
        results: dict[int, TaskResult] = {}
        order = sorted(range(len(tasks)), key=lambda n: tasks[n].splits[0].from_offset)
        assert len(order) == 8, "each topic is to be four splits"
        for position, number in enumerate(order):
            (split,) = tasks[number].splits
            self.first_ends.setdefault(split.topic, split.to_offset)
            assert split.last_epoch >= 0 or not split.continues
            if position == 6:
                self._elect()
            if split.topic == WITHOUT_EPOCH:
                split = replace(split, last_epoch=-1)
            results[number] = archive(settings, Task(splits=(split,)))
        return [results[number] for number in range(len(tasks))]

    def _elect(self) -> None:
        self._kafka.kill(AHEAD)
        self._kafka.start(BEHIND)
        every_broker.names_leader(self._kafka.bootstrap_servers, TOPICS, BEHIND)
        produce(self._kafka, AFTERWARDS)


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_between_two_splits(kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last splits read another history than the first: only valid records are committed, and the next run continues.

    One topic's last split is refused by the broker; the other's is answered, and the check before the commit finds it.
    """
    unclean = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    topics = [
        NewTopic(topic, 1, replica_assignment=[[AHEAD, BEHIND]], config=unclean)
        for topic in (WITH_EPOCH, WITHOUT_EPOCH)
    ]
    create_topics(kafka.bootstrap_servers, topics)
    options = ["--warehouse", str(tmp_path), "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    options += ["--pattern", "unclean-with.*", "--set", "ingest.task_mb=1"]
    try:
        produce(kafka, REPLICATED)
        kafka.stop(BEHIND)
        every_broker.names_leader(kafka.bootstrap_servers, TOPICS, AHEAD)
        produce(kafka, ONLY_ON_LEADER)
        executors = Executors(kafka)
        with monkeypatch.context() as patch:
            patch.setattr(ingest_module, "run_tasks", executors.run_tasks)
            first = here("ingest", *options, "--accept-loss")  # exit 3, because records are unread
        assert first.returncode == 3, first.stdout + first.stderr
        assert "LOG_TRUNCATED in 2 ranges" in first.stdout
        now = consumed(kafka.bootstrap_servers, [WITH_EPOCH, WITHOUT_EPOCH])
        assert not archived(tmp_path) - now, "records of a dead history"
        ends = {row["topic"]: row["to_offset"] for row in rows(tmp_path, "record_ranges")}
        assert ends == executors.first_ends
        second = here("ingest", *options)
        assert second.returncode == 0, second.stdout + second.stderr
        assert archived(tmp_path) == now
        assert_tiled(tmp_path)
    finally:
        for node_id in (AHEAD, BEHIND):
            if kafka.pid(node_id) is None:
                kafka.start(node_id)
