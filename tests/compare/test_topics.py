"""Two topics are compared as their leaders return them: by partition and in order, or as a whole."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event, main_thread
from typing import Any

import pytest

from kafka_lagoon.compare import connections, topics
from kafka_lagoon.compare.differences import Kind
from kafka_lagoon.compare.in_order import LOST_MEANWHILE
from kafka_lagoon.compare.multisets import BucketSums
from kafka_lagoon.compare.result import PARTITIONS_AT_ONCE, Comparison
from kafka_lagoon.compare.sequences import CompareLimits
from kafka_lagoon.compare.sides import Side, TopicOfCluster, Wanted, of_one_log
from kafka_lagoon.compare.topics import DELETED_MEANWHILE
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import AtOffset, AtTime, BeforeEnd, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import NOT_LEADER_OR_FOLLOWER
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.records.digests import ALL_FIELDS
from kafka_lagoon.records.encoding import Record
from tests.compare.logs import HOW, append, compare, record
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakePartition
from tests.fake.faults import Altered, Fault
from tests.fetch.reading import QUICK, altered
from tests.short_timeouts import short_timeouts

LOG = [record(number) for number in range(100)]
WAIT_S = 30


@pytest.fixture
def settings(state: FakeCluster, brokers: dict[int, FakeBroker]) -> KafkaSettings:  # noqa: ARG001
    """The settings of the connection."""
    return short_timeouts(state)


def logs(state: FakeCluster, topic: str, partitions: int = 2) -> list[FakePartition]:
    """Make the logs of a new topic."""
    return state.add_topic(topic, partitions, end=0).partitions


def kinds(comparison: Comparison) -> list[tuple[int, Kind, int]]:
    """Return partition, kind and number of records of each difference."""
    return [(part.partition, one.kind, one.records) for part in comparison.partitions for one in part.differences]


def test_equal_topics(state: FakeCluster, settings: KafkaSettings) -> None:
    """Topics with the same records are equal, with any batches and offsets."""
    for topic, size, gap in (("a", 10, 0), ("b", 7, 3)):
        for log in logs(state, topic):
            append(log, LOG, size, gap)
    comparison = compare(settings, "a", "b")
    assert comparison.is_equal()
    assert (comparison.left_records, comparison.right_records, comparison.in_order) == (200, 200, True)
    assert (comparison.counts(), comparison.failures, comparison.notes) == ({}, [], [])
    assert [part.right.to_offset for part in comparison.partitions] == [142, 142]


def test_a_broker_that_does_not_know_all_partitions(state: FakeCluster, settings: KafkaSettings) -> None:
    """The partitions to compare are those that two brokers name: a broker learns of new ones late."""
    for topic in ("a", "b"):
        for log in logs(state, topic):
            append(log, LOG)

    def is_behind(metadata: MetadataResponse) -> MetadataResponse:
        return replace(metadata, topics=tuple(replace(one, partitions=one.partitions[:1]) for one in metadata.topics))

    state.faults.append(Fault(METADATA.key, Altered(is_behind), node_id=1, times=1_000))
    comparison = compare(settings, "a", "b")
    assert comparison.is_equal()
    assert (comparison.left_records, comparison.right_records) == (200, 200)


def test_differences_by_partition(state: FakeCluster, settings: KafkaSettings) -> None:
    """Each partition has its own differences; a second pass over the left side distinguishes doubled from extra."""
    for log in logs(state, "a"):
        append(log, LOG)
    first, second = logs(state, "b")
    append(first, [*LOG[:20], *LOG[25:60], LOG[10], *LOG[60:]])
    append(
        second, [*LOG[:30], record(999), *LOG[30:50], record(50, value=b"x"), *LOG[51:70], LOG[71], LOG[70], *LOG[72:]]
    )
    comparison = compare(settings, "a", "b")
    assert kinds(comparison) == [
        (0, Kind.MISSING, 5),
        (0, Kind.DOUBLED_RIGHT, 1),
        (1, Kind.EXTRA, 1),
        (1, Kind.ALTERED, 1),
        (1, Kind.REORDERED, 1),
    ]
    assert not comparison.is_equal()
    only_first = compare(settings, "a", "b", Wanted(partitions=[0]))
    assert kinds(only_first) == [(0, Kind.MISSING, 5), (0, Kind.DOUBLED_RIGHT, 1)]


def test_fields_that_may_differ(state: FakeCluster, settings: KafkaSettings) -> None:
    """Times that another cluster has set are no difference if they are ignored."""
    append(logs(state, "a", 1)[0], LOG)
    append(logs(state, "b", 1)[0], [Record(one.timestamp_ms + 5, one.key, one.value) for one in LOG])
    assert compare(settings, "a", "b", how=replace(HOW, limits=CompareLimits())).counts() == {Kind.ALTERED: 100}
    assert compare(settings, "a", "b", how=replace(HOW, fields=ALL_FIELDS - {"timestamp_ms"})).is_equal()


def test_ranges(state: FakeCluster, settings: KafkaSettings) -> None:
    """Both sides begin and end at the given positions, within their logs."""
    append(logs(state, "a", 1)[0], LOG)
    append(logs(state, "b", 1)[0], [*LOG[:50], *LOG[60:]])
    specs = [OffsetSpecs(name=name, default=AtOffset(offset)) for name, offset in (("--from", 10), ("--until", 50))]
    comparison = compare(settings, "a", "b", Wanted(start=specs[0], end=specs[1]))
    assert comparison.is_equal()
    assert comparison.left_records == 40


def test_retention_and_compaction(state: FakeCluster, settings: KafkaSettings) -> None:
    """Records that retention and compaction removed are counted and are no difference, unless topics are compared as a whole."""
    (left,), (right,) = logs(state, "a", 1), logs(state, "b", 1)
    keyed = [record(number, key=b"k%d" % (number % 30), value=b"v%d" % number) for number in range(100)]
    append(left, keyed, 1)
    append(right, keyed, 1)
    right.log_start_offset = 10
    del right.log[40:43]
    comparison = compare(settings, "a", "b")
    assert kinds(comparison) == [(0, Kind.EXPIRED_RIGHT, 10), (0, Kind.COMPACTED_RIGHT, 3)]
    assert comparison.is_equal()
    as_a_whole = compare(settings, "a", "b", how=replace(HOW, in_order=False))
    assert as_a_whole.counts() == {Kind.MISSING: 13}
    later = OffsetSpecs(name="--from", default=AtOffset(15))
    assert compare(settings, "a", "b", Wanted(start=later)).is_equal()
    append(right, [record(999)])
    assert kinds(compare(settings, "a", "b", Wanted(start=OffsetSpecs(name="--from", default=AtOffset(15))))) == [
        (0, Kind.COMPACTED_RIGHT, 3),
        (0, Kind.EXTRA, 1),
    ]


def test_compaction_explains_what_it_removed(state: FakeCluster, settings: KafkaSettings) -> None:
    """A compacted log that never had thirty records of the other lacks them, although it has later records of their keys."""
    (left,), (right,) = logs(state, "a", 1), logs(state, "b", 1)
    keyed = [record(number, key=b"k%d" % (number % 30)) for number in range(100)]
    append(left, keyed, 1)
    append(right, [*keyed[:20], *keyed[50:]], 1)
    del right.log[5]
    comparison = compare(settings, "a", "b")
    assert kinds(comparison) == [(0, Kind.COMPACTED_RIGHT, 1), (0, Kind.MISSING, 30)]
    assert not comparison.is_equal()
    assert kinds(compare(settings, "b", "a")) == [(0, Kind.COMPACTED_LEFT, 1), (0, Kind.EXTRA, 30)]


def test_retention_explains_what_it_removed(state: FakeCluster, settings: KafkaSettings) -> None:
    """A log that has lost ten records by retention, and never had the first twenty of the other, lacks records."""
    (left,), (right,) = logs(state, "a", 1), logs(state, "b", 1)
    append(left, [record(number) for number in range(60)])
    append(right, [record(number) for number in (*range(900, 910), *range(20, 60))])
    right.log_start_offset = 10
    comparison = compare(settings, "a", "b")
    assert kinds(comparison) == [(0, Kind.EXPIRED_RIGHT, 10), (0, Kind.MISSING, 10)]
    assert not comparison.is_equal()


@pytest.mark.parametrize(
    ("start", "expired"), [(AtOffset(0), 10), (AtOffset(6), 4), (AtOffset(10), 0), (BeforeEnd(45), 5), (AtTime(-1), 10)]
)
def test_retention_explains_no_more_than_it_removed_from_the_range(
    state: FakeCluster, settings: KafkaSettings, start: OffsetSpec, expired: int
) -> None:
    """A log that is compared from an offset on has lost only the offsets from there on; a time does not say how many."""
    (left,), (right,) = logs(state, "a", 1), logs(state, "b", 1)
    append(left, [record(number) for number in range(60)])
    append(right, [record(number) for number in (*range(900, 910), *range(30, 60), *range(910, 920))])
    right.log_start_offset = 10
    comparison = compare(settings, "a", "b", Wanted(start=OffsetSpecs(name="--from", default=start)))
    assert comparison.counts().get(Kind.EXPIRED_RIGHT, 0) == expired
    assert not comparison.is_equal()


def test_what_is_deleted_meanwhile(state: FakeCluster, settings: KafkaSettings) -> None:
    """If records are deleted before the second pass, a note says so: the difference is known, but maybe not its kind."""
    (left,), (right,) = logs(state, "a", 1), logs(state, "b", 1)
    append(left, LOG)
    append(right, [*LOG, LOG[3]])

    def deleted_after_all(_: int) -> None:
        left.log_start_offset = 50

    comparison = compare(settings, "a", "b", report=deleted_after_all)
    assert kinds(comparison) == [(0, Kind.EXTRA, 1)]
    assert comparison.failures == []
    assert comparison.notes == [f"c:a, partition 0: {LOST_MEANWHILE}"]


def test_an_answer_that_was_damaged_on_its_way(state: FakeCluster, settings: KafkaSettings) -> None:
    """The partition is compared again: its records would seem to be reordered, because the repaired batch comes late."""
    for topic in ("a", "b"):
        append(logs(state, topic, 1)[0], LOG)
    size = len(state.topics["a"].partitions[0].log[0].data)

    def damage(partition: Any) -> None:
        partition.records = partition.records[: size - 1] + b"?" + partition.records[size:]

    state.faults.append(Fault(FETCH.key, altered(damage)))
    comparison = compare(settings, "a", "b", how=replace(HOW, read=QUICK))
    assert (comparison.counts(), comparison.is_equal(), state.faults[0].times) == ({}, True, 0)


def test_other_numbers_of_partitions(state: FakeCluster, settings: KafkaSettings) -> None:
    """The topics are compared as a whole, with a note, also on request. Equal records in any partitions make them equal."""
    for log, part in zip(logs(state, "a", 2), (LOG[:50], LOG[50:]), strict=True):
        append(log, part)
    parts = (LOG[::3][::-1], LOG[1::3], LOG[2::3])
    for log, part in zip(logs(state, "b", 3), parts, strict=True):
        append(log, part)
    comparison = compare(settings, "a", "b")
    assert comparison.is_equal()
    assert (comparison.in_order, comparison.left_records) == (False, 100)
    assert comparison.notes == ["c:a has 2 partitions, c:b 3: compared as a whole, without order"]
    append(state.topics["b"].partitions[0], [LOG[5], record(777)])
    comparison = compare(settings, "a", "b")
    assert comparison.counts() == {Kind.EXTRA: 1, Kind.DOUBLED_RIGHT: 1}
    assert not comparison.is_equal()
    assert compare(settings, "a", "b", how=replace(HOW, in_order=False)).notes == []


def test_sums_of_partitions_are_added_as_they_come(
    state: FakeCluster, settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has 1.5 MB of them: kept until all were read, those of 10,000 partitions took 15 GB."""
    alive, most = set[int](), list[int]()

    class CountedSums(BucketSums):
        """Sums that are counted while they are in memory."""

        def __init__(self) -> None:
            super().__init__()
            alive.add(id(self))
            most.append(len(alive))

        def __del__(self) -> None:
            alive.discard(id(self))

    monkeypatch.setattr(topics, "BucketSums", CountedSums)
    for topic, partitions in (("a", 12), ("b", 11)):
        for log in logs(state, topic, partitions):
            append(log, LOG[:4])
    comparison = compare(settings, "a", "b")
    assert (comparison.left_records, comparison.right_records) == (48, 44)
    assert max(most) <= 2 + PARTITIONS_AT_ONCE


def test_sets_that_cannot_be_read_again(state: FakeCluster, settings: KafkaSettings) -> None:
    """Topics that differed in the first pass are not equal if the record that makes the difference is not read again."""
    (left,), right = logs(state, "a", 1), logs(state, "b", 2)
    append(left, [record(777), *LOG])
    append(right[0], LOG)
    left_out = len(LOG) + 1

    def deleted(_: int) -> None:
        left.log_start_offset = 10

    comparison = compare(settings, "a", "b", report=deleted)
    assert comparison.left_records == left_out
    assert (comparison.counts(), comparison.is_equal(), comparison.failures) == ({}, False, [])
    assert comparison.notes[1:] == [f"c:a, partition 0: {DELETED_MEANWHILE}"]
    left.log_start_offset = 0

    def broken(_: int) -> None:
        left.log[0].data = left.log[0].data[:-1] + b"?"

    comparison = compare(settings, "a", "b", report=broken)
    assert (comparison.left_records, comparison.counts(), comparison.is_equal()) == (left_out, {}, False)
    assert [(one.scope.topic, one.scope.partition, one.name) for one in comparison.failures] == [
        ("a", 0, "CORRUPT_BATCH")
    ]


@pytest.mark.parametrize("partitions_of_b", [2, 3])
def test_ctrl_c_stops_all_partitions(
    state: FakeCluster, settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch, partitions_of_b: int
) -> None:
    """The other partitions are not read to their ends, which may take hours; in order or not."""
    for topic, partitions in (("a", 2), ("b", partitions_of_b)):
        for log in logs(state, topic, partitions):
            append(log, LOG)
    both_read, is_ending = Barrier(2), Event()

    class Threads(ThreadPoolExecutor):
        def shutdown(self, *arguments: Any, **options: Any) -> None:
            if self._thread_name_prefix == "partition":
                is_ending.set()
            super().shutdown(*arguments, **options)

    after: list[int] = []

    def interrupted(count: int) -> None:
        if is_ending.is_set():
            after.append(count)
            return
        if not both_read.wait(WAIT_S):
            signal.pthread_kill(int(main_thread().ident or 0), signal.SIGINT)
        if not is_ending.wait(WAIT_S):
            pytest.fail("the comparison goes on")

    monkeypatch.setattr(connections, "ThreadPoolExecutor", Threads)
    with pytest.raises(KeyboardInterrupt):
        compare(settings, "a", "b", report=interrupted)
    assert sum(after) < 100  # chunks of 30 records that were read ahead; 140 if nothing stops


def test_too_different(state: FakeCluster, settings: KafkaSettings) -> None:
    """A comparison that is given up is not equal, and reports its position."""
    append(logs(state, "a", 1)[0], LOG * 3)
    append(logs(state, "b", 1)[0], [record(number + 1_000) for number in range(300)])
    comparison = compare(settings, "a", "b")
    assert not comparison.is_whole
    assert comparison.partitions[0].gave_up == "NOTHING_IN_COMMON"
    assert comparison.left_records < 300
    sample = compare(settings, "a", "b", how=replace(HOW, in_order=False))
    assert not sample.is_whole
    assert "a sample" in sample.notes[0]


def test_records_that_are_there_too_often(state: FakeCluster, settings: KafkaSettings) -> None:
    """Topics that differ in the number of equal records are different, although these are too many to be kept."""
    first, second = logs(state, "a", 2)
    append(first, [record(5)] * 300)
    append(second, [record(5)] * 100)
    append(logs(state, "b", 1)[0], [record(5)] * 401)
    comparison = compare(settings, "a", "b")
    assert (comparison.is_equal(), comparison.is_whole, comparison.sets) == (False, False, [])
    assert (comparison.left_records, comparison.right_records) == (400, 401)
    assert comparison.notes[-1] == "differences are not listed: too many records would have to be kept to find them"


def test_what_cannot_be_read(state: FakeCluster, settings: KafkaSettings) -> None:
    """A partition without a response and a broken batch are failures; other partitions are compared."""
    for topic in ("a", "b"):
        for log in logs(state, topic):
            append(log, LOG)
    state.topics["b"].partitions[1].error_code = NOT_LEADER_OR_FOLLOWER
    comparison = compare(settings, "a", "b")
    assert [part.partition for part in comparison.partitions] == [0]
    assert [(failure.scope.topic, failure.scope.partition) for failure in comparison.failures] == [("b", 1)]
    state.topics["b"].partitions[1].error_code = 0
    broken = state.topics["b"].partitions[1].log[3]
    broken.data = broken.data[:-1] + b"?"
    comparison = compare(settings, "a", "b")
    assert [(failure.scope.partition, failure.name) for failure in comparison.failures] == [(1, "CORRUPT_BATCH")]


def test_header_keys_that_are_not_text(state: FakeCluster, settings: KafkaSettings) -> None:
    """They are compared in their escaped form, and a note has their number."""
    odd = [Record(1, b"k", b"v", ((b"\xff", b"x"),)), *LOG]
    for topic in ("a", "b"):
        append(logs(state, topic, 1)[0], odd)
    comparison = compare(settings, "a", "b")
    assert comparison.is_equal()
    assert [note.partition(": ")[2] for note in comparison.notes] == [
        "1 records have header keys that are not UTF-8; they are compared as they are spelled out"
    ] * 2


def test_what_does_not_exist(state: FakeCluster, settings: KafkaSettings) -> None:
    """A missing topic or partition is a fault of the arguments."""
    logs(state, "a", 2)
    with pytest.raises(ConfigError, match="c:none: no such topic"):
        compare(settings, "a", "none")
    with pytest.raises(ConfigError, match="c:a: no partition 7: it has 2, from 0 on"):
        compare(settings, "a", "a", Wanted(partitions=[7]))


def side(splits: dict[int, tuple[int, int]], *, partitions: int, is_archive: bool) -> Side:
    """Make a side of one cluster and topic with these ranges."""
    ranges = {
        number: Split(topic="t", topic_id="id", partition=number, from_offset=start, to_offset=end, stable_end=end)
        for number, (start, end) in splits.items()
    }
    of = TopicOfCluster(cluster="a", kafka=KafkaSettings(bootstrap_servers="localhost:1"), topic="t")
    return Side(
        of=of,
        cluster_id="c",
        topic_id="id",
        partitions=partitions,
        splits=ranges,
        lost=dict.fromkeys(splits, 0),
        is_archive=is_archive,
    )


def test_partitions_that_an_archive_lacks() -> None:
    """A topic and its own archive are compared in order where both have records; a note names what is left out."""
    live = side({0: (0, 100), 1: (0, 0), 2: (0, 100)}, partitions=3, is_archive=False)
    archived = side({0: (0, 90)}, partitions=1, is_archive=True)
    left, right = of_one_log(live, archived)
    assert (left.partitions, right.partitions) == (1, 1)
    assert {number: (one.from_offset, one.to_offset) for number, one in left.splits.items()} == {0: (0, 90)}
    assert left.splits.keys() == right.splits.keys()
    assert left.notes == [
        "a:t: 10 offsets after what the other side has are not compared",
        "a:t: partition 2 with 100 offsets is not in the other side, and is not compared",
    ]
    assert right.notes == []


@pytest.mark.parametrize(("topic_id", "compared"), [("id", 90), (None, 90), ("other", 100)])
def test_an_archive_without_a_topic_id(topic_id: str | None, compared: int) -> None:
    """It is of the topic, whose brokers were upgraded after the last ingest; an archive with another id is not."""
    live = side({0: (0, 100)}, partitions=1, is_archive=False)
    archived = side({0: (0, 90)}, partitions=1, is_archive=True)
    left, _ = of_one_log(live, replace(archived, topic_id=topic_id))
    assert left.splits[0].to_offset == compared


def test_an_archive_without_a_partition_of_its_topic() -> None:
    """Without an id, a topic that was re-created with fewer partitions shares none with the archive: all of it is compared."""
    live = side({0: (0, 100)}, partitions=1, is_archive=False)
    archived = side({1: (0, 90)}, partitions=2, is_archive=True)
    left, right = of_one_log(live, archived)
    assert (left.partitions, right.partitions) == (1, 2)
    assert (left.splits.keys(), right.splits.keys()) == ({0}, {0, 1})
    assert (right.splits[0].from_offset, right.splits[0].to_offset, right.lost) == (0, 0, {0: 0, 1: 0})
