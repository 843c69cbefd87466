"""The writer: every record is in a written or in an unwritten batch."""

import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.produce.sequences import SequenceNumbers, init_producer_id
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.produce.writer import Target, TopicWriter, WriteResult
from kafka_lagoon.protocol.messages.produce import LEADER_ACKS, NO_ACKS, PRODUCE, BatchIndexAndErrorMessage
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.produce.conftest import Connect, refuse
from tests.reference.batches import Record, header, records

NEWS = Target(topic="news")

NEEDLESS = """
import sys, kafka_lagoon.produce.writer
print(*{"pyspark", "pyarrow", "numpy", "numba", "kafka_lagoon.cli"} & set(sys.modules))
"""


@pytest.fixture
def news(state: FakeCluster, brokers: dict[int, FakeBroker]) -> FakeCluster:  # noqa: ARG001
    """A cluster with an empty topic of three partitions, one on each broker."""
    state.add_topic("news", 3, end=0)
    return state


def writer(cluster: Cluster, target: Target = NEWS) -> TopicWriter:
    deadline = Deadline.after(CLOCK, 2_000)
    topic = describe_targets(cluster, [target.topic], deadline)[target.topic]
    return TopicWriter(cluster, topic, target, init_producer_id(cluster, deadline))


def in_log(state: FakeCluster, partition: int) -> list[Record]:
    """The records of a partition."""
    batches = state.topics["news"].partitions[partition].log
    return [record for batch in batches for record in records(header(batch.data))]


def located(results: Iterable[WriteResult]) -> dict[int, tuple[int, int | None]]:
    """Partition and offset of each written record, by its index."""
    return {
        index: (batch.partition.partition, None if batch.base_offset is None else batch.base_offset + n)
        for result in results
        for batch in result.written
        for n, index in enumerate(batch.indexes)
    }


def test_records_go_where_they_say(news: FakeCluster, connect: Connect) -> None:
    """The partition, else the key, else one partition for all is chosen; records are complete, at the returned offsets."""
    sent = [
        ProducerRecord(b"k", b"v", ((b"h", None),), partition=2, timestamp_ms=5),
        ProducerRecord(b"key", None),
        ProducerRecord(None, b"one"),
        ProducerRecord(None, b"two", timestamp_ms=-1),
    ]
    (result,) = writer(connect()).write(sent)
    assert not result.unwritten
    where = located([result])
    assert [where[index][0] for index in (0, 1)] == [2, partition_of(b"key", 3)]
    assert where[2][0] == where[3][0]
    for index, record in enumerate(sent):
        partition, offset = where[index]
        assert offset is not None
        stored = in_log(news, partition)[offset]
        assert (stored.key, stored.value, stored.headers) == (record.key, record.value, record.headers)
        if record.timestamp_ms is not None:
            assert stored.timestamp_ms == record.timestamp_ms


def test_indexes_go_on(connect: Connect, news: FakeCluster) -> None:  # noqa: ARG001
    """Indexes are counted over all calls of `write`; a call without records sends nothing."""
    writing = writer(connect())
    assert not list(writing.write([]))
    for first in (0, 2):
        results = list(writing.write([ProducerRecord(None, b"v", partition=0)] * 2))
        assert located(results) == {first: (0, first), first + 1: (0, first + 1)}
    assert writing.taken == 4


@pytest.mark.parametrize("codec", CODECS.values())
def test_batches_keep_to_their_size(news: FakeCluster, connect: Connect, codec: int) -> None:
    """A large record after small ones gets its own batch, because together they might be too large for the broker."""
    target = Target(topic="news", batch_bytes=1_000, codec=codec)
    sizes = [300, 300, 300, 900, 10, 2_000, 10]
    results = list(writer(connect(), target).write(ProducerRecord(None, bytes(size), partition=1) for size in sizes))
    assert [len(batch.indexes) for result in results for batch in result.written] == [2, 1, 1, 1, 1, 1]
    assert [len(found.value or b"") for found in in_log(news, 1)] == sizes


@pytest.mark.parametrize(
    ("largest", "chosen", "batches"),
    [(2_000, None, 5), (None, None, 1), (2_000, 5_000, 2), (10_000_000, None, 1)],
)
def test_batches_keep_to_the_size_of_the_topic(
    news: FakeCluster, connect: Connect, largest: int | None, chosen: int | None, batches: int
) -> None:
    """By default no batch is larger than max.message.bytes. A size that was chosen holds: compression may make it smaller."""
    news.topics["news"].max_message_bytes = largest
    sent = [ProducerRecord(None, bytes(400), partition=1) for _ in range(20)]
    results = list(writer(connect(), Target(topic="news", batch_bytes=chosen)).write(sent))
    assert len([batch for result in results for batch in result.written]) == batches
    assert len(in_log(news, 1)) == 20
    if chosen is None and largest is not None:
        assert max(len(batch.data) for batch in news.topics["news"].partitions[1].log) <= largest


def test_records_without_key_stay_together_for_a_round(news: FakeCluster, connect: Connect) -> None:
    """The records of a round go to one partition; the next one is chosen at random, so that each partition gets records."""
    target = Target(topic="news", batch_bytes=200)
    results = list(writer(connect(), target).write(ProducerRecord(None, bytes(100)) for _ in range(100)))
    assert [len(result.written) for result in results] == [1] * 100
    written = [len(in_log(news, partition)) for partition in range(3)]
    assert (sum(written), min(written) > 0) == (100, True)


def test_memory_is_bounded_over_many_partitions(news: FakeCluster, connect: Connect) -> None:
    """Batches below their limit are sent when all of them together reach the limit of the buffer."""
    target = Target(topic="news", buffer_bytes=1_000)
    spread = [ProducerRecord(None, bytes(200), partition=index % 3) for index in range(9)]
    results = list(writer(connect(), target).write(spread))
    assert [sum(len(batch.indexes) for batch in result.written) for result in results] == [4, 4, 1]
    assert [len(in_log(news, partition)) for partition in range(3)] == [3, 3, 3]


def test_failures_stand_beside_results(news: FakeCluster, connect: Connect) -> None:
    """If one partition refuses, the others are written, the indexes of refused records are named, and writing ends."""
    named = (BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key"),)
    news.faults.append(Fault(PRODUCE.key, refuse(87, 1, record_errors=named), times=9))
    target = Target(topic="news", batch_bytes=150)
    spread = (ProducerRecord(None, b"v", partition=index % 3) for index in range(12))
    writing = writer(connect(), target)
    (result,) = writing.write(spread)
    assert sorted(located([result])) == [0, 2, 3, 5]
    (refused,) = result.unwritten
    assert (refused.partition, refused.indexes) == (TopicPartition("news", 1), [1, 4])
    assert (refused.failure.name, refused.refused) == ("INVALID_RECORD", {4: "no key"})
    assert writing.taken == 6
    with pytest.raises(RuntimeError, match="out of order"):
        list(writing.write([ProducerRecord(None, b"later")]))


def test_what_no_batch_can_carry_is_a_failure(news: FakeCluster, connect: Connect) -> None:
    """Records of other partitions are written."""
    sent = [ProducerRecord(None, b"v", partition=0), ProducerRecord(None, b"v", partition=1, timestamp_ms=1 << 63)]
    (result,) = writer(connect()).write(sent)
    assert located([result]) == {0: (0, 0)}
    assert [(batch.indexes, batch.failure.name) for batch in result.unwritten] == [([1], "CORRUPT_BATCH")]
    assert not in_log(news, 1)


def test_a_partition_that_the_topic_does_not_have(connect: Connect, news: FakeCluster) -> None:  # noqa: ARG001
    """Its records are unwritten, as those of a partition without a leader."""
    target = Target(topic="news", delivery_timeout_ms=1_000)
    (result,) = writer(connect(), target).write([ProducerRecord(None, b"v", partition=3)])
    assert [(batch.indexes, batch.failure.name) for batch in result.unwritten] == [([0], "LEADER_NOT_AVAILABLE")]


@pytest.mark.parametrize(("acks", "offset"), [(LEADER_ACKS, 0), (NO_ACKS, None)])
def test_without_a_producer_id(connect: Connect, news: FakeCluster, acks: int, offset: int | None) -> None:
    """With acks 1 the offset is known, with acks 0 it is not; the next request on the connection is answered."""
    cluster, target = connect(), Target(topic="news", acks=acks)
    topic = describe_targets(cluster, ["news"], Deadline.after(CLOCK, 2_000))["news"]
    (result,) = TopicWriter(cluster, topic, target, SequenceNumbers()).write([ProducerRecord(None, b"v", partition=0)])
    assert [(batch.base_offset, batch.indexes) for batch in result.written] == [(offset, [0])]
    answered = TopicWriter(cluster, topic, Target(topic="news", acks=LEADER_ACKS), SequenceNumbers())
    assert located(answered.write([ProducerRecord(None, b"w", partition=0)])) == {0: (0, 1)}
    assert [stored.value for stored in in_log(news, 0)] == [b"v", b"w"]


def test_after_a_lost_answer(connect: Connect, news: FakeCluster) -> None:
    """Nothing is written twice, and each offset is known."""
    news.faults.append(Fault(PRODUCE.key, Close(), node_id=1))
    sent = [ProducerRecord(None, b"%d" % index, partition=index % 3) for index in range(300)]
    results = list(writer(connect(), Target(topic="news", batch_bytes=2_000)).write(sent))
    assert not [batch for result in results for batch in result.unwritten]
    assert located(results) == {index: (index % 3, index // 3) for index in range(300)}
    for partition in range(3):
        assert [found.value for found in in_log(news, partition)] == [b"%d" % n for n in range(partition, 300, 3)]


def test_imports() -> None:
    """Neither Spark, Arrow, numpy nor the command line is needed."""
    done = subprocess.run([sys.executable, "-c", NEEDLESS], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"\n"


def test_two_writers_at_once(connect: Connect, news: FakeCluster) -> None:
    """Each has its own producer id, and all records of both are written once."""
    sent = [ProducerRecord(b"key-%d" % index, b"%d" % index) for index in range(200)]
    writers = [writer(connect(), Target(topic="news", codec=CODECS["zstd"])) for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        results = [*threads.map(lambda own, share: list(own.write(share)), writers, (sent[:100], sent[100:]))]
    both = [result for own in results for result in own]
    assert not [batch for result in both for batch in result.unwritten]
    assert sum(len(batch.indexes) for result in both for batch in result.written) == 200
    stored = [record for partition in range(3) for record in in_log(news, partition)]
    assert sorted((record.key, record.value) for record in stored) == sorted(record[:2] for record in sent)
    batches = [batch for log in news.topics["news"].partitions for batch in log.log]
    assert len({header(batch.data).producer_id for batch in batches}) == 2
