"""Arrow batches written to a fake cluster: every row is in a log once and in order, or in a failure."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.errors import BrokerError, CorruptBatch, RowRefused
from kafka_lagoon.produce import batch_sender
from kafka_lagoon.produce.arrow_writer import RECORD_TOO_LARGE, ArrowWriter, WriteOptions
from kafka_lagoon.produce.batch_queues import AFTER_UNWRITTEN, Batch
from kafka_lagoon.produce.batch_sender import BatchSender
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sending import Delivery
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.produce import LEADER_ACKS, NO_ACKS, PRODUCE
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encoding import Producer, encode_batch
from kafka_lagoon.records.encoding import Record as RecordToWrite
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.effort import first
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault, Hang, Slow
from tests.produce.conftest import refuse, soon
from tests.reference.batches import Record, header, records

Connect = Callable[..., Cluster]
NUMBERED = Producer(4_000, 0, 0)
SMALL = WriteOptions(target_batch_bytes=200, buffer_bytes=20_000)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture
def news(state: FakeCluster) -> FakeCluster:
    """Two empty topics of three partitions, one on each broker."""
    state.add_topic("news", 3, end=0)
    state.add_topic("other", 3, end=0)
    return state


def writer(cluster: Cluster, options: WriteOptions = SMALL, state: ProducerState | None = None) -> ArrowWriter:
    """Open a writer to both topics, with sequence numbers."""
    topics = describe_targets(cluster, {"news", "other"}, soon())
    return ArrowWriter(cluster, topics, state or ProducerState(NUMBERED), options)


def rows(values: Iterable[bytes | None], **columns: Any) -> pa.RecordBatch:
    """Make an Arrow batch with these values and these other columns."""
    return pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary()), **columns})


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [b"%06d" % number for number in range(start, start + count)]


def log(state: FakeCluster, partition: int, topic: str = "news") -> list[Record]:
    """Return all records of a partition, with their offsets."""
    written = state.topics[topic].partitions[partition].log
    read = [one for batch in written for one in records(header(batch.data))]
    assert [one.offset for one in read] == list(range(len(read)))
    return read


def values(state: FakeCluster, partition: int, topic: str = "news") -> list[bytes | None]:
    return [one.value for one in log(state, partition, topic)]


def test_rows_go_where_they_say(news: FakeCluster, connect: Connect) -> None:
    """Columns topic and partition choose the partition; a row without a partition goes by its key; all fields are written."""
    given = rows(
        [b"a", None, b"", b"d", b"e"],
        topic=["news", "other", "news", "news", "news"],
        partition=pa.array([2, 0, 2, None, 2], pa.int32()),
        key=pa.array([None, b"", b"k", b"21", None], pa.binary()),
        timestamp=pa.array([1_000, -1, 2_000, None, 0], pa.timestamp("ms", "UTC")),
        headers=pa.array([[], None, [("h", None), ("h", b"x")], [], []], HEADERS),
    )
    with writer(connect()) as to:
        to.write(given)
    assert not to.failures
    assert [(one.timestamp_ms, one.key, one.value, one.headers) for one in log(news, 2)] == [
        (1_000, None, b"a", ()),
        (2_000, b"k", b"", ((b"h", None), (b"h", b"x"))),
        (0, None, b"e", ()),
    ]
    assert [(one.timestamp_ms, one.key, one.value) for one in log(news, 0, "other")] == [(-1, b"", None)]
    (keyed,) = log(news, partition_of(b"21", 3))
    assert keyed.value == b"d"
    assert keyed.timestamp_ms > 1_700_000_000_000
    assert {(one.partition, one.first, one.count, one.base_offset) for one in to.take_written()} == {
        (TopicPartition("news", 2), 0, 3, 0),
        (TopicPartition("other", 0), 0, 1, 0),
        (TopicPartition("news", partition_of(b"21", 3)), 0, 1, 0),
    }


def test_what_was_written_is_known_in_order(news: FakeCluster, connect: Connect) -> None:
    """Ordinals and offsets are consecutive over all batches and calls, and the state has the next sequence number."""
    state = ProducerState(NUMBERED)
    with writer(connect(), state=state) as to:
        for start in range(0, 1_000, 50):
            to.write(rows(numbered(50, start)), topic="news", partition=1)
    written = to.take_written()
    assert [one.first for one in written] == [one.base_offset for one in written]
    assert sum(one.count for one in written) == 1_000
    assert values(news, 1) == numbered(1_000)
    assert state.partitions == {TopicPartition("news", 1): NUMBERED._replace(sequence=1_000)}


@pytest.mark.parametrize("codec", first(list(CODECS), 2))
def test_many_rows_in_several_requests(news: FakeCluster, connect: Connect, codec: str) -> None:
    """Small Arrow batches are collected; a connection has several batches in flight; nothing is reordered."""
    options = WriteOptions(codec=CODECS[codec], target_batch_bytes=1_000, buffer_bytes=8_000)
    keys = [b"%d" % (number % 50) for number in range(5_000)]
    with writer(connect(), options) as to:
        for start in range(0, 5_000, 100):
            to.write(rows(numbered(100, start), key=pa.array(keys[start : start + 100], pa.binary())), topic="news")
    expected: dict[int, list[bytes]] = {}
    for key, value in zip(keys, numbered(5_000), strict=True):
        expected.setdefault(partition_of(key, 3), []).append(value)
    assert {partition: values(news, partition) for partition in range(3)} == expected


def test_state_of_each_partition(news: FakeCluster, connect: Connect) -> None:
    """Each partition's sequence numbers continue at its state; a batch whose numbers the log has is not written again."""
    first, second = (TopicPartition("news", partition) for partition in (0, 1))
    state = ProducerState(None, {first: Producer(11, 0, 0), second: Producer(12, 0, 0)})
    with writer(connect(), state=state) as to:
        to.write(rows(numbered(30), partition=pa.array([0, 1] * 15)), topic="news")
    again = ProducerState(None, {first: Producer(11, 0, 0), second: state.of(second)})
    with writer(connect(), state=again) as to:
        to.write(rows(numbered(30), partition=pa.array([0, 1] * 15)), topic="news")
    assert not to.failures
    assert values(news, 0) == numbered(30)[::2]
    assert values(news, 1) == numbered(30)[1::2] * 2
    to = writer(connect(), state=again)
    to.write(rows([b"x"]), topic="news", partition=2)
    with pytest.raises(LookupError, match="news-2"):
        to.flush()


@pytest.mark.parametrize("errors", [[7], [0, 20], [7, 0, 0, 0, 0, 7], [7, 0, 20, 0, 0, 7, 7]])
@pytest.mark.parametrize("in_flight", [5, 30])
def test_batches_that_were_appended_although_refused(
    news: FakeCluster, connect: Connect, errors: list[int], in_flight: int
) -> None:
    """Kafka recognizes the last five batches of a producer, so that no more of them may be on their way at a time."""
    news.topics["news"].partitions[0].produce_errors = list(errors)
    with writer(connect(max_in_flight_requests_per_connection=in_flight)) as to:
        to.write(rows(numbered(500)), topic="news", partition=0)
    assert not to.failures
    assert values(news, 0) == numbered(500)


@pytest.mark.parametrize(
    "fault", [Close(), Close(sent=10), Slow(0.05), Altered(lambda answer: replace(answer, responses=()))]
)
def test_answers_that_are_lost(news: FakeCluster, connect: Connect, fault: Close | Slow | Altered) -> None:
    """All batches without a response are sent again, and each is in the log once."""
    news.faults += [Fault(PRODUCE.key, fault, times=1) for _ in range(2)]
    with writer(connect()) as to:
        to.write(rows(numbered(500)), topic="news", partition=0)
    assert not to.failures
    assert values(news, 0) == numbered(500)


def test_a_batch_that_is_refused_while_others_follow_it(news: FakeCluster, connect: Connect) -> None:
    """The broker refuses later batches as out of order; all are sent again in their order."""
    partition = news.topics["news"].partitions[0]
    partition.produce_errors = [0, 19, 0, 0, 19, 6]
    with writer(connect()) as to:
        to.write(rows(numbered(300)), topic="news", partition=0)
    assert (to.failures, partition.produce_errors) == ([], [])
    assert values(news, 0) == numbered(300)


@pytest.mark.parametrize("errors", [[6], [19, 0, 19], [7, 6]])
def test_the_first_batch_of_a_partition_is_refused(news: FakeCluster, connect: Connect, errors: list[int]) -> None:
    """Brokers take any number of a producer that they do not know, so no batch may come before the first one is written."""
    partition = news.topics["news"].partitions[0]
    partition.produce_errors = list(errors)
    to = writer(connect())
    with to._sender._changed:  # so that the first round may have several batches
        to.write(rows(numbered(60)), topic="news", partition=0)
        to._encode_collected()
    to.flush()
    to.close()
    assert (to.failures, partition.produce_errors) == ([], [])
    assert values(news, 0) == numbered(60)


def test_a_leader_that_moves(news: FakeCluster, connect: Connect) -> None:
    """The leader is looked up, and writing continues there; other partitions do not wait."""
    cluster = connect()
    with writer(cluster) as to:
        to.write(rows(numbered(100)), topic="news", partition=0)
        to.flush()
        moved = news.topics["news"].partitions[0]
        moved.leader_id, moved.leader_epoch = 3, 1
        to.write(rows(numbered(100, 100), partition=pa.array([0, 2] * 50)), topic="news")
    assert not to.failures
    assert values(news, 0) == numbered(100) + numbered(100, 100)[::2]
    assert values(news, 2) == numbered(100, 100)[1::2]


def test_a_partition_without_a_leader(news: FakeCluster, connect: Connect) -> None:
    """Its records wait until the timeout; records without a key go to other partitions."""
    news.topics["news"].partitions[1].leader_id = -1
    with writer(connect(default_api_timeout_ms=300)) as to:
        to.write(rows(numbered(200)), topic="news")
        to.write(rows(numbered(5)), topic="news", partition=1)
    assert {one.partition for one in to.failures} == {TopicPartition("news", 1)}
    assert to.failures[0].failure.name == "LEADER_NOT_AVAILABLE"
    assert sum(one.count for one in to.failures) == 5
    assert sorted(values(news, 0) + values(news, 2)) == numbered(200)


def test_pauses_after_refused_rounds(news: FakeCluster, connect: Connect) -> None:
    """They grow as long as batches are refused, and are short again after a round without a refusal."""
    news.topics["news"].partitions[0].produce_errors = [6, 6, 6, 0, 6]
    cluster, pauses = connect(retry_backoff_ms=100, retry_backoff_max_ms=400), list[float]()
    cluster.clock = replace(CLOCK, sleep=pauses.append)
    with writer(cluster) as to:
        for value in (b"0", b"1"):
            to.write(rows([value]), topic="news", partition=0)
            to.flush()
    assert values(news, 0) == [b"0", b"1"]
    assert [pause / base for pause, base in zip(pauses, (0.1, 0.2, 0.4, 0.1), strict=True)] == [
        pytest.approx(1, abs=0.2)
    ] * 4


def test_one_partition_fails_and_others_go_on(news: FakeCluster, connect: Connect) -> None:
    """Every row is in a log or in a failure, and the first failure of a partition has the reason."""
    news.topics["news"].partitions[0].produce_errors = [0, 29, *[0] * 100]
    with writer(connect()) as to:
        for start in range(0, 300, 100):
            to.write(rows(numbered(100, start), partition=pa.array([0, 1] * 50)), topic="news")
        to.flush()
        to.write(rows(numbered(10)), topic="news", partition=0)
    assert values(news, 1) == numbered(300)[1::2]
    written = [one for one in to.take_written() if one.partition.partition == 0]
    assert values(news, 0) == numbered(300)[::2][: sum(one.count for one in written)]
    assert sum(one.count for one in (*written, *to.failures)) == 160
    assert [one.failure.name for one in to.failures][:2] == ["TOPIC_AUTHORIZATION_FAILED", AFTER_UNWRITTEN]
    places = [row for one in (*written, *to.failures) for row in range(one.first, one.first + one.count)]
    assert sorted(places) == list(range(160))


def test_a_batch_that_was_made_before_a_refusal(news: FakeCluster, connect: Connect) -> None:
    """It comes to the sender after the partition has failed, and is not written: it would be after a gap."""
    partition, cluster = TopicPartition("news", 0), connect()
    cluster.refresh({"news"}, soon())
    sender = BatchSender(cluster, Delivery(), is_idempotent=True, buffer_bytes=1 << 20, timeout_ms=2_000)
    sender.refuse(partition, 0, 1, own_failure(PRODUCE, Scope.of_partition(*partition), RECORD_TOO_LARGE, "large"))
    sender.put(partition, 1, 1, encode_batch([RecordToWrite(1_000, None, b"v")], producer=NUMBERED))
    sender.flush()
    sender.close()
    assert [(one.first, one.failure.name) for one in sender.failures] == [(0, RECORD_TOO_LARGE), (1, AFTER_UNWRITTEN)]
    assert (sender.take_written(), log(news, 0)) == ([], [])


def test_a_record_that_is_too_large(news: FakeCluster, connect: Connect) -> None:
    """Records before it are written, the error names it, and nothing more is written to its partition."""
    news.topics["news"].max_message_bytes = 300
    given = [b"a", b"b", b"c" * 400, b"d", b"e"]
    with writer(connect()) as to:
        to.write(rows(given, partition=pa.array([0, 0, 0, 0, 1])), topic="news")
        to.flush()
        to.write(rows([b"f", b"g"], partition=pa.array([0, 1])), topic="news")
    assert (values(news, 0), values(news, 1)) == ([b"a", b"b"], [b"e", b"g"])
    assert [(one.first, one.count, one.failure.name) for one in to.failures] == [
        (2, 2, RECORD_TOO_LARGE),
        (4, 1, AFTER_UNWRITTEN),
    ]
    assert to.failures[0].failure.message == "a batch of it alone has 470 bytes, more than max.message.bytes, 300"


@pytest.mark.parametrize(
    ("kept", "codec", "most"),
    [
        ("producer", "zstd", 30),
        ("zstd", "zstd", 30),
        ("uncompressed", "zstd", 5),
        ("gzip", "zstd", 5),
        ("gzip", "none", 5),
    ],
)
def test_brokers_that_compress_otherwise(news: FakeCluster, connect: Connect, kept: str, codec: str, most: int) -> None:
    """They compare max.message.bytes with the batch as they store it, so it must be small enough without compression, too."""
    news.topics["news"].max_message_bytes = 300
    news.configs[TOPIC, "news"] = {"compression.type": kept}
    options = WriteOptions(codec=CODECS[codec], target_batch_bytes=2_000, buffer_bytes=20_000)
    with writer(connect(), options) as to:
        to.write(rows([b"a" * 40] * 30, partition=pa.array([0] * 30)), topic="news")
    written = news.topics["news"].partitions[0].log
    assert not to.failures
    assert max(batch.last_offset - batch.base_offset + 1 for batch in written) == most


@pytest.mark.parametrize(
    ("columns", "given", "reason"),
    [
        ({"topic": ["news", None]}, {}, "row 3: there is no topic"),
        ({"topic": ["news", "nosuch"]}, {}, "Metadata for nosuch: UNKNOWN_TOPIC_OR_PARTITION"),
        ({}, {}, "row 2: there is no topic"),
        ({"partition": [0, 3]}, {"topic": "news"}, "row 3: partition 3 is not one of the 3 of topic news"),
        ({"partition": [-1, 0]}, {"topic": "news"}, "row 2: there is no partition -1"),
        ({"topic": ["news", "other"]}, {"partition": 5}, "row 2: partition 5 is not one of the 3 of topic news"),
        ({"headers": [[], [{"key": None, "value": b"v"}]]}, {"topic": "news"}, "row 3: it has a header without a name"),
    ],
)
def test_rows_that_are_refused(
    news: FakeCluster, connect: Connect, columns: dict[str, list[Any]], given: dict[str, Any], reason: str
) -> None:
    """The error names the row by its number among all rows, and nothing of its Arrow batch is written."""
    with writer(connect()) as to:
        to.write(rows([b"x", b"y"]), topic="news", partition=0)
        to.flush()
        to.write(rows([b"z", b"z"], **columns), **given)
        with pytest.raises((RowRefused, BrokerError)) as refused:
            to.flush()
    assert str(refused.value) == reason
    assert values(news, 0) == [b"x", b"y"]


@pytest.mark.parametrize("acks", [LEADER_ACKS, NO_ACKS])
def test_without_numbers(news: FakeCluster, connect: Connect, acks: int) -> None:
    """Without sequence numbers a partition has one batch in flight; offsets are known only if brokers send responses."""
    options = WriteOptions(acks=acks, target_batch_bytes=200, buffer_bytes=2_000)
    with writer(connect(), options, ProducerState()) as to:
        to.write(rows(numbered(300), partition=pa.array([0, 1, 2] * 100)), topic="news")
    assert not to.failures
    known = {one.base_offset is not None for one in to.take_written()}
    assert known == {acks == LEADER_ACKS}
    if acks == LEADER_ACKS:
        assert [values(news, partition) for partition in range(3)] == [numbered(300)[n::3] for n in range(3)]


def test_a_batch_without_numbers_whose_answer_is_lost(news: FakeCluster, connect: Connect) -> None:
    """The batch is not sent again: its failure has `may_be_done`, and the batches after it are not sent."""
    news.faults.append(Fault(PRODUCE.key, Close()))
    options = WriteOptions(acks=LEADER_ACKS, target_batch_bytes=200, buffer_bytes=2_000)
    with writer(connect(), options, ProducerState()) as to:
        to.write(rows(numbered(100)), topic="news", partition=0)
    assert [one.failure.may_be_done for one in to.failures][:2] == [True, False]
    assert values(news, 0) == numbered(to.failures[0].count)


def test_numbers_need_all_acks(news: FakeCluster, connect: Connect) -> None:  # noqa: ARG001
    """Sequence numbers need acks of all replicas: a broker that loses an acknowledged batch would refuse the next one."""
    with pytest.raises(ValueError, match="need the acks of all"):
        writer(connect(), WriteOptions(acks=LEADER_ACKS))


def test_brokers_that_hang(news: FakeCluster, connect: Connect) -> None:
    """Batches without a response end with a failure that has `may_be_done`, after the timeout."""
    news.faults.append(Fault(PRODUCE.key, Hang(), times=1_000))
    options = WriteOptions(target_batch_bytes=200, buffer_bytes=20_000, delivery_timeout_ms=700)
    with writer(connect(), options) as to:
        to.write(rows(numbered(100)), topic="news", partition=0)
    assert (to.failures[0].failure.name, to.failures[0].failure.may_be_done) == ("DEADLINE_PASSED", True)
    assert sum(one.count for one in to.failures) == 100


def test_the_time_of_a_delivery_has_an_option(news: FakeCluster, connect: Connect) -> None:
    """A partition whose leader refuses is given up after it, and not after the timeout of the client's other requests."""
    news.faults.append(Fault(PRODUCE.key, refuse(6), times=1_000))
    with writer(connect(default_api_timeout_ms=60_000), WriteOptions(delivery_timeout_ms=300)) as to:
        to.write(rows(numbered(3)), topic="news", partition=0)
    (failure,) = [one.failure for one in to.failures]
    assert failure.name == "NOT_LEADER_OR_FOLLOWER"
    assert 300 <= (failure.elapsed_ms or 0) < 30_000


def test_requests_are_as_few_as_their_size_allows() -> None:
    """A request has batches of many partitions, one of each, and is not larger than 4 MiB; a partition's are in order."""
    batches = {
        TopicPartition("news", partition): [Batch(number, 1, bytes(1 << 20)) for number in range(2)]
        for partition in range(5)
    }
    requests = batch_sender._split(batches)
    assert [[partition.partition for partition in one] for one in requests] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
    assert [batch.first for request in requests for batch in request.values()] == [0] * 5 + [1] * 5


def test_old_brokers(news: FakeCluster, connect: Connect) -> None:
    """On brokers without Produce v3 each partition is a failure."""
    news.highest[PRODUCE.key] = 2
    with writer(connect()) as to:
        to.write(rows(numbered(9), partition=pa.array([0, 1, 2] * 3)), topic="news")
    assert {one.failure.name for one in to.failures} == {"UNSUPPORTED_VERSION"}
    assert len(to.failures) == 3


def test_refusals_keep_what_brokers_say(news: FakeCluster, connect: Connect) -> None:
    """The broker's message is in the failure."""
    news.faults.append(Fault(PRODUCE.key, refuse(87, error_message="because"), times=1))
    with writer(connect()) as to:
        to.write(rows([b"x"]), topic="news", partition=0)
    assert (to.failures[0].failure.name, to.failures[0].failure.message) == ("INVALID_RECORD", "because")


def test_memory_is_bounded(news: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting batches never exceed the buffer, even if brokers are slow; a batch larger than the buffer is sent alone."""
    news.faults.append(Fault(PRODUCE.key, Slow(0.01), times=1_000))
    options = WriteOptions(target_batch_bytes=500, buffer_bytes=2_000)
    with writer(connect(), options) as to:
        seen = []
        put = to._sender.put

        def watched(*arguments: Any) -> None:
            put(*arguments)
            seen.append(to._sender._waiting_bytes)

        monkeypatch.setattr(to._sender, "put", watched)
        to.write(rows([*numbered(300), b"x" * 3_000, *numbered(20)]), topic="news", partition=0)
        to.flush()
    assert not to.failures
    assert len(values(news, 0)) == 321
    assert max(size for size in seen if size < 3_000) <= 2_000


def test_an_exception_ends_the_writer(news: FakeCluster, connect: Connect) -> None:
    """After an exception in the block nothing more is sent."""

    def interrupted() -> None:
        with writer(connect()) as to:
            to.write(rows(numbered(10)), topic="news", partition=0)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert not values(news, 0)


def test_an_error_while_sending(news: FakeCluster, connect: Connect) -> None:
    """The error is raised to the caller that writes rows, and the sending thread ends."""

    def refused(*_: object) -> None:
        raise CorruptBatch("CORRUPT_BATCH")

    to = writer(connect())
    to._sender._add_partitions = refused  # type: ignore[assignment]
    to.write(rows([b"x"]), topic="news", partition=0)
    with pytest.raises(CorruptBatch):
        to.flush()
    to.close()
    assert not values(news, 0)


def test_a_partition_that_is_refused_in_a_transaction(news: FakeCluster, connect: Connect) -> None:
    """No partition is added beside a refused one: the others are announced once more before they are written to."""
    added: list[TopicPartition] = []

    def announce(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Failure]:
        refused = {
            one: own_failure(PRODUCE, Scope.of_partition(*one), "X") for one in partitions if one.topic == "other"
        }
        added.extend(() if refused else partitions)
        return refused

    to = writer(connect())
    to._sender._add_partitions = announce
    to.write(rows([b"a", b"b", b"c"], topic=["news", "other", "news"]), partition=0)
    with to._sender._changed:  # so that the first round has both
        to._encode_collected()
    to.flush()
    to.close()
    assert [(one.partition.topic, one.failure.name) for one in to.failures] == [("other", "X")]
    assert (values(news, 0), values(news, 0, "other")) == ([b"a", b"c"], [])
    assert added == [TopicPartition("news", 0)]


def test_nothing_to_write(news: FakeCluster, connect: Connect) -> None:
    """An empty batch needs no request; rows without any column become records without key and value."""
    with writer(connect()) as to:
        to.write(rows([]), topic="news")
    assert news.count(PRODUCE.key) == 0
    empty = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    with writer(connect()) as to:
        to.write(empty, topic="news", partition=0)
    assert values(news, 0) == [None] * 3


def test_topics_that_were_not_described(news: FakeCluster, connect: Connect) -> None:
    """A topic is described when it is first written to; until then other batches wait."""
    with ArrowWriter(connect(), {}, ProducerState(NUMBERED), SMALL) as to:
        to.write(rows(numbered(50)), topic="news", partition=0)
        to.write(rows(numbered(100), topic=["news", "other"] * 50), partition=1)
    assert not to.failures
    assert values(news, 0) == numbered(50)
    assert (values(news, 1), values(news, 1, "other")) == (numbered(100)[::2], numbered(100)[1::2])


def test_slices_and_different_columns(news: FakeCluster, connect: Connect) -> None:
    """Slices, and Arrow batches with different columns, can be written one after another."""
    whole = rows(numbered(100), key=pa.array(np.repeat([b"k"], 100).tolist(), pa.binary()))
    with writer(connect()) as to:
        to.write(whole.slice(10, 3), topic="news", partition=0)
        to.write(whole.slice(13, 2).select(["value"]), topic="news", partition=0)
        to.write(whole.slice(15, 1), topic="other", partition=1)
        to.write(whole.slice(16, 1), topic="news", partition=0)
    assert values(news, 0) == [b"000010", b"000011", b"000012", b"000013", b"000014", b"000016"]
    assert values(news, 1, "other") == [b"000015"]


def test_rows_are_divided_by_topic_in_one_pass(
    state: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass over all rows for each topic would cost rows times topics."""
    names = [f"topic-{number}" for number in range(20)]
    for name in names:
        state.add_topic(name, 1, end=0)
    passes = list[int]()
    of_numpy = np.flatnonzero
    monkeypatch.setattr(np, "flatnonzero", lambda numbers: passes.append(len(numbers)) or of_numpy(numbers))
    cluster, sent = connect(), numbered(60)
    with ArrowWriter(cluster, describe_targets(cluster, set(names), soon()), ProducerState(NUMBERED), SMALL) as to:
        to.write(rows(sent, topic=names * 3))
    assert not to.failures
    assert [values(state, 0, name) for name in names] == [sent[number::20] for number in range(20)]
    assert len(passes) < len(names)


def test_a_thread_that_does_not_start(news: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own reason is raised, and not that a thread which never ran cannot be waited for."""
    assert news.topics

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.raises(RuntimeError, match="can't start new thread"), writer(connect()) as out:  # noqa: PT012  it is closed
        monkeypatch.setattr(threading.Thread, "start", refused)
        out.write(rows(numbered(3)), topic="news", partition=0)
        out.flush()
