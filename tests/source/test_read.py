"""A task of the data source passes records and failures of its splits to Spark."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import RecordsError
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.records.buffers import DECODED
from kafka_lagoon.records.decoding import Counts, Problem
from kafka_lagoon.source import read as source_read
from kafka_lagoon.source.columns import COLUMNS
from kafka_lagoon.source.read import Reading, read
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.fetch.reading import damage
from tests.short_timeouts import short_timeouts

NOBODY = KafkaSettings(bootstrap_servers="localhost:1")
SPLIT = Split(topic="orders", topic_id="id", partition=3, from_offset=10, to_offset=20, stable_end=20)
WHOLE = SplitOutcome(split=SPLIT, next_offset=20, counts=Counts(records=10))
BROKEN = Problem(base_offset=12, last_offset=14, reason="CORRUPT_BATCH", detail="checksum")
SPELLED = Problem(base_offset=15, last_offset=15, reason="HEADER_KEY_NOT_UTF8")

Play = Callable[[SplitOutcome, pa.RecordBatch | None], None]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Play these batches and this outcome as the split's reader."""

    def play(outcome: SplitOutcome, batch: pa.RecordBatch | None = None) -> None:
        class Played:
            def __init__(self, _: Cluster, split: Split, options: ReadOptions, answer: object) -> None:
                assert answer is None
                assert (split, options.isolation_level) == (SPLIT, "read_committed")
                self.columns, self.outcome = options.decoding.columns, outcome

            def batches(self) -> Iterator[pa.RecordBatch]:
                if batch is not None:
                    yield batch.select(sorted(self.columns or ()))

            def close(self) -> None:
                """Do nothing, because nothing is open."""

        monkeypatch.setattr(source_read, "SplitReader", Played)
        monkeypatch.setattr(Cluster, "refresh", lambda *_: None)

    return play


def rows(*columns: str, fail_on_data_loss: bool = True) -> list[pa.RecordBatch]:
    """Return the rows that the task passes to Spark."""
    return list(read(reading(*columns, fail_on_data_loss=fail_on_data_loss), CLOCK, Task(splits=(SPLIT,))))


def reading(
    *columns: str,
    fail_on_data_loss: bool = True,
    kafka: KafkaSettings = NOBODY,
    needed: frozenset[str] | None = None,
) -> Reading:
    schema = StructType()
    for name in columns or ("offset",):
        schema = schema.add(name, COLUMNS[name])
    return Reading(
        kafka=kafka,
        isolation_level="read_committed",
        fail_on_data_loss=fail_on_data_loss,
        schema=to_arrow_schema(schema, timezone="UTC"),
        needed=frozenset(schema.names) if needed is None else needed,
    )


def decoded(count: int, **columns: list[object]) -> pa.RecordBatch:
    """Make a batch as the decoder does."""
    defaults = {"offset": range(count), "timestamp_ms": [0] * count, "timestamp_type": [1] * count}
    defaults |= {"headers": [[]] * count, "is_transactional": [False] * count, **columns}
    arrays = [pa.array(defaults.get(field.name, [None] * count), field.type) for field in DECODED]
    return pa.RecordBatch.from_arrays(arrays, schema=DECODED)


def test_rows_without_a_column_of_the_decoder(play: Play):
    """A query of constant columns has a row for each record, without decoding."""
    play(WHOLE, decoded(3))
    (batch,) = rows("topic", "partition")
    assert batch.to_pylist() == [{"topic": "orders", "partition": 3}] * 3


def test_columns_as_spark_calls_them(play: Play):
    """Constant columns are in every row, timestampType is timestamp_type, and headers are null if a record has none."""
    headers = [[("a", b"1"), ("a", None)], [], [("", b"")]]
    play(WHOLE, decoded(3, headers=[[{"key": key, "value": value} for key, value in one] for one in headers]))
    (batch,) = rows("headers", "topic", "partition", "topic_id", "timestampType")
    assert batch.schema.names == ["headers", "topic", "partition", "topic_id", "timestampType"]
    assert batch.column("headers").to_pylist() == [
        [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
        None,
        [{"key": "", "value": b""}],
    ]
    assert (
        batch.drop_columns(["headers"]).to_pylist()
        == [{"topic": "orders", "partition": 3, "topic_id": "id", "timestampType": 1}] * 3
    )


def test_columns_that_nobody_needs(play: Play):
    """They are null, whether records or the split would have them, and are not decoded."""
    play(WHOLE, decoded(2, value=[b"a", b"b"]))
    part = reading("value", "topic", "headers", "partition", needed=frozenset({"value", "partition"}))
    assert part.options().decoding.columns == {"value"}
    (batch,) = read(part, CLOCK, Task(splits=(SPLIT,)))
    assert batch.to_pylist() == [
        {"value": value, "topic": None, "headers": None, "partition": 3} for value in (b"a", b"b")
    ]


def test_large_batches_are_cut(play: Play, monkeypatch: pytest.MonkeyPatch):
    """Spark gets batches of a limited number of rows, and every row once."""
    monkeypatch.setattr(source_read, "_ROWS", 4)
    play(WHOLE, decoded(10))
    batches = rows("offset", "topic")
    assert [batch.num_rows for batch in batches] == [4, 4, 2]
    assert [offset for batch in batches for offset in batch.column("offset").to_pylist()] == list(range(10))


def test_small_partitions_share_batches(monkeypatch: pytest.MonkeyPatch):
    """Each row has its own topic and partition; lost records are reported, and a partition with damaged batches is read alone."""
    monkeypatch.setattr(source_read, "_ROWS", 5)
    state = FakeCluster()
    for number, partition in enumerate(state.add_topic("t", 4, end=0).partitions):
        partition.append(batch(0, [b"%d" % number] * 3))
        partition.leader_id = 1
    topic_id = uuid_text(state.topics["t"].topic_id)
    splits = tuple(
        Split(
            topic="t", topic_id=topic_id, partition=number, from_offset=1, to_offset=3, stable_end=3, expected_bytes=99
        )
        for number in range(4)
    )
    with fake_cluster(state):
        needed = frozenset({"partition", "value", "topic_id"})
        wanted = reading("partition", "value", "topic_id", "topic", kafka=short_timeouts(state), needed=needed)
        batches = list(read(wanted, CLOCK, Task(splits=splits)))
        assert [each.num_rows for each in batches] == [5, 3]
        assert [tuple(row.values()) for each in batches for row in each.to_pylist()] == [
            (number, b"%d" % number, topic_id, None) for number in (0, 0, 1, 1, 2, 2, 3, 3)
        ]
        assert state.count(FETCH.key) == 1
        state.configs[TOPIC, "t"] = {"cleanup.policy": "delete"}
        partition = state.topics["t"].partitions[1]
        whole, partition.log = partition.log, [batch(0, [b"1"]), batch(2, [b"1"])]
        with pytest.raises(RecordsError, match="LOST: 1 of the offsets 1 to 2 of t:1"):
            list(read(wanted, CLOCK, Task(splits=splits)))
        partition.log = whole
        broken = state.topics["t"].partitions[2].log[0]
        broken.data = damage(broken, 70)
        with pytest.raises(RecordsError, match="CORRUPT_BATCH: offsets 1 to 2 of t:2"):
            list(read(wanted, CLOCK, Task(splits=splits)))


def test_a_broker_that_starts_later_than_a_task():
    """The driver has planned with it, so the task waits for it: Spark's other attempts would fail as soon."""
    state = FakeCluster()
    (partition,) = state.add_topic("t", 1, end=0).partitions
    partition.append(batch(0, [b"v"] * 3))
    state.faults.append(Fault(API_VERSIONS.key, Close(), times=40))
    split = Split(topic="t", topic_id=None, partition=0, from_offset=0, to_offset=3, stable_end=3)
    with fake_cluster(state):
        (offsets,) = read(reading("offset", kafka=short_timeouts(state)), CLOCK, Task(splits=(split,)))
    assert offsets.column("offset").to_pylist() == [0, 1, 2]


def outcome(failure: str | None = None, next_offset: int = 20, **counts: int) -> SplitOutcome:
    """Make the outcome of a split that was not completely read."""
    problems = (BROKEN, SPELLED) if counts.get("corrupt") else (SPELLED,)
    return SplitOutcome(
        split=SPLIT, next_offset=next_offset, counts=Counts(**counts), problems=problems, failure=failure, detail="why"
    )


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (outcome(lost=4), "LOST: 4 of the offsets 10 to 19 of orders:3"),
        (outcome(corrupt=3), "CORRUPT_BATCH: offsets 12 to 14 of orders:3 (checksum)"),
        (outcome("LOG_TRUNCATED", 15), "LOG_TRUNCATED: offsets 15 to 19 of orders:3 (why)"),
        (outcome("TOPIC_RECREATED", 10), "TOPIC_RECREATED: offsets 10 to 19 of orders:3 (why)"),
    ],
)
def test_loss_fails_unless_it_is_accepted(play: Play, said: SplitOutcome, line: str):
    """Lost, corrupt, truncated or re-created offsets are an error that names them, unless failOnDataLoss=false is set."""
    play(said, None)
    with pytest.raises(RecordsError) as lost:
        rows()
    assert str(lost.value) == f"{line}; failOnDataLoss=false reads what is there"
    assert rows(fail_on_data_loss=False) == []


def test_what_is_no_loss_always_fails(play: Play):
    """If a leader makes no progress, nothing is lost: Spark must run the task again."""
    play(outcome("NO_PROGRESS", 12), None)
    with pytest.raises(RecordsError) as failed:
        rows(fail_on_data_loss=False)
    assert str(failed.value) == "NO_PROGRESS: offsets 12 to 19 of orders:3 (why)"


def test_header_keys_that_are_spelled_out_are_no_loss(play: Play):
    """No offset of such a record is missing."""
    play(outcome(), None)
    assert rows() == []
