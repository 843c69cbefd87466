"""Measures snapshots and their maintenance, and adds them up to a year.

Measured: snapshots in a row of a real broker, each at a time five minutes later (so some of them join files and write checkpoints), snapshots
after partitions and groups were added, and the maintenance of a day whose tables were written without the jobs. Multiplied: everything else.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable

from tests.bench import history_tables, synthetic_brokers
from tests.bench.cost_usage import Meter, Place, Usage, mean, median
from tests.integration.state import commit, create_topics
from tests.object_store import BUCKET

_IN_A_ROW = int(os.environ.get("BENCH_COST_SNAPSHOTS", "34"))
_LARGER = int(os.environ.get("BENCH_COST_LARGER", "4000"))
_FIRST = 5
_NOT_COUNTED = 2  # the first creates the tables, the second warms up
_FIRST_LATER_S = 7_200  # files older than an hour are joined: to this clock all are
_EVERY_S = 300
_PARTITIONS_OF_A_TOPIC, _PARTITIONS_OF_A_GROUP = 10, 40
# 1,000 partitions, and two positions of each.
DAY_OF = synthetic_brokers.Size(topics=100, partitions=10, brokers=3, groups=50, committed_partitions=40)
A_DAY = {"every five minutes": 288, "every hour": 24}


@dataclass(slots=True)
class Measured:
    """Usages by place, and bytes that are stored."""

    of_1000: dict[str, Usage] = field(default_factory=dict)  # the mean, with joins and checkpoints
    first_of_1000: dict[str, Usage] = field(default_factory=dict)
    of_larger: dict[str, Usage] = field(default_factory=dict)  # as many as the first of 1,000
    maintain: dict[tuple[str, str], Usage] = field(default_factory=dict)  # by schedule and place
    day_bytes: dict[str, int] = field(default_factory=dict)  # by schedule, after the maintenance


@dataclass(slots=True)
class Snapshots:
    """A broker whose partitions grow, and snapshots of it."""

    meter: Meter
    servers: str  # without counting
    counted: str
    _topics: int = 0

    def measure(self, places: Sequence[Place], measured: Measured) -> None:
        """Take all snapshots; those of the larger cluster go to tables of their own, whose logs are as long as those of the first ones."""
        self._grow(1000)
        for place in places:
            usages = self._take(place, _IN_A_ROW)
            measured.of_1000[place.name] = mean(usages[_NOT_COUNTED:])
            measured.first_of_1000[place.name] = median(usages[_NOT_COUNTED:_FIRST])
        self._grow(_LARGER)
        for place in places:
            fresh = replace(place, location=f"{place.location}-larger")
            measured.of_larger[place.name] = median(self._take(fresh, _FIRST)[_NOT_COUNTED:])

    def _take(self, place: Place, count: int) -> Sequence[Usage]:
        words = ("snapshot", "--set", f"kafka.bootstrap_servers={self.counted}")
        times = (_FIRST_LATER_S + number * _EVERY_S for number in range(count))
        return [self.meter.run(place, place.lagoon(*words, later_s=later_s)) for later_s in times]

    def _grow(self, partitions: int) -> None:
        """Add topics, and groups that have committed: two groups for each partition."""
        topics = range(self._topics, partitions // _PARTITIONS_OF_A_TOPIC)
        create_topics(self.servers, [NewTopic(_topic(number), _PARTITIONS_OF_A_TOPIC, 1) for number in topics])
        admin = AdminClient({"bootstrap.servers": self.servers})
        commit(self.servers, "earliest", {(_topic(0), 0): 0})  # after it the coordinator of groups is there
        wanted = (
            TopicPartition(_topic(topic), index, 0) for topic in topics for index in range(_PARTITIONS_OF_A_TOPIC)
        )
        requests = []
        while part := list(islice(wanted, _PARTITIONS_OF_A_GROUP)):
            for reader in ("first", "second"):
                group = ConsumerGroupTopicPartitions(f"{reader}-{part[0].topic}", part)
                requests += admin.alter_consumer_group_offsets([group]).values()
        for request in requests:
            request.result(60)
        self._topics = topics.stop


def _topic(number: int) -> str:
    return f"topic-{number:05}"


def measure_maintenance(meter: Meter, folder: Path, bucket: Place, measured: Measured) -> None:
    """Maintain a day of yesterday by schedule, in a folder and in a bucket."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    for schedule, count in A_DAY.items():
        lake = folder / f"day-{count}"
        lake.mkdir()
        size = history_tables.Size(days=1, last_day=yesterday, snapshots=count)
        writer = get_context("spawn").Process(target=history_tables.write, args=(lake, size, DAY_OF))
        writer.start()
        writer.join()
        assert writer.exitcode == 0, "the tables of a day were not written"
        assert bucket.store
        bucket.store.upload(lake, lake.name)
        for place in (Place("folder", str(lake)), replace(bucket, location=f"s3a://{BUCKET}/{lake.name}")):
            measured.maintain[schedule, place.name] = meter.run(place, place.lagoon("maintain"))
        measured.day_bytes[schedule] = sum(_live_bytes(table) for table in lake.iterdir() if table.is_dir())


def _live_bytes(table: Path) -> int:
    if not (table / "_delta_log").is_dir():
        return 0
    return sum(pa.table(DeltaTable(str(table)).get_add_actions(flatten=True))["size_bytes"].to_pylist())


def rows(measured: Measured) -> Iterator[tuple[str, dict[tuple[str, str], Usage]]]:
    """Yield lines of the table: what, and the usage by place and side."""

    def line(usages: dict[str, Usage]) -> dict[tuple[str, str], Usage]:
        return {(place, "ours"): usage for place, usage in usages.items()}

    places = list(measured.of_1000)
    further = 1000 / (_LARGER - 1000)
    yield "snapshot: a run, 1,000 partitions", line(measured.of_1000)
    added = {place: (measured.of_larger[place] - measured.first_of_1000[place]) * further for place in places}
    yield "and for 1,000 further partitions", line(added)
    for schedule, count in A_DAY.items():
        maintain = {place: measured.maintain[schedule, place] for place in places}
        yield f"maintain: a day of {count} snapshots", line(maintain)
    for schedule, count in A_DAY.items():
        year = {place: (measured.of_1000[place] * count + measured.maintain[schedule, place]) * 365 for place in places}
        yield f"a year {schedule}, with maintain every day", line(year)
