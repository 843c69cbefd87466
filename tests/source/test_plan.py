"""A batch of the data source is planned with real brokers, without Spark."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo, Filter, GreaterThanOrEqual, In, LessThan
from pyspark.sql.types import StructType

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError, RecordsError
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.protocol.error_codes import UNSUPPORTED_FOR_MESSAGE_FORMAT
from kafka_lagoon.protocol.messages.list_offsets import READ_UNCOMMITTED
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source import plan as source_plan
from kafka_lagoon.source import read as source_read
from kafka_lagoon.source.columnar import SourceOfRows
from kafka_lagoon.source.filters import Pushed
from kafka_lagoon.source.options import parse
from kafka_lagoon.source.plan import batch_tasks
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.source.source_topics import START_MS, add_partitions, create, delete_records, open_transaction, produce

Reader = Callable[..., DataSourceReader]
ALL = {0: (0, 200), 1: (0, 100), 2: (0, 0)}


@pytest.fixture(scope="module")
def topic(kafka: LocalKafka) -> str:
    """Three partitions with 200, 100 and no records, a second apart."""
    create(kafka, "source-plan", partitions=3)
    produce(kafka, "source-plan", [b"x" * 100] * 200, 0, batch_num_messages=20)
    produce(kafka, "source-plan", [b"y" * 100] * 100, 1, batch_num_messages=20)
    return "source-plan"


@pytest.fixture
def reader(kafka: LocalKafka) -> Reader:
    """Make readers as Spark does for our Java class, which takes filters."""

    def make(schema: StructType | None = None, **options: Any) -> DataSourceReader:
        named = {name: one if isinstance(one, str) else json.dumps(one) for name, one in options.items()}
        source = SourceOfRows({"kafka.bootstrap.servers": kafka.bootstrap_servers, **named})
        return source.reader(schema or source.schema())

    return make


def splits(reader: DataSourceReader) -> list[Split]:
    """Return the splits of the reader's tasks, in order."""
    planned = [split for task in reader.partitions() for split in task.value.splits]
    return sorted(planned, key=lambda split: (split.topic, split.partition, split.from_offset))


def ranges(reader: DataSourceReader) -> dict[int, tuple[int, int]]:
    """Return the first and the last offset of each partition, whose splits must be consecutive."""
    bounds: dict[int, tuple[int, int]] = {}
    for split in splits(reader):
        start, end = bounds.get(split.partition, (split.from_offset, split.from_offset))
        assert end == split.from_offset
        bounds[split.partition] = (start, split.to_offset)
    return bounds


def test_everything_by_default(reader: Reader, topic: str):
    """The earliest to the latest offsets are read; a partition without records has no split."""
    assert ranges(reader(subscribe=topic)) == {0: (0, 200), 1: (0, 100)}


def test_selections_of_topics(reader: Reader, topic: str):
    """Topics are selected by name, by a pattern for the whole name, or by partition."""
    assert {one.topic for one in splits(reader(subscribePattern="source-pl.*"))} == {topic}
    assert splits(reader(subscribePattern="source-pl")) == []
    assert ranges(reader(assign={topic: [1, 2]})) == {1: (0, 100)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingOffsets": {"0": 150, "1": -2, "2": 0}}, {0: (150, 200), 1: (0, 100)}),
        ({"endingOffsets": {"0": 20, "1": -1, "2": -1}}, {0: (0, 20), 1: (0, 100)}),
        ({"startingOffsets": {"0": 30, "1": 40, "2": 0}, "endingOffsets": {"0": 31, "1": 40, "2": 0}}, {0: (30, 31)}),
        ({"startingTimestamp": str(START_MS + 99_000)}, {0: (99, 200), 1: (99, 100)}),
        ({"endingTimestamp": str(START_MS + 98_001)}, {0: (0, 99), 1: (0, 99)}),
        ({"endingTimestamp": str(START_MS + 10**10)}, {0: (0, 200), 1: (0, 100)}),
        (
            {"startingOffsetsByTimestamp": {"0": START_MS + 199_000, "1": START_MS, "2": START_MS}},
            {0: (199, 200), 1: (0, 100)},
        ),
    ],
)
def test_starts_and_ends(reader: Reader, topic: str, options: dict[str, Any], expected: dict[int, tuple[int, int]]):
    """Offsets and times have the same meaning as in the connector."""
    named = {name: one if isinstance(one, str) else {topic: one} for name, one in options.items()}
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert ranges(reader(subscribe=topic, **named, **latest)) == expected


def refusal(reader: DataSourceReader) -> list[str]:
    """Return the lines that refuse a plan."""
    with pytest.raises(ConfigError) as refused:
        reader.partitions()
    return list(refused.value.problems)


def test_bad_starts_and_ends_are_one_line_each(reader: Reader, topic: str):
    """A line names a partition that an option omits or invents, or that has no record as late as a time."""
    assert refusal(reader(subscribe=topic, startingOffsets={topic: {"0": 1, "1": 1, "7": 1}})) == [
        f"startingOffsets: no offset for {topic}:2",
        f"startingOffsets: {topic}:7 is not among the partitions to read",
    ]
    late = START_MS + 99_001
    assert refusal(reader(subscribe=topic, startingTimestamp=str(late))) == [
        f"startingTimestamp: {topic}:{number} has no record as late as {late}; "
        "startingOffsetsByTimestampStrategy=latest starts at the end there"
        for number in (1, 2)
    ]
    stale = {topic: {"0": 1, "1": 1, "2": 0}, "#topic_ids": {topic: "AAAAAAAAAAAAAAAAAAAAAA"}}
    assert refusal(reader(subscribe=topic, startingOffsets=stale)) == [
        f"startingOffsets: topic {topic} was re-created since"
    ]


def test_unknown_topics_and_partitions(reader: Reader, topic: str):
    """Each one is named, with the topic that was probably meant."""
    assert refusal(reader(subscribe="source-plam,nothing-like-it-xyz")) == [
        "there is no topic nothing-like-it-xyz",
        f"there is no topic source-plam (did you mean {topic}?)",
    ]
    assert refusal(reader(assign={topic: [0, 9]})) == [f"assign: there is no partition {topic}:9"]


def test_an_address_without_a_port(reader: Reader):
    """An address without a port is refused."""
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers: .*'nowhere' is not host:port"):
        reader(subscribe="a", **{"kafka.bootstrap.servers": "nowhere"})


def test_offsets_outside_of_the_log(kafka: LocalKafka, reader: Reader):
    """Such offsets are an error that names the existing offsets; with failOnDataLoss=false only these are read."""
    create(kafka, "source-short")
    produce(kafka, "source-short", [b"v"] * 50)
    delete_records(kafka, "source-short", 20)
    named = {"subscribe": "source-short", "startingOffsets": {"source-short": {"0": 7}}}
    with pytest.raises(RecordsError) as lost:
        reader(**named).partitions()
    assert str(lost.value) == (
        "LOST: startingOffsets: source-short:0 has offsets 20 to 50, not 7; failOnDataLoss=false reads what is there"
    )
    assert ranges(reader(**named, failOnDataLoss="false")) == {0: (20, 50)}
    assert ranges(reader(subscribe="source-short")) == {0: (20, 50)}
    with pytest.raises(RecordsError, match="endingOffsets: source-short:0 has offsets 20 to 50, not 51"):
        reader(subscribe="source-short", endingOffsets={"source-short": {"0": 51}}).partitions()


def test_committed_records_end_at_the_last_stable_offset(kafka: LocalKafka, reader: Reader):
    """Records of an open transaction are only read with kafka.isolation.level=read_uncommitted. A start there is no loss."""
    create(kafka, "source-stable")
    produce(kafka, "source-stable", [b"v"] * 5)
    uncommitted = {"kafka.isolation.level": "read_uncommitted"}
    with open_transaction(kafka, "source-stable", [b"t"] * 5, commits=True):
        assert ranges(reader(subscribe="source-stable")) == {0: (0, 5)}
        assert ranges(reader(subscribe="source-stable", **uncommitted)) == {0: (0, 10)}
        within = {"source-stable": {"0": 7}}
        assert ranges(reader(subscribe="source-stable", startingOffsets=within)) == {}
        with pytest.raises(RecordsError, match="endingOffsets: source-stable:0 has offsets 0 to 5, not 7"):
            reader(subscribe="source-stable", endingOffsets=within).partitions()
    assert ranges(reader(subscribe="source-stable")) == {0: (0, 11)}


@pytest.mark.parametrize(
    ("options", "tasks", "most"),
    [({}, 1, 200), ({"minPartitions": "6"}, 6, 60), ({"maxRecordsPerPartition": "30"}, 11, 30)],
)
def test_splits(reader: Reader, topic: str, options: dict[str, str], tasks: int, most: int):
    """Small partitions share a task; minPartitions and maxRecordsPerPartition divide partitions without a gap.

    A split that is not the first of its partition knows the leader epoch before it, so that an election is noticed.
    """
    made = reader(subscribe=topic, **options)
    partitions = made.partitions()
    lengths = [sum(split.to_offset - split.from_offset for split in one.value.splits) for one in partitions]
    assert abs(len(partitions) - tasks) <= 1
    assert sum(lengths) == 300
    assert all(split.last_epoch == (0 if split.from_offset else -1) for one in partitions for split in one.value.splits)
    assert max(lengths) <= (300 if tasks == 1 else most)
    assert ranges(made) == {0: (0, 200), 1: (0, 100)}


TOPIC, PARTITION, OFFSET, TIMESTAMP = ("topic",), ("partition",), ("offset",), ("timestamp",)


def moment(seconds: int) -> datetime:
    """Return the timestamp of the record with this offset."""
    return datetime.fromtimestamp(START_MS / 1000 + seconds, UTC)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([EqualTo(TOPIC, "another")], {}),
        ([In(PARTITION, (1, 2))], {1: (0, 100)}),
        ([GreaterThanOrEqual(OFFSET, 90), LessThan(OFFSET, 110)], {0: (90, 110), 1: (90, 100)}),
        ([GreaterThanOrEqual(TIMESTAMP, moment(150))], {0: (150, 200)}),
        ([LessThan(TIMESTAMP, moment(150))], {0: (0, 200), 1: (0, 100)}),
        ([GreaterThanOrEqual(TIMESTAMP, moment(10_000))], {}),
        ([EqualTo(PARTITION, 0), EqualTo(OFFSET, 500)], {}),
    ],
)
def test_filters_narrow_the_ranges(
    reader: Reader, topic: str, filters: list[Filter], expected: dict[int, tuple[int, int]]
):
    """Offsets that pass no filter are not planned."""
    made = reader(subscribe=topic)
    made.pushFilters(filters)
    assert ranges(made) == expected


def test_logs_without_timestamps_are_read_whole(state: FakeCluster, connect: Callable[..., Cluster]):
    """Brokers find no time in a log of message format 0: a filter narrows the other partitions only."""
    for partition in state.add_topic("old", 2, end=30).partitions:
        partition.times = ((1_000, 0), (2_000, 20))
    state.topics["old"].partitions[1].refused[1_500, READ_UNCOMMITTED] = UNSUPPORTED_FOR_MESSAGE_FORMAT
    options = parse({"kafka.bootstrap.servers": "localhost:9", "subscribe": "old"})
    tasks = batch_tasks(connect(), options, Pushed(from_ms=1_500), Deadline.after(CLOCK, 5_000))
    spans = {split.partition: (split.from_offset, split.to_offset) for task in tasks for split in task.splits}
    assert spans == {0: (20, 30), 1: (0, 30)}


@pytest.fixture
def request_stats(monkeypatch: pytest.MonkeyPatch) -> RequestStats:
    """Return the request statistics of the readers."""
    shared = RequestStats()
    monkeypatch.setattr(source_read, "RequestStats", lambda: shared)
    return shared


def fetched(request_stats: RequestStats) -> tuple[int, int]:
    """Return the number of Fetch responses, and their bytes."""
    stats = [one for (api, _), one in request_stats.by_api.items() if api == "Fetch"]
    return sum(one.answers for one in stats), sum(one.answer_bytes for one in stats)


def read(reader: DataSourceReader) -> list[dict[str, Any]]:
    """Read all rows as tasks do, one task after the other."""
    return [row for one in reader.partitions() for batch in reader.read(one) for row in batch.to_pylist()]


def test_a_filtered_read_fetches_little(kafka: LocalKafka, reader: Reader, request_stats: RequestStats):
    """Of 4 MB in a partition, a filter on ten offsets or on a late time fetches one or two batches."""
    create(kafka, "source-large")
    produce(kafka, "source-large", [b"z" * 1_000] * 4_000, batch_num_messages=10)
    assert len(read(reader(subscribe="source-large"))) == 4_000
    assert fetched(request_stats)[1] > 4_000_000
    for predicate in (EqualTo(OFFSET, 3_990), GreaterThanOrEqual(TIMESTAMP, moment(3_990))):
        request_stats.by_api.clear()
        made = reader(subscribe="source-large")
        made.pushFilters([predicate])
        assert read(made)[0]["offset"] == 3_990
        answers, size = fetched(request_stats)
        assert answers <= 2
        assert size < 150_000


def test_a_new_partition_is_read(kafka: LocalKafka, reader: Reader):
    """Partitions are listed when the query is planned."""
    create(kafka, "source-grows")
    made = reader(subscribe="source-grows")
    assert ranges(made) == {}
    add_partitions(kafka, "source-grows", 2)
    produce(kafka, "source-grows", [b"v"], 1)
    assert ranges(made) == {1: (0, 1)}


def test_large_partitions_are_divided_by_bytes(monkeypatch: pytest.MonkeyPatch, reader: Reader, topic: str):
    """A partition that is too large for one task is divided by its size on the leader's disk."""
    monkeypatch.setattr(source_plan, "_TASK_BYTES", 5_000)
    made = reader(subscribe=topic)
    lengths = [sum(split.to_offset - split.from_offset for split in one.value.splits) for one in made.partitions()]
    assert len(lengths) >= 5
    assert ranges(made) == {0: (0, 200), 1: (0, 100)}
