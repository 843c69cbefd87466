"""Measures ingests and restores: what a run costs, what partitions add to it, and what a GB of records adds.

Three topics show that: one with a partition and two records, one with a thousand partitions of two records, and one with a GB. The
connector archives and restores the same topics in the same places; it restores from our table, into topics that are there.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from kafka_lagoon.job_settings import IngestSettings
from tests.bench.cost_usage import Meter, Place, Usage, median
from tests.bench.record_topics import BenchTopic, fill, json_values
from tests.integration.state import create_topics, delete_topics

_GB = float(os.environ.get("BENCH_COST_GB", "1"))
_PARTITIONS = int(os.environ.get("BENCH_COST_PARTITIONS", "1000"))
_ROUNDS = int(os.environ.get("BENCH_COST_ROUNDS", "2"))
# Before the first measured run; a checkpoint is written every 30.
_COMMITS = int(os.environ.get("BENCH_COST_COMMITS", "12"))
_CODECS = ("none", "zstd")
_KEY_BYTES = 16
_LOCAL_BYTES = IngestSettings().local_max_bytes  # an ingest starts Spark for more, and so does a restore from a folder
_RECORDS_OF_SMALL = 2  # of each partition
FEW = BenchTopic(name="few", records=0, value_bytes=100, codec="none", partitions=1)
MANY = BenchTopic(name="many", records=0, value_bytes=100, codec="none", partitions=_PARTITIONS)
# What the connector archives in its place: a task of Spark for each partition takes a third of a second, if not of a processor.
SOME = BenchTopic(name="some", records=0, value_bytes=100, codec="none", partitions=_PARTITIONS // 5)
_OF_CONNECTOR = {MANY.name: SOME}


def large(codec: str) -> BenchTopic:
    """Return a topic of the size that is measured, with records of 1 KB in ten partitions."""
    return BenchTopic(name=f"large-{codec}", records=round(_GB * 1e6), value_bytes=1000, codec=codec, partitions=10)


@dataclass(slots=True)
class Samples:
    """Usages by what was run, where and by whom."""

    usages: defaultdict[tuple[str, str, str], list[Usage]] = field(default_factory=lambda: defaultdict(list))

    def median(self, what: str, place: str, side: str) -> Usage:
        """Return the median of the samples."""
        return median(self.usages[what, place, side])


@dataclass(frozen=True, slots=True)
class Records:
    """The topics of a broker, and the measured runs over them."""

    meter: Meter
    servers: str  # without counting
    counted: str  # by the network that counts
    samples: Samples = field(default_factory=Samples)

    def fill(self) -> None:
        """Make the topics."""
        create_topics(self.servers, [NewTopic(topic.name, topic.partitions, 1) for topic in (FEW, MANY, SOME)])
        for codec in _CODECS:
            fill(self.servers, large(codec))

    def measure(self, folder: Place, bucket: Place) -> None:
        """Run everything in both places: small runs several times, alternating between the places."""
        places = (folder, bucket)
        self._make_logs(folder, bucket)
        for _ in range(_ROUNDS):
            self._measure_small_ingests(places)
            self._produce(FEW)
            for place in places:
                on_spark = self._our_ingest(place, FEW, "ingest.local_max_bytes=0")
                self._take("ingest few, Spark", place, {"ours": on_spark})
        for codec in _CODECS:
            for place in places:
                self._ingest(f"ingest GB {codec}", place, large(codec), quick=False)
        self._measure_restores(places)

    def _measure_small_ingests(self, places: Sequence[Place]) -> None:
        for topic in (FEW, MANY):
            for filled in {topic, _OF_CONNECTOR.get(topic.name, topic)}:
                self._produce(filled)
            for what in (f"ingest {topic.name}", f"ingest {topic.name}, nothing new"):
                for place in places:
                    self._ingest(what, place, topic)

    def _measure_restores(self, places: Sequence[Place]) -> None:
        for topic, rounds in ((FEW, _ROUNDS), (MANY, _ROUNDS), *((large(codec), 1) for codec in _CODECS)):
            name = f"restore GB {topic.codec}" if topic.records else f"restore {topic.name}"
            for _ in range(rounds):
                for place in places:
                    self._restore(name, place, topic)
        for _ in range(_ROUNDS):
            self._restore("restore few, Spark", places[0], FEW, "restore.local_max_bytes=0")

    def _make_logs(self, folder: Place, bucket: Place) -> None:
        """Make tables whose logs have as many commits as on average: a run reads those since the last checkpoint."""
        assert bucket.store
        for _ in range(_COMMITS):
            self._produce(FEW)
            self.meter.run(folder, self._our_ingest(folder, FEW))
        bucket.store.upload(Path(folder.location), Path(folder.location).name)
        for place in (folder, bucket):
            self.meter.run(place, self._connector_ingest(place, FEW))

    def _produce(self, topic: BenchTopic) -> None:
        """Add some records to each partition."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 200, "log_level": 2})
        values = cycle(json_values(topic.value_bytes))
        for partition in range(topic.partitions):
            for number in range(_RECORDS_OF_SMALL):
                producer.produce(topic.name, next(values), b"k%015d" % number, partition)
            producer.poll(0)
        assert producer.flush(120) == 0

    def _ingest(self, what: str, place: Place, topic: BenchTopic, *, quick: bool = True) -> None:
        theirs = self._connector_ingest(place, _OF_CONNECTOR.get(topic.name, topic), quick=quick)
        self._take(what, place, {"ours": self._our_ingest(place, topic), "connector": theirs})

    def _our_ingest(self, place: Place, topic: BenchTopic, *settings: str) -> Sequence[str]:
        sets = (word for setting in settings for word in ("--set", setting))
        return place.lagoon("ingest", "--topics", topic.name, *self._kafka_option(), *sets)

    def _connector_ingest(self, place: Place, topic: BenchTopic, *, quick: bool = True) -> Sequence[str]:
        return place.connector("ingest", self.counted, topic.name, f"{place.location}-connector", quick=quick)

    def _kafka_option(self) -> Sequence[str]:
        return ("--set", f"kafka.bootstrap_servers={self.counted}")

    def _restore(self, what: str, place: Place, topic: BenchTopic, *settings: str) -> None:
        targets = {side: f"{topic.name}-{side}-{time.monotonic_ns()}" for side in ("ours", "connector")}
        create_topics(self.servers, [NewTopic(target, topic.partitions, 1) for target in targets.values()])
        words = ["restore", "--yes", "--new", *self._kafka_option()]
        words += ["--from-cluster", "default", "--to-cluster", "default", "--topics", topic.name]
        words += [word for setting in settings for word in ("--set", setting)]
        ours = place.lagoon(*words, "--rename", f"{topic.name}={targets['ours']}")
        of_connector = (self.counted, topic.name, f"{place.location}/records", targets["connector"], topic.codec)
        theirs = place.connector("restore", *of_connector, quick=not topic.records)
        self._take(what, place, {"ours": ours, "connector": theirs})
        written = {side: self._records(target, topic.partitions) for side, target in targets.items()}
        assert len(set(written.values())) == 1, written
        assert written["ours"] == self._records(topic.name, topic.partitions), written
        delete_topics(self.servers, list(targets.values()))

    def _take(self, what: str, place: Place, commands: Mapping[str, Sequence[str]]) -> None:
        for side, command in commands.items():
            usage = self.meter.run(place, command)
            self.samples.usages[what, place.name, side].append(usage)

    def _records(self, topic: str, partitions: int) -> int:
        admin = AdminClient({"bootstrap.servers": self.servers})
        wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        return sum(future.result().offset for future in admin.list_offsets(wanted).values())


def rows(samples: Samples) -> Iterator[tuple[str, Mapping[tuple[str, str], Usage]]]:
    """Yield lines of the table: what, and the usage by place and side; the share of a run is taken away from larger ones."""
    gb = _GB * 1e6 * (_mean_value_bytes() + _KEY_BYTES) / 1e9

    def line(
        what: str, minus: str | None = None, factor: float = 1.0, of_connector: float | None = None
    ) -> Mapping[tuple[str, str], Usage]:
        usages = {}
        for name, place, side in samples.usages:
            if name == what:
                less = samples.median(minus, place, side) if minus else Usage()
                by = of_connector if of_connector and side == "connector" else factor
                usages[place, side] = (samples.median(what, place, side) - less) * by
        return usages

    by_1000 = 1000 / MANY.partitions, 1000 / SOME.partitions

    yield "ingest: a run that finds nothing new", line("ingest few, nothing new")
    yield "and for 1,000 partitions", line("ingest many, nothing new", "ingest few, nothing new", *by_1000)
    yield "ingest: a run with new records", line("ingest few")
    yield "and for 1,000 partitions with two records", line("ingest many", "ingest few", *by_1000)
    yield "and if it starts Spark", (started := line("ingest few, Spark", "ingest few"))
    for codec in _CODECS:
        large = line(f"ingest GB {codec}", "ingest few")
        yield f"and for a GB of records, {codec}", _of_gb(large, started, gb)
    yield "restore: a run", line("restore few")
    yield "and for 1,000 partitions", line("restore many", "restore few", by_1000[0])
    yield "and if it starts Spark", (started := line("restore few, Spark", "restore few"))
    for codec in _CODECS:
        large = line(f"restore GB {codec}", "restore few")
        yield f"and for a GB of records, {codec}", _of_gb(large, started, gb)


def _of_gb(
    large: Mapping[tuple[str, str], Usage], started: Mapping[tuple[str, str], Usage], gb: float
) -> Mapping[tuple[str, str], Usage]:
    """Return what a GB adds to a run, without the start of Spark where so many bytes need it."""
    return {
        key: (usage - (started.get(key, Usage()) if _moved(usage) > _LOCAL_BYTES else Usage())) * (1 / gb)
        for key, usage in large.items()
    }


def _moved(usage: Usage) -> float:
    return max(usage.kafka_received, usage.kafka_sent)


def _mean_value_bytes() -> float:
    values = list(json_values(large("none").value_bytes))
    return sum(map(len, values)) / len(values)
