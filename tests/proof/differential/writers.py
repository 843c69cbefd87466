"""Transactional producers that are not ours, librdkafka's and Java's, under one interface; they live for many topics.

Java's use transactions of version 2 (KIP-890), where each transaction has an epoch of its own; librdkafka's use version 1.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from confluent_kafka import KafkaException, Producer
from py4j.protocol import Py4JJavaError

from tests.integration.producers import JavaProducers, Sent, queue
from tests.proof.differential.drawn_history import Transaction

_TIMEOUT_S = 60
_TRANSACTION_MS = 600_000


class Writer(Protocol):
    """A transactional producer."""

    def begin(self) -> None:
        """Begin a transaction."""

    def send(self, topic: str, records: Sequence[Sent]) -> None:
        """Write records, and wait until they are acknowledged."""

    def end(self, how: str) -> None:
        """Commit or abort; or abandon: another producer of the same id takes over, so that the coordinator aborts."""


class LibrdkafkaWriter:
    """A producer of librdkafka."""

    def __init__(self, servers: str, name: str, codec: str) -> None:
        self._settings = {
            "bootstrap.servers": servers,
            "transactional.id": name,
            "transaction.timeout.ms": _TRANSACTION_MS,
            "compression.type": codec,
            "linger.ms": 1,
            "log_level": 0,
        }
        self._producer = self._new()

    def _new(self) -> Producer:
        producer = Producer(self._settings)
        producer.init_transactions(_TIMEOUT_S)
        return producer

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.begin_transaction()

    def send(self, topic: str, records: Sequence[Sent]) -> None:
        """Write records; one that is not acknowledged is an error here."""
        failed: list[str] = []
        queue(self._producer, topic, records, failed)
        if self._producer.flush(_TIMEOUT_S) or failed:
            raise KafkaException(f"not written: {failed[:1]}")

    def end(self, how: str) -> None:
        """End the transaction."""
        match how:
            case "commit":
                self._producer.commit_transaction(_TIMEOUT_S)
            case "abort":
                self._producer.abort_transaction(_TIMEOUT_S)
            case _:
                self._producer = self._new()


class JavaWriter:
    """A KafkaProducer."""

    def __init__(self, java: JavaProducers, name: str, codec: str) -> None:
        self._java = java
        self._settings = {
            "transactional_id": name,
            "compression_type": codec,
            "transaction_timeout_ms": str(_TRANSACTION_MS),
            "linger_ms": "1",
        }
        self._producer: Any = java.producer(**self._settings)

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.beginTransaction()

    def send(self, topic: str, records: Sequence[Sent]) -> None:
        """Write records."""
        self._java.send(self._producer, topic, records)

    def end(self, how: str) -> None:
        """End the transaction."""
        match how:
            case "commit":
                self._producer.commitTransaction()
            case "abort":
                self._producer.abortTransaction()
            case _:
                abandoned, self._producer = self._producer, self._java.producer(**self._settings)
                abandoned.close(self._java.at_once())


def new_writers(servers: str, java: JavaProducers) -> list[Writer]:
    """Four producers of either kind, with different codecs."""
    codecs = ("none", "gzip", "lz4", "zstd")
    of_java: list[Writer] = [JavaWriter(java, f"java-{codec}", codec) for codec in codecs]
    return [*of_java, *(LibrdkafkaWriter(servers, f"librdkafka-{codec}", codec) for codec in codecs)]


def write(writer: Writer, topic: str, transactions: Sequence[Transaction]) -> int:
    """Write transactions one after the other; return how many the producer gave up, as on a busy machine after a timeout."""
    given_up = 0
    for transaction in transactions:
        try:
            _write(writer, topic, transaction)
        except (KafkaException, Py4JJavaError):
            given_up += 1
            writer.end("abandon")
    return given_up


def _write(writer: Writer, topic: str, transaction: Transaction) -> None:
    writer.begin()
    for portion in transaction.portions:
        writer.send(topic, portion)
    writer.end(transaction.end)
