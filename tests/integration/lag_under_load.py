"""A producer and groups that record when each write and commit was sent and acknowledged, and the bounds of lag that follow.

Times are epoch milliseconds of this machine's clock, which the samples have, too.
"""

import json
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_lagoon.admin.offsets import KINDS_OF_LAG
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.group_state import lag_of, read_groups
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import read_topology
from tests.jobs.commands import here

_TIMEOUT_S = 60
_BUDGET_MS = 30_000
_COORDINATOR_MOVES = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


@dataclass
class OffsetTimes:
    """Increasing offsets, with the times at which they were sent and acknowledged."""

    begun: list[tuple[float, int]] = field(default_factory=list)
    confirmed: list[tuple[float, int]] = field(default_factory=list)


def note(offsets: Iterable[tuple[OffsetTimes, int]], act: Callable[[], object]) -> None:
    """Record the times of a call that writes or commits up to these offsets."""
    pairs = list(offsets)
    for each, offset in pairs:
        each.begun.append((now_ms(), offset))
    act()
    for each, offset in pairs:
        each.confirmed.append((now_ms(), offset))


def now_ms() -> float:
    """The present time."""
    return time.time_ns() / 1e6


def offset_then(noted: list[tuple[float, int]], moment: float) -> int:
    """Return the offset that had been recorded at a time."""
    place = bisect_right(noted, moment, key=lambda pair: pair[0])
    return noted[place - 1][1] if place else 0


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """The end of each partition of a topic, and the commit of each group and partition."""

    topic: str
    ends: Mapping[int, OffsetTimes]
    commits: Mapping[tuple[str, int], OffsetTimes]


class Sample(NamedTuple):
    """A row of lag; the times at which reading began, its commit was received, and reading was over."""

    group_id: str
    partition: int
    committed_offset: int | None
    lag: int | None
    lag_lower_bound: int | None
    problem: str | None
    began_ms: float
    read_ms: tuple[float, float]  # not before, not after
    over_ms: float


def complaints(sample: Sample, times: LoadTimes) -> Iterator[str]:
    """Compare a sample with the times: a complaint for each value that they do not allow."""
    ends = times.ends[sample.partition]
    commits = times.commits[sample.group_id, sample.partition]
    committed, lag, lowest = sample.committed_offset, sample.lag, sample.lag_lower_bound
    if committed is None or lag is None or lowest is None or sample.problem:
        yield f"not known: {sample}"
        return
    bounds = {
        "committed_offset": (
            committed,
            offset_then(commits.confirmed, sample.began_ms),
            offset_then(commits.begun, sample.read_ms[1]),
        ),
        # The end is read after the commit, so lag is at least the truth of that moment, and the end before at most. So lag is
        # negative only if the commit was after the end.
        "lag": (
            lag,
            offset_then(ends.confirmed, sample.read_ms[0]) - committed,
            offset_then(ends.begun, sample.over_ms) - committed,
        ),
        "lag_lower_bound": (
            lowest,
            offset_then(ends.confirmed, sample.began_ms) - committed,
            offset_then(ends.begun, sample.read_ms[1]) - committed,
        ),
    }
    for name, (value, least, most) in bounds.items():
        if not least <= value <= most:
            yield f"{name} {value} is not between {least} and {most}: {sample}"


@contextmanager
def load(kafka: LocalKafka, topic: str, partitions: int, behind: Mapping[str, int], seed: str) -> Iterator[LoadTimes]:
    """Write records one by one, and let each group commit the end less a number of records, as fast as possible.

    With a negative number the group commits offsets after the end.
    """
    times = LoadTimes(
        topic,
        {partition: OffsetTimes() for partition in range(partitions)},
        {(group_id, partition): OffsetTimes() for group_id in behind for partition in range(partitions)},
    )
    is_over = threading.Event()
    works = [_producing(kafka, times, Random(seed), is_over)]
    works += [_committing(kafka, times, group_id, distance, is_over) for group_id, distance in behind.items()]
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    try:
        while not all(each.confirmed for each in times.commits.values()):
            time.sleep(0.01)
            assert all(thread.is_alive() for thread in threads), "a thread has failed"
        yield times
        assert all(thread.is_alive() for thread in threads), "a thread has failed"
    finally:
        is_over.set()
        for thread in threads:
            thread.join(_TIMEOUT_S)


def _producing(kafka: LocalKafka, times: LoadTimes, random: Random, is_over: threading.Event) -> Callable[[], None]:
    def produce() -> None:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0, "acks": "all"})
        numbers = dict.fromkeys(times.ends, 0)
        while not is_over.is_set():
            partition = random.choice(list(numbers))
            numbers[partition] += 1
            producer.produce(times.topic, b"v" * 20, partition=partition)
            note([(times.ends[partition], numbers[partition])], lambda: producer.flush(_TIMEOUT_S))

    return produce


def _committing(
    kafka: LocalKafka, times: LoadTimes, group_id: str, behind: int, is_over: threading.Event
) -> Callable[[], None]:
    own = {partition: times.commits[group_id, partition] for partition in times.ends}

    def offset(partition: int) -> int:
        end = offset_then(times.ends[partition].confirmed, now_ms())
        return max(end - behind, offset_then(own[partition].begun, now_ms()))

    def commit() -> None:
        base = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group_id, "log_level": 0}
        consumer = Consumer({**base, "enable.auto.commit": False})
        while not is_over.is_set():
            offsets = {partition: offset(partition) for partition in own}
            places = [TopicPartition(times.topic, partition, one) for partition, one in offsets.items()]
            noted = [(own[partition], one) for partition, one in offsets.items()]
            note(noted, lambda places=places: _commit(consumer, places))  # type: ignore[misc]
        consumer.close()

    return commit


def _commit(consumer: Consumer, places: list[TopicPartition]) -> None:
    """Commit, again while the coordinator moves: a broker that was down leads again after some minutes."""
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    while True:
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_MOVES or not deadline.pause(0.1):
                raise
        else:
            return


@contextmanager
def connected(kafka: LocalKafka) -> Iterator[Cluster]:
    """Connect with the machine's clock, which the recorded times have."""
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        yield cluster


def sample(cluster: Cluster, topic: str, groups: Iterable[str]) -> list[Sample]:
    """Read the lag of groups as a snapshot does."""
    began, deadline = now_ms(), Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    topology = read_topology(cluster, [topic], deadline)
    state = read_groups(cluster, topology, deadline, lambda _, __: None, KINDS_OF_LAG, only=set(groups))
    rows = list(lag_of(topology, state, offset_rows(topology, state.offsets)))
    over = now_ms()
    read_at = {(commit.group_id, commit.partition): commit.read_at_ms for commit in state.commits.rows}
    return [
        Sample(
            row.group_id,
            row.partition,
            row.committed_offset,
            row.lag,
            row.lag_lower_bound,
            row.problem,
            began,
            _read_between(read_at[row.group_id, row.partition], began, over),
            over,
        )
        for row in rows
    ]


def _read_between(read_at_ms: int | None, began: float, over: float) -> tuple[float, float]:
    """The first and last moment of a time in whole milliseconds."""
    return (began, over) if read_at_ms is None else (read_at_ms, read_at_ms + 1)


def sample_by_verb(kafka: LocalKafka, topic: str, groups: Iterable[str]) -> list[Sample]:
    """Read the lag of groups by `lagoon kafka lag`."""
    began = now_ms()
    done = here("kafka", "lag", *groups, "--topic", topic, "--json", "-b", kafka.bootstrap_servers)
    over = now_ms()
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [_of_verb(row, began, over) for row in rows if "partition" in row]


def _of_verb(row: Mapping[str, Any], began: float, over: float) -> Sample:
    names = ("group_id", "partition", "committed_offset", "lag", "lag_lower_bound", "problem")
    return Sample(*(row[name] for name in names), began, (began, over), over)
