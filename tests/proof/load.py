"""Producers of a history: librdkafka with acks=all and idempotence, in threads, and what they know of their records."""

import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.proof.evidence import Partition, digest

TIMEOUT_S = 120
TRANSACTION_TIMEOUT_MS = 12_000
_KEYS = 40  # of a compacted topic
Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTopic:
    """A topic as it exists now; a re-created one has another id."""

    name: str
    kind: str
    topic_id: str
    partitions: int


class Record(NamedTuple):
    """Everything that a producer chooses."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def digest(self) -> str:
        """Return the hash that the judge compares."""
        return digest(*self)


@dataclass(slots=True)
class Known:
    """Records as producers know them. Written by their threads, one dict operation at a time, and read when they have ended.

    `ends` are the next offsets after what was acknowledged in topics without transactions, and may be read at any time: elsewhere
    an open transaction holds back what comes after it.
    """

    committed: dict[Partition, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    aborted: dict[Partition, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    sent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    ends: dict[Partition, int] = field(default_factory=dict)
    acknowledged: int = 0

    def acknowledge(self, partition: Partition, offset: int, record_digest: str) -> None:
        """Note a record that is in the log of a quorum of brokers, for ever."""
        self.committed[partition][offset] = record_digest
        self.acknowledged += 1

    def extend(self, partition: Partition, offset: int) -> None:
        """Note that whoever begins to read from now on must find the record at this offset."""
        self.ends[partition] = max(offset + 1, self.ends.get(partition, 0))


def new_record(chance: random.Random, kind: str, size: int, name: str) -> Record:
    """Make a record of random form, which no other record equals."""
    headers: Headers = [("id", name.encode())]
    if chance.random() < 0.2:
        headers += [("", b""), ("id", None), ("schlüssel", os.urandom(4))]
    if kind == "compacted":
        value = None if chance.random() < 0.1 else os.urandom(chance.randint(0, size))
        return Record(_now_ms(), b"%d" % chance.randrange(_KEYS), value, headers)
    key = chance.choice([None, b"", name.encode()])
    value = chance.choice([None, b""]) if chance.random() < 0.05 else os.urandom(chance.randint(1, size))
    return Record(_now_ms() - chance.randrange(10_000), key, value, headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Records for one topic, spread over some seconds."""

    name: str
    topic: LiveTopic
    records: int
    size: int
    seconds: int
    codec: str

    def producer(self, servers: str, **more: str | int) -> Producer:
        """Connect a producer that loses and doubles nothing itself."""
        return Producer(
            {
                "bootstrap.servers": servers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 10,
                "batch.num.messages": 200,
                "compression.type": self.codec,
                "delivery.timeout.ms": TIMEOUT_S * 1000,
                "topic.metadata.refresh.interval.ms": 2_000,
                "log_level": 0,
                **more,
            }
        )

    def plain(self, servers: str, known: Known) -> None:
        """Send records one by one, and note each that is acknowledged."""
        producer, chance = self.producer(servers), random.Random(self.name)
        started = time.monotonic()
        for number in range(self.records):
            record = new_record(chance, self.topic.kind, self.size, f"{self.name}-{number}")
            known.sent[self.topic.topic_id].add(record.digest)
            self._send(producer, chance, record, partial(self._delivered, known, record.digest))
            producer.poll(max(0.0, started + self.seconds * number / self.records - time.monotonic()))
        producer.flush(TIMEOUT_S)

    def _delivered(self, known: Known, record_digest: str, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition, offset = _place(self.topic, message), _offset(message)
            known.acknowledge(partition, offset, record_digest)
            if self.topic.kind != "transactional":
                known.extend(partition, offset)

    def _send(self, producer: Producer, chance: random.Random, record: Record, delivered: Callable[..., None]) -> None:
        timestamp_ms, key, value, headers = record
        partition = chance.randrange(self.topic.partitions)
        while True:
            try:
                producer.produce(
                    self.topic.name,
                    value,
                    key,
                    partition,
                    on_delivery=delivered,
                    timestamp=timestamp_ms,
                    headers=headers,
                )
            except BufferError:
                producer.poll(0.1)
            else:
                return

    def transactions(self, servers: str, known: Known, each: int) -> None:
        """Send records in transactions of so many; a third is aborted, and the last one is left to its timeout."""
        chance, started, sent = random.Random(self.name), time.monotonic(), 0
        producer = self._transactional(servers)
        while sent < self.records:
            transaction = _Transaction(self, known)
            try:
                producer.begin_transaction()
                for number in range(sent, sent + each):
                    record = new_record(chance, self.topic.kind, self.size, f"{self.name}-{number}")
                    known.sent[self.topic.topic_id].add(record.digest)
                    transaction.digests.append(record.digest)
                    self._send(producer, chance, record, partial(transaction.delivered, record.digest))
                sent += each
                is_last, is_aborted = sent >= self.records, chance.random() < 1 / 3
                if is_last:
                    producer.flush(TIMEOUT_S)
                    transaction.aborted()
                    producer.purge()
                elif is_aborted:
                    producer.flush(TIMEOUT_S)  # so that the broker has something to abort
                    _retried(producer.abort_transaction)
                    transaction.aborted()
                else:
                    _retried(producer.commit_transaction)
                    transaction.committed()
            except KafkaException as error:
                if error.args[0].txn_requires_abort():
                    try:
                        _retried(producer.abort_transaction)
                    except KafkaException:
                        producer = self._transactional(servers)
                    else:
                        transaction.aborted()
                else:  # whether it was committed, Kafka's log will say; to begin again ends it
                    producer = self._transactional(servers)
            producer.poll(max(0.0, started + self.seconds * sent / self.records - time.monotonic()))

    def _transactional(self, servers: str) -> Producer:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            timeouts = dict.fromkeys(("transaction.timeout.ms", "delivery.timeout.ms"), TRANSACTION_TIMEOUT_MS)
            producer = self.producer(servers, **{"transactional.id": self.name}, **timeouts)
            try:
                producer.init_transactions(30)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
            else:
                return producer


class _Transaction:
    """Records of one transaction, and what was acknowledged of them before its end is known."""

    def __init__(self, load: Load, known: Known) -> None:
        self._load, self._known = load, known
        self.digests: list[str] = []
        self._delivered: dict[tuple[Partition, int], str] = {}

    def delivered(self, record_digest: str, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._delivered[_place(self._load.topic, message), _offset(message)] = record_digest

    def committed(self) -> None:
        for (partition, offset), record_digest in self._delivered.items():
            self._known.committed[partition][offset] = record_digest
        self._known.acknowledged += len(self._delivered)

    def aborted(self) -> None:
        self._known.sent[self._load.topic.topic_id] -= set(self.digests)
        for (partition, offset), record_digest in self._delivered.items():
            self._known.aborted[partition][offset] = record_digest


def _retried(call: Callable[[float], Any]) -> None:
    """End a transaction, and try again as librdkafka asks for it."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            call(30)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
        else:
            return


def _place(topic: LiveTopic, message: Message) -> Partition:
    partition = message.partition()
    assert partition is not None
    return Partition(topic.topic_id, partition)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Loads:
    """The threads of a history's loads, by topic."""

    def __init__(self) -> None:
        self._threads: dict[str, list[threading.Thread]] = defaultdict(list)
        self.errors: list[BaseException] = []

    def start(self, topic: str, work: Callable[[], None]) -> None:
        """Run a load in the background."""
        thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._threads[topic].append(thread)
        thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised again by the thread that waits
            self.errors.append(error)

    def wait(self, topics: Collection[str] | None = None) -> None:
        """Wait for the loads of these topics, or of all; raise what one of them raised."""
        for topic, threads in self._threads.items():
            if topics is None or topic in topics:
                for thread in threads:
                    thread.join()
        if self.errors:
            raise self.errors[0]


def as_text(known: Mapping[Partition, Mapping[int, str]], names: Mapping[str, str]) -> str:
    """Print acknowledgements, a line each: topic, its id, partition, offset, digest."""
    return "".join(
        f"{names.get(partition.topic_id, '')} {partition.topic_id} {partition.partition} {offset} {sha256}\n"
        for partition, records in sorted(known.items())
        for offset, sha256 in sorted(records.items())
    )
