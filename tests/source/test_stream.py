"""The offsets of a stream: their JSON, those at which reading starts between two of them, and those of a fake cluster's logs."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from kafka_lagoon.errors import ConfigError, RecordsError, TableError
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.source.data_source import LagoonSource
from kafka_lagoon.source.stream import LagoonStream, StreamOffsets
from kafka_lagoon.topic_partition import TopicPartition
from tests.comparisons import Comparisons
from tests.fake.batches import batch
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster, FakePartition
from tests.fake.faults import Close, Fault

Streams = Callable[..., LagoonStream]
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def reached(offsets: dict[TopicPartition, int], **topic_ids: str) -> StreamOffsets:
    """Make the StreamOffsets of topics that all have ids."""
    return StreamOffsets(offsets=offsets, topic_ids={at.topic: "id" for at in offsets} | topic_ids)


def test_json_has_the_connectors_shape():
    """Topics contain partitions, and these the next offset; the order is fixed, because Spark compares the text."""
    shape = reached({B0: 3, TopicPartition("a", 10): 2, A0: 1}).to_json()
    assert json.dumps(shape) == '{"a": {"0": 1, "10": 2}, "b": {"0": 3}, "#topic_ids": {"a": "id", "b": "id"}}'
    assert StreamOffsets.from_json(shape) == reached({B0: 3, TopicPartition("a", 10): 2, A0: 1})


def test_without_ids_it_is_the_connectors_json():
    """Brokers before Kafka 2.8 return no ids, and the connector's own offsets have none."""
    connectors = {"a": {"0": 1, "1": 5}}
    assert StreamOffsets.from_json(connectors).to_json() == connectors
    starts, lines = reached({A0: 7, A1: 7}).since(StreamOffsets.from_json(connectors))
    assert starts.offsets == {A0: 1, A1: 5}
    assert lines == []


@pytest.mark.parametrize(
    "shape",
    [
        [],
        {"a": 5},
        {"a": [5]},
        {"a": {"x": 5}},
        {"a": {"0": "5"}},
        {"a": {"0": None}},
        {"a": {"0": True}},
        {"a": {"0": 5}, "#topic_ids": ["id"]},
        {"a": {"0": 5}, "#topic_ids": {"a": 7}},
    ],
)
def test_other_json_is_one_line(shape: Any) -> None:
    """A checkpoint of another source, or a damaged one, ends the query with an error that names the checkpoint."""
    with pytest.raises(TableError, match="the offsets in the checkpoint of the stream cannot be read: "):
        StreamOffsets.from_json(shape)


def test_new_partitions_begin_at_the_beginning():
    """A new partition, or a partition of a new topic, is read from offset 0."""
    starts, lines = reached({A0: 7, A1: 4, B0: 2}).since(reached({A0: 5}))
    assert starts.offsets == {A0: 5, A1: 0, B0: 0}
    assert lines == []


def test_what_is_gone_is_said():
    """A partition that no longer exists counts as a loss."""
    assert reached({A0: 7}).since(reached({A0: 5, B0: 2}))[1] == ["b:0 is gone"]


def test_a_re_created_topic_is_another():
    """Its old offsets are invalid: reading starts at 0, and the loss is reported."""
    starts, lines = reached({A0: 7}, a="new").since(reached({A0: 5}))
    assert starts.offsets == {A0: 0}
    assert lines == ["topic a was re-created"]


def test_a_log_that_was_cut_off():
    """If a log is shorter than the offsets that were read, the loss is reported, and reading continues at its end."""
    starts, lines = reached({A0: 4}).since(reached({A0: 5}))
    assert starts.offsets == {A0: 4}
    assert lines == ["a:0 ends at 4, and was read up to 5"]


@pytest.fixture
def streams(state: FakeCluster, brokers: dict[int, FakeBroker]) -> Iterator[Streams]:  # noqa: ARG001
    """Make streams of topic t as Spark does."""
    made: list[LagoonStream] = []
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())

    def make(**options: str | None) -> LagoonStream:
        given = {"kafka.bootstrap.servers": servers, "subscribe": "t", **options}
        source = LagoonSource({name: text for name, text in given.items() if text is not None})
        made.append(source.streamReader(source.schema()))
        return made[-1]

    yield make
    for stream in made:
        stream.stop()


def test_brokers_that_restart_while_a_stream_waits(state: FakeCluster, streams: Streams) -> None:
    """The stream waits for them, too: it has reached them before."""
    state.add_topic("t", 1, end=0)
    stream = streams(startingOffsets="earliest")
    start = stream.initialOffset()
    state.faults.append(Fault(METADATA.key, Close(), times=50))
    assert stream.latestOffset(start, ReadAllAvailable()) == start


@pytest.fixture
def in_transaction(state: FakeCluster) -> FakePartition:
    """A log of 20 records, of which the last ten are in an open transaction; the time of offset 15 is 2000."""
    state.add_topic("t", 1, end=0)
    log = state.topics["t"].partitions[0]
    log.append(batch(0, [b"x"] * 20))
    log.last_stable_offset, log.times = 10, ((1_000, 0), (2_000, 15))
    return log


@pytest.mark.parametrize(
    ("start", "offset"),
    [
        ({"startingTimestamp": "2000"}, 15),
        ({"startingOffsetsByTimestamp": '{"t":{"0":2000}}'}, 15),
        ({"startingOffsets": '{"t":{"0":15}}'}, 15),
        ({"startingOffsets": '{"t":{"0":20}}'}, 20),
    ],
)
def test_a_start_in_an_open_transaction(
    streams: Streams, in_transaction: FakePartition, start: dict[str, str], offset: int
) -> None:
    """The stream waits there, without a loss; records from before its start are not delivered when the transaction ends."""
    stream = streams(**start)
    first = stream.initialOffset()
    waiting = stream.latestOffset(first, ReadAllAvailable())
    assert first["t"] == waiting["t"] == {"0": offset}
    assert stream.partitions(first, waiting) == []
    in_transaction.last_stable_offset = 20
    end = stream.latestOffset(waiting, stream.getDefaultReadLimit())
    splits = [split for task in stream.partitions(waiting, end) for split in task.value.splits]
    assert [(split.from_offset, split.to_offset) for split in splits] == [(15, 20)] * (offset < 20)


def test_a_start_after_the_log(streams: Streams, in_transaction: FakePartition) -> None:
    """It is a loss after the high watermark, when the stream starts and later."""
    with pytest.raises(RecordsError, match="startingOffsets: t:0 has offsets 0 to 20, not 21"):
        streams(startingOffsets='{"t":{"0":21}}').initialOffset()
    stream = streams(startingOffsets='{"t":{"0":15}}')
    first = stream.initialOffset()
    in_transaction.high_watermark = 12
    with pytest.raises(RecordsError, match="t:0 ends at 10, and was read up to 15"):
        stream.latestOffset(first, ReadAllAvailable())


@pytest.mark.parametrize(("high_watermark", "expected"), [(12, [(5, 12)]), (5, []), (3, [])])
def test_a_log_that_was_cut_off_within_a_batch(
    streams: Streams, in_transaction: FakePartition, high_watermark: int, expected: list[tuple[int, int]]
) -> None:
    """A batch that is planned again reads what is there, if loss is accepted: its tasks would wait for the rest, and fail."""
    first, end = ({"t": {"0": offset}} for offset in (5, 15))
    in_transaction.high_watermark = in_transaction.last_stable_offset = high_watermark
    tasks = streams(failOnDataLoss="false").partitions(first, end)
    assert [(split.from_offset, split.to_offset) for task in tasks for split in task.value.splits] == expected
    with pytest.raises(RecordsError, match=rf"t:0 ends at {high_watermark}, and was to be read up to 15"):
        streams().partitions(first, end)


def test_the_first_batch_has_its_start(streams: Streams, in_transaction: FakePartition) -> None:
    """Spark asks for the start again after a restart: records of the planned batch that were deleted since are a loss."""
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "8"}
    stream = streams(**options)
    first = stream.initialOffset()
    end = stream.latestOffset(first, stream.getDefaultReadLimit())
    assert end["t"] == {"0": 8}
    in_transaction.log_start_offset = 5
    again, tolerant = streams(**options), streams(**options, failOnDataLoss="false")
    with pytest.raises(RecordsError, match="t:0 has offsets from 5 on, not from 0"):
        again.partitions(again.initialOffset(), end)
    (task,) = tolerant.partitions(tolerant.initialOffset(), end)
    assert [(split.from_offset, split.to_offset) for split in task.value.splits] == [(5, 8)]


def test_the_first_batch_that_starts_at_the_latest(streams: Streams, in_transaction: FakePartition) -> None:
    """Records that are written before Spark asks a second time are read; a stream that waits has the same text, and no further batch."""
    stream = streams()
    first = stream.initialOffset()
    in_transaction.last_stable_offset = 20
    end = stream.latestOffset(first, ReadAllAvailable())
    (task,) = stream.partitions(stream.initialOffset(), end)
    assert [(split.from_offset, split.to_offset) for split in task.value.splits] == [(10, 20)]
    assert json.dumps(stream.latestOffset(end, ReadAllAvailable())) == json.dumps(end)
    assert stream.partitions(end, end) == []
    in_transaction.append(batch(20, [b"x"] * 5))
    in_transaction.last_stable_offset = 25
    following = stream.latestOffset(end, ReadAllAvailable())
    assert "#started_at" not in following
    (task,) = stream.partitions(end, following)
    assert [(split.from_offset, split.to_offset) for split in task.value.splits] == [(20, 25)]


@pytest.mark.parametrize(
    "now",
    [{}, {"subscribePattern": "t.*", "subscribe": None}, {"assign": '{"t":[0]}', "subscribe": None}],
)
def test_a_planned_batch_of_topics_that_are_no_longer_subscribed(
    state: FakeCluster, streams: Streams, in_transaction: FakePartition, now: dict[str, str | None]
) -> None:
    """A batch that is planned again reads what it would have read; only the next one is without them, which is a loss."""
    state.add_topic("u", 1, end=0).partitions[0].append(batch(0, [b"x"] * 5))
    before = streams(subscribe="t,u", startingOffsets="earliest")
    first = before.initialOffset()
    end = before.latestOffset(first, ReadAllAvailable())
    stream = streams(**now)
    splits = [split for task in stream.partitions(first, end) for split in task.value.splits]
    assert {(split.topic, split.from_offset, split.to_offset) for split in splits} == {("t", 0, 10), ("u", 0, 5)}
    in_transaction.last_stable_offset = 20
    with pytest.raises(RecordsError, match="u:0 is gone"):
        stream.latestOffset(end, ReadAllAvailable())


def test_a_re_created_topic_with_an_open_transaction(
    state: FakeCluster, streams: Streams, in_transaction: FakePartition
) -> None:
    """The new topic is read from its beginning to its last stable offset, not to where the old one was read to."""
    stream = streams(startingOffsets='{"t":{"0":15}}', failOnDataLoss="false")
    first = stream.initialOffset()
    state.topics["t"].topic_id = bytes(range(16))
    assert stream.latestOffset(first, ReadAllAvailable())["t"] == {"0": in_transaction.last_stable_offset}


def test_ids_stay_known_where_brokers_give_none(
    state: FakeCluster, streams: Streams, in_transaction: FakePartition
) -> None:
    """While the brokers of a cluster are upgraded to Kafka 2.8 only some of them give ids; a re-created topic is seen."""
    in_transaction.last_stable_offset = 20
    topic = state.topics["t"]
    topic_id, topic.topic_id = topic.topic_id, bytes(16)
    stream = streams(startingOffsets='{"t":{"0":15}}')
    first = stream.initialOffset()
    assert "#topic_ids" not in first
    topic.topic_id = topic_id
    known = stream.latestOffset(first, ReadAllAvailable())
    topic.topic_id = bytes(16)
    unnamed = stream.latestOffset(known, ReadAllAvailable())
    assert unnamed == known
    (task,) = stream.partitions(first, unnamed)
    assert [(split.from_offset, split.to_offset) for split in task.value.splits] == [(15, 20)]
    topic.topic_id = bytes(range(16))
    with pytest.raises(RecordsError, match="topic t was re-created"):
        stream.latestOffset(unnamed, ReadAllAvailable())


def test_a_deleted_topic_with_available_now(
    state: FakeCluster, streams: Streams, in_transaction: FakePartition
) -> None:
    """It is a loss, which can be accepted, as with other triggers; the target stays where the first micro-batch found it."""
    state.add_topic("gone", 1, end=0)
    first = streams(subscribe="t,gone", startingOffsets="earliest").initialOffset()
    del state.topics["gone"]
    stream = streams(subscribe="t,gone", failOnDataLoss="false")
    stream.prepareForTriggerAvailableNow()
    end = stream.latestOffset(first, ReadAllAvailable())
    assert end.keys() - {"#topic_ids"} == {"t"}
    in_transaction.last_stable_offset = 20
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    stream.prepareForTriggerAvailableNow()
    assert stream.latestOffset(end, ReadAllAvailable())["t"] == {"0": 20}
    strict = streams(subscribe="t,gone")
    strict.prepareForTriggerAvailableNow()
    with pytest.raises(RecordsError, match="gone:0 is gone"):
        strict.latestOffset(first, ReadAllAvailable())


def test_a_topic_that_is_deleted_while_available_now_reads(
    state: FakeCluster, streams: Streams, in_transaction: FakePartition
) -> None:
    """The target has it, and its micro-batch reports the loss; if that is accepted, the other topics are read to the end.

    A topic without anything to read stays in the position: it would be gone for the next micro-batch.
    """
    in_transaction.last_stable_offset = 20
    state.add_topic("gone", 1, end=0).partitions[0].append(batch(0, [b"x"] * 20))
    state.add_topic("idle", 1, end=0)
    options = {"subscribe": "t,gone,idle", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "20"}
    stream, strict = (streams(**options, failOnDataLoss=accepted) for accepted in ("false", "true"))
    first = stream.initialOffset()
    for each in (stream, strict):
        each.prepareForTriggerAvailableNow()
        end = each.latestOffset(first, each.getDefaultReadLimit())
    assert (end["t"], end["gone"], end["idle"]) == ({"0": 10}, {"0": 10}, {"0": 0})
    del state.topics["gone"]
    target = stream.latestOffset(end, stream.getDefaultReadLimit())
    assert (target["t"], target["gone"]) == ({"0": 20}, {"0": 20})
    splits = [split for task in stream.partitions(end, target) for split in task.value.splits]
    assert [(split.topic, split.from_offset, split.to_offset) for split in splits] == [("t", 10, 20)]
    assert strict.latestOffset(end, strict.getDefaultReadLimit()) == target
    with pytest.raises(RecordsError, match="gone:0 is gone"):
        strict.partitions(end, target)


def test_an_unknown_topic_with_available_now(streams: Streams, in_transaction: FakePartition) -> None:  # noqa: ARG001
    """A topic that the checkpoint does not have is a fault of the options."""
    stream = streams()
    first = stream.initialOffset()
    misspelt = streams(subscribe="t,tt")
    misspelt.prepareForTriggerAvailableNow()
    with pytest.raises(ConfigError, match="there is no topic tt"):
        misspelt.latestOffset(first, ReadAllAvailable())


def test_many_topics_that_were_re_created() -> None:
    """After a restore of a cluster all topics are other ones: each partition's topic is looked up, not searched for."""
    of = Comparisons()
    topics = [of.counting(f"topic-{number:03}") for number in range(200)]
    offsets = {TopicPartition(topic, 0): 5 for topic in topics}
    now, before = (StreamOffsets(offsets=offsets, topic_ids=dict.fromkeys(topics, one)) for one in ("new", "old"))
    of.count = 0
    starts, lines = now.since(before)
    assert set(starts.offsets.values()) == {0}
    assert len(lines) == len(topics)
    assert of.count <= 10 * len(topics)
