"""Consumers of the load, and a client that lists offsets: librdkafka's, in threads, which note what is true when."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import confluent_kafka
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message

from kafka_lagoon.topic_partition import TopicPartition
from tests.proof.evidence import Partition
from tests.proof.load import LiveTopic
from tests.proof.oracle import Kafka
from tests.proof.soak.bounds import Answer, Commit, Observed

_COMMITS_EVERY_S = 1.0
_LISTS_EVERY_S = 2.0
_TIMEOUT_S = 10


class Reader:
    """A consumer group of one member that reads so many records a second at most, and commits each second."""

    def __init__(self, servers: str, group_id: str, topics: Sequence[str], per_second: int, observed: Observed) -> None:
        self.records = 0
        self._group_id, self._per_second, self._observed = group_id, per_second, observed
        self._next: dict[TopicPartition, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group_id,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 10_000,
                "log_level": 0,
            }
        )
        self._consumer.subscribe(list(topics), on_assign=lambda *_: self._next.clear())

    def run(self, ends: threading.Event) -> None:
        """Read and commit until the event is set."""
        try:
            while not ends.is_set():
                until = time.monotonic() + _COMMITS_EVERY_S
                self._read(self._consumer.consume(self._per_second, timeout=_COMMITS_EVERY_S))
                self._commit()
                ends.wait(max(0.0, until - time.monotonic()))
        finally:
            self._consumer.close()

    def _read(self, messages: Sequence[Message]) -> None:
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if message.error() is None and None not in (topic, partition, offset):
                self._next[TopicPartition(topic, partition)] = offset + 1  # type: ignore[arg-type, operator]
                self.records += 1

    def _commit(self) -> None:
        """Commit what was read; without an answer the commit may have arrived or not."""
        read, self._next = self._next, {}
        if not read:
            return
        sent = {partition: Commit(_now_ms(), offset) for partition, offset in read.items()}
        for partition, commit in sent.items():
            self._observed.commits[self._group_id, partition].append(commit)
        with suppress(KafkaException, TimeoutError):
            offsets = [confluent_kafka.TopicPartition(*partition, offset) for partition, offset in read.items()]
            for answer in self._consumer.commit(offsets=offsets, asynchronous=False):
                if answer.error is None:
                    sent[TopicPartition(answer.topic, answer.partition)].returned_ms = _now_ms()


class Lister:
    """Lists log start offsets and high watermarks of all partitions, again and again."""

    def __init__(self, servers: str, topics: Sequence[LiveTopic], observed: Observed) -> None:
        self._kafka = Kafka(servers, timeout_s=_TIMEOUT_S)
        self._topics, self._observed = topics, observed
        self._names = {topic.topic_id: topic.name for topic in topics}

    def run(self, ends: threading.Event) -> None:
        """List until the event is set."""
        while not ends.wait(_LISTS_EVERY_S):
            self.list_once()

    def list_once(self) -> None:
        """List once; nothing is known of a request that fails."""
        with suppress(KafkaException, TimeoutError):
            self._note(self._observed.starts, self._kafka.starts)
            self._note(self._observed.ends, lambda topics: self._kafka.ends(topics, IsolationLevel.READ_UNCOMMITTED))

    def _note(
        self, answers: dict[TopicPartition, list[Answer]], ask: Callable[[Sequence[LiveTopic]], dict[Partition, int]]
    ) -> None:
        requested_ms = _now_ms()
        offsets = ask(self._topics)
        returned_ms = _now_ms()
        for partition, offset in offsets.items():
            named = TopicPartition(self._names[partition.topic_id], partition.partition)
            answers[named].append(Answer(requested_ms, returned_ms, offset))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
