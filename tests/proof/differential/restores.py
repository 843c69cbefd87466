"""Compares restored topics with their sources, read by Kafka's Java consumer and by librdkafka.

A case is a topic: ten transactions of 500 records, some of them aborted, and every odd record. It is archived, and restored to
another name, in transactions or without.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.java_reader import JavaReader, java_reader
from tests.integration.producers import ANY_TIME, ODD, consume, java_producers
from tests.integration.state import create_topics
from tests.jobs.commands import here
from tests.proof.differential.drawn_history import Transaction, any_record
from tests.proof.differential.our_reader import ingest
from tests.proof.differential.readings import check_equal, in_order
from tests.proof.differential.report import Cases, Report
from tests.proof.differential.writers import Writer, new_writers, write

NAME = "restores"
_AT_ONCE = 10  # topics of one restore
_TRANSACTIONS, _RECORDS = 10, 500


def compare_restores(cases: Cases, report: Report) -> None:
    """Write, archive and restore some topics at a time."""
    with ExitStack() as running:
        folder = running.enter_context(report.folder(NAME))
        kafka = running.enter_context(LocalKafka(folder / "kafka", heap_mb=700))
        java = running.enter_context(java_producers(kafka))
        reader = running.enter_context(java_reader(kafka.version))
        drill = Drill(kafka, reader, new_writers(kafka.bootstrap_servers, java), folder / "lake")
        for start in range(0, len(cases.numbers), _AT_ONCE):
            drill.run(Cases(cases.seed, cases.numbers[start : start + _AT_ONCE]), report)


@dataclass
class Drill:
    """A broker with writers, the Java consumer, and a warehouse."""

    kafka: LocalKafka
    reader: JavaReader
    writers: Sequence[Writer]
    lake: Path

    def run(self, cases: Cases, report: Report) -> None:
        """Restore the topics of some cases, and compare each with its source."""
        topics = {number: f"{NAME}-{number}" for number in cases.numbers}
        for number, topic in topics.items():
            self._fill(topic, Random(cases.seed_of(NAME, number)))
        with report.judging(NAME, cases.numbers.start):
            ingest(self.kafka, self.lake, "|".join(topics.values()))
            self._restore(list(topics.values()), transactional=cases.numbers.start // _AT_ONCE % 2 == 1)
        for number, topic in topics.items():
            with report.judging(NAME, number):
                report.compared["restored records"] += self.compared(topic)
                report.compared["restored topics"] += 1

    def _fill(self, topic: str, random: Random) -> None:
        partitions = random.randrange(1, 4)
        names = (topic, restored(topic))
        create_topics(self.kafka.bootstrap_servers, [NewTopic(name, partitions, 1, config=ANY_TIME) for name in names])
        chosen = random.sample(self.writers, 3)
        for writer in chosen:
            write(writer, topic, [Transaction([ODD], "commit")])
        for _ in range(_TRANSACTIONS):
            records = [any_record(random, random.randrange(partitions)) for _ in range(_RECORDS)]
            write(random.choice(chosen), topic, [Transaction([records], random.choice(("commit", "commit", "abort")))])

    def _restore(self, topics: Sequence[str], *, transactional: bool) -> None:
        servers = f"kafka.bootstrap_servers={self.kafka.bootstrap_servers}"
        command = ["restore", "--yes", "--warehouse", str(self.lake), "--set", servers]
        command += ["--from-cluster", "default", "--to-cluster", "default", "--topics", ",".join(topics)]
        command += [part for topic in topics for part in ("--rename", f"{topic}={restored(topic)}")]
        done = here(*command, *(["--transactional"] if transactional else []))
        assert done.returncode == 0, f"exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def compared(self, topic: str) -> int:
        """Compare what both clients read of both topics, without offsets; return the number of records."""
        servers, copy = self.kafka.bootstrap_servers, restored(topic)
        expected = in_order(self.reader.read(servers, topic).records)
        check_equal(f"{copy} by Java", in_order(self.reader.read(servers, copy).records), expected)
        for name in (copy, topic):
            read = {one: consume(self.kafka, {name: 0}, "read_committed", one)[name] for one in expected}
            check_equal(f"{name} by librdkafka", in_order(read), expected)
        return sum(map(len, expected.values()))


def restored(topic: str) -> str:
    """The name that a topic is restored to."""
    return f"back-{topic}"
