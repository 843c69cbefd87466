"""Compares read_committed with Kafka's Java consumer, over histories of transactions that interleave on partitions.

A case is a topic with 500 transactions of several producers at once. Our reader reads it in random ranges and fetch sizes, while a
transaction is open; archives are compared in the end. What interleaves how differs from run to run: a topic that differs stays in
the folder of the broker, which is printed.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.every_broker import wait_until
from tests.integration.java_reader import JavaReader, Reading, java_reader
from tests.integration.producers import ANY_TIME, java_producers
from tests.integration.state import create_topics
from tests.jobs.archived import assert_tiled
from tests.proof.differential.drawn_history import TRANSACTIONS, History, Transaction, any_history
from tests.proof.differential.our_reader import archived, fetched, ingest
from tests.proof.differential.readings import check_equal
from tests.proof.differential.report import Cases, Report
from tests.proof.differential.writers import Writer, new_writers, write

NAME = "histories"
_INGEST_EVERY = 10  # histories: the next one starts where transactions were open
_TIMEOUT_S = 60


def compare_histories(cases: Cases, report: Report) -> None:
    """Write, read and archive each history."""
    with ExitStack() as running:
        folder = running.enter_context(report.folder(NAME))
        kafka = running.enter_context(LocalKafka(folder / "kafka", heap_mb=700))
        java = running.enter_context(java_producers(kafka))
        reader = running.enter_context(java_reader(kafka.version))
        world = World(kafka, reader, new_writers(kafka.bootstrap_servers, java), folder / "lake")
        for place, number in enumerate(cases.numbers, 1):
            with report.judging(NAME, number):
                world.compare(cases, number, report)
            if place % _INGEST_EVERY == 0 or place == len(cases.numbers):
                with report.judging(NAME, number):
                    ingest(kafka, world.lake, f"{NAME}-.*")
        world.compare_archive(cases, report)


@dataclass
class World:
    """A broker with writers, the Java consumer, and a warehouse."""

    kafka: LocalKafka
    reader: JavaReader
    writers: Sequence[Writer]
    lake: Path
    transactions: int = TRANSACTIONS  # of a history

    def compare(self, cases: Cases, number: int, report: Report) -> None:
        """Write a history, and compare what both read of it while a transaction is open."""
        random = Random(cases.seed_of(NAME, number))
        history, topic = any_history(random, len(self.writers), self.transactions), f"{NAME}-{number}"
        self._create(topic, history)
        given_up = self._write(topic, history.of_writers)
        stable = self._ends_of_complete(topic, history.partitions)
        with ExitStack() as ending:
            self._write_around_open(topic, history, ending)
            self._delete(topic, history, stable, random)
            theirs = self.reader.read(self.kafka.bootstrap_servers, topic, fetch_bytes=random.choice((4_000, 1 << 20)))
            assert theirs.ends == stable, f"{topic}: Java reads up to {theirs.ends}, not {stable}"
            ours = fetched(self.kafka, topic, theirs.ends, random)
        check_equal(topic, ours, theirs.records)
        self._ends_of_complete(topic, history.partitions)
        report.compared["transactions"] += history.transactions
        report.happened["transactions: given up by their producer"] += given_up
        report.compared["records of histories"] += sum(map(len, theirs.records.values()))
        for transaction in [one for _, some in history.of_writers for one in some]:
            report.happened[f"transactions: {transaction.end}"] += 1

    def compare_archive(self, cases: Cases, report: Report) -> None:
        """Compare the tables with what Java reads in the end."""
        archive = archived(self.lake)
        for number in cases.numbers:
            topic = f"{NAME}-{number}"
            with report.judging(NAME, number):
                theirs = self.reader.read(self.kafka.bootstrap_servers, topic)
                kept = {
                    partition: [one for one in archive.get((topic, partition), ()) if one.offset >= start]
                    for partition, start in self._starts(topic, theirs).items()
                }
                check_equal(f"archive of {topic}", kept, theirs.records)
                report.compared["archived records"] += sum(map(len, theirs.records.values()))
        with report.judging(NAME, cases.numbers.start):
            assert_tiled(self.lake)

    def _create(self, topic: str, history: History) -> None:
        segments = {"segment.ms": str(history.segment_ms)} if history.segment_ms else {}
        create_topics(
            self.kafka.bootstrap_servers, [NewTopic(topic, history.partitions, 1, config=ANY_TIME | segments)]
        )

    def _write(self, topic: str, of_writers: Sequence[tuple[int, Sequence[Transaction]]]) -> int:
        with ThreadPoolExecutor(len(of_writers)) as threads:
            running = [
                threads.submit(write, self.writers[writer], topic, transactions) for writer, transactions in of_writers
            ]
            return sum(thread.result() for thread in running)

    def _write_around_open(self, topic: str, history: History, ending: ExitStack) -> None:
        """Begin a transaction in every partition, and write others after it; it ends with the context."""
        (first, _), (second, _), *_ = history.of_writers
        writer = self.writers[first]
        writer.begin()
        ending.callback(writer.end, history.open.end)
        for portion in history.open.portions:
            writer.send(topic, portion)
        write(self.writers[second], topic, history.after)

    def _delete(self, topic: str, history: History, stable: Mapping[int, int], random: Random) -> None:
        """Move the log starts, in the middle of batches and transactions."""
        if history.deleted:
            places = [Place(topic, partition, int(end * random.random())) for partition, end in stable.items()]
            for future in self._admin.delete_records(places).values():
                future.result(_TIMEOUT_S)

    def _ends_of_complete(self, topic: str, partitions: int) -> Mapping[int, int]:
        """Wait until all markers are written, so that nothing is open; return the ends."""
        ends: dict[int, int] = {}

        def is_complete() -> bool:
            watermarks = [self._ends(topic, partition) for partition in range(partitions)]
            ends.update({partition: high for partition, (_, high) in enumerate(watermarks)})
            return all(stable == high for stable, high in watermarks)

        wait_until(is_complete, f"transactions of {topic} are still open")
        return ends

    def _ends(self, topic: str, partition: int) -> tuple[int, int]:
        place = Place(topic, partition)
        of_level = [one.get_watermark_offsets(place, _TIMEOUT_S)[1] for one in self._consumers]
        return of_level[0], of_level[1]

    def _starts(self, topic: str, reading: Reading) -> dict[int, int]:
        consumer = self._consumers[0]
        return {one: consumer.get_watermark_offsets(Place(topic, one), _TIMEOUT_S)[0] for one in reading.ends}

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.kafka.bootstrap_servers, "log_level": 0})

    @cached_property
    def _consumers(self) -> Sequence[Consumer]:
        """A consumer that sees last stable offsets, and one that sees high watermarks."""
        base = {"bootstrap.servers": self.kafka.bootstrap_servers, "group.id": "ends", "log_level": 0}
        return [Consumer({**base, "isolation.level": level}) for level in ("read_committed", "read_uncommitted")]
