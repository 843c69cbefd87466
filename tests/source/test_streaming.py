"""Streams of the data source in Spark: batches, restarts, and changes of topics between runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_lagoon.notebooks import register_source
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.source.source_topics import add_partitions, admin, create, delete_records, produce

TIMEOUT_S = 60


class Stream:
    """A query from topics to a folder of Parquet files, which can be run again and again."""

    def __init__(self, spark: SparkSession, kafka: LocalKafka, folder: Path) -> None:
        self.spark, self.kafka, self.folder = spark, kafka, folder

    def run(self, **options: str) -> list[Any]:
        """Run up to the current end, and return the batches that have rows."""
        query = self._start(options, availableNow=True)
        assert query.awaitTermination(TIMEOUT_S)
        return [batch for batch in query.recentProgress if batch.numInputRows]

    def start(self, **options: str) -> StreamingQuery:
        """Start the query, which runs until it is stopped."""
        return self._start(options, processingTime="100 milliseconds")

    def _start(self, options: dict[str, str], **trigger: Any) -> StreamingQuery:
        reader = self.spark.readStream.format("lagoon").options(**{"startingOffsets": "earliest", **options})
        frame = reader.option("kafka.bootstrap.servers", self.kafka.bootstrap_servers).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.folder / "checkpoint"))
        return writer.trigger(**trigger).start(str(self.folder / "out"))

    def written(self) -> DataFrame:
        """Return the rows that the query wrote."""
        return self.spark.read.parquet(str(self.folder / "out"))

    def offsets(self, partition: int = 0) -> list[int]:
        """Return the offsets of a partition that were written, in order."""
        return sorted(row.offset for row in self.written().filter(f"partition = {partition}").collect())


@pytest.fixture
def stream(spark: SparkSession, kafka: LocalKafka, tmp_path: Path) -> Iterator[Stream]:
    """A query that has not run yet."""
    register_source(spark)
    yield Stream(spark, kafka, tmp_path)
    for query in spark.streams.active:
        query.stop()


def test_available_now_and_restarts(kafka: LocalKafka, stream: Stream):
    """Batches have at most maxOffsetsPerTrigger, divided in proportion; a restart continues, and finds a new partition."""
    create(kafka, "stream-a", partitions=2)
    produce(kafka, "stream-a", [b"v"] * 40, 0)
    produce(kafka, "stream-a", [b"v"] * 20, 1)
    batches = stream.run(subscribe="stream-a", maxOffsetsPerTrigger="30")
    assert [batch.numInputRows for batch in batches] == [30, 30]
    source = batches[0].sources[0]
    ends = json.loads(source.endOffset)
    assert ends["stream-a"] == {"0": 20, "1": 10}
    assert ends.keys() == {"stream-a", "#topic_ids", "#started_at"}
    assert json.loads(source.latestOffset)["stream-a"] == {"0": 40, "1": 20}
    add_partitions(kafka, "stream-a", 3)
    produce(kafka, "stream-a", [b"w"] * 10, 0)
    produce(kafka, "stream-a", [b"w"] * 5, 2)
    assert sum(batch.numInputRows for batch in stream.run(subscribe="stream-a")) == 15
    assert stream.run(subscribe="stream-a") == []
    assert [stream.offsets(number) for number in range(3)] == [list(range(50)), list(range(20)), list(range(5))]


@pytest.mark.proof
def test_a_running_stream_follows(kafka: LocalKafka, stream: Stream):
    """Records that are written while the query runs are read, including those of topics that begin to match a pattern."""
    create(kafka, "stream-b-1")
    produce(kafka, "stream-b-1", [b"v"] * 10)
    query = stream.start(subscribePattern="stream-b-.*")
    query.processAllAvailable()
    create(kafka, "stream-b-2")
    produce(kafka, "stream-b-1", [b"v"] * 10)
    produce(kafka, "stream-b-2", [b"v"] * 10)
    query.processAllAvailable()
    query.stop()
    assert stream.written().groupBy("topic").count().orderBy("topic").collect() == [
        ("stream-b-1", 20),
        ("stream-b-2", 10),
    ]


@pytest.mark.proof
def test_loss_between_runs(kafka: LocalKafka, stream: Stream):
    """Records that were deleted before they were read fail the stream; if that is accepted, the other records are read."""
    create(kafka, "stream-c")
    produce(kafka, "stream-c", [b"v"] * 10)
    stream.run(subscribe="stream-c")
    produce(kafka, "stream-c", [b"v"] * 20)
    delete_records(kafka, "stream-c", 15)
    with pytest.raises(StreamingQueryException, match="LOST: stream-c:0 has offsets from 15 on, not from 10"):
        stream.run(subscribe="stream-c")
    stream.run(subscribe="stream-c", failOnDataLoss="false")
    assert stream.offsets() == [*range(10), *range(15, 30)]


@pytest.mark.proof
def test_a_re_created_topic(kafka: LocalKafka, stream: Stream):
    """A new topic of the same name fails the stream, even if it is longer; if that is accepted, all of it is read."""
    create(kafka, "stream-d")
    produce(kafka, "stream-d", [b"old"] * 10)
    stream.run(subscribe="stream-d")
    client = admin(kafka)
    client.delete_topics(["stream-d"])["stream-d"].result()
    _create_when_gone(kafka, "stream-d")
    produce(kafka, "stream-d", [b"new"] * 25)
    with pytest.raises(StreamingQueryException, match="LOST: topic stream-d was re-created"):
        stream.run(subscribe="stream-d")
    stream.run(subscribe="stream-d", failOnDataLoss="false")
    assert stream.written().groupBy("value").count().orderBy("count").collect() == [(b"old", 10), (b"new", 25)]


def _create_when_gone(kafka: LocalKafka, topic: str) -> None:
    for _ in range(100):
        if topic not in admin(kafka).list_topics(timeout=10).topics:
            break
    create(kafka, topic)


@pytest.mark.proof
def test_starting_at_the_latest(kafka: LocalKafka, stream: Stream):
    """A stream without startingOffsets starts at the end of the logs; its offsets can start another query."""
    create(kafka, "stream-e")
    produce(kafka, "stream-e", [b"v"] * 10)
    assert stream.run(subscribe="stream-e", startingOffsets='{"stream-e":{"0":7}}')[0].numInputRows == 3
    assert stream.offsets() == [7, 8, 9]


@pytest.mark.proof
def test_bad_options(kafka: LocalKafka, stream: Stream):
    """A stream has no end, and the line says so."""
    create(kafka, "stream-f")
    with pytest.raises(Exception, match="endingOffsets: a stream has no end"):
        stream.run(subscribe="stream-f", endingOffsets="latest")
