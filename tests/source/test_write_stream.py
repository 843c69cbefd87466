"""Streams are written to topics: each micro-batch once, also after repetitions and crashes."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession, functions
from pyspark.sql.streaming import StreamingQuery

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.notebooks import register_source
from kafka_lagoon.produce.batch_progress import BatchProgress, keep_progress, read_progress
from kafka_lagoon.produce.transaction_state import is_open, refuse_ended
from kafka_lagoon.produce.transactions import commit, init_transactions
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source import write_stream, write_task
from kafka_lagoon.source.data_source import LagoonSource
from kafka_lagoon.source.sink import MicroBatch, SparkTask
from tests.clock import CLOCK
from tests.integration.every_broker import wait_until
from tests.integration.producers import consume
from tests.produce.test_transactions import connected, soon, write
from tests.produce.test_transactions import read as values_of
from tests.source.source_topics import admin, create, produce
from tests.source.test_write_batch import read

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TIMEOUT_S = 60
RECORDS, KILLS = 6_000, 4
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PROJECT = Path(__file__).resolve().parents[2]


class Copying:
    """A query from one topic to another, which can be run again and again."""

    def __init__(self, spark: SparkSession, kafka: LocalKafka, folder: Path, name: str) -> None:
        self.spark, self.kafka, self.folder, self.name = spark, kafka, folder, name
        self.source, self.target = f"{name}-source", f"{name}-target"

    def run(self, transactions: str, *, checkpoint: str = "checkpoint", coalesced: bool = True) -> StreamingQuery:
        """Run up to the current end."""
        servers = {"kafka.bootstrap.servers": self.kafka.bootstrap_servers}
        reader = self.spark.readStream.format("lagoon").options(**servers, startingOffsets="earliest")
        frame = reader.option("subscribe", self.source).option("maxOffsetsPerTrigger", "40").load()
        frame = frame.select("key", "value", functions.lit(1).alias("partition"))
        writer = (
            (frame.coalesce(1) if coalesced else frame.repartition(3)).writeStream.format("lagoon").options(**servers)
        )
        writer = writer.option("topic", self.target).option("transactions", transactions).queryName(self.name)
        writer = writer.option("checkpointLocation", str(self.folder / checkpoint)).trigger(availableNow=True)
        query = writer.start()
        assert query.awaitTermination(TIMEOUT_S)
        return query

    def forget_last_commit(self) -> None:
        """Remove Spark's last commit, as if the driver had died between the sink's commit and Spark's."""
        last = max((self.folder / "checkpoint" / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)

    def written(self) -> list[int]:
        """Return the values of committed records."""
        return sorted(int(row.value) for row in read(self.spark, self.kafka, self.target))


@pytest.fixture
def copying(
    spark: SparkSession, kafka: LocalKafka, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Copying]:
    """A query, and 100 records to copy."""
    register_source(spark)
    name = request.node.name.replace("[", "-").replace("]", "").removeprefix("test_")
    copying = Copying(spark, kafka, tmp_path, name)
    create(kafka, copying.source, partitions=2)
    create(kafka, copying.target, partitions=3)
    for partition in range(2):
        produce(kafka, copying.source, [str(number).encode() for number in range(partition, 100, 2)], partition)
    yield copying
    for query in spark.streams.active:
        query.stop()


@pytest.mark.proof
@pytest.mark.parametrize("transactions", ["task", pytest.param("run", marks=pytest.mark.proof)])
def test_a_repeated_micro_batch(copying: Copying, transactions: str) -> None:
    """Of three micro-batches the last one is run again, because Spark has lost its commit; it is not written again."""
    assert len([one for one in copying.run(transactions).recentProgress if one.numInputRows]) == 3
    assert copying.written() == list(range(100))
    copying.forget_last_commit()
    copying.run(transactions)
    assert copying.written() == list(range(100))
    produce(copying.kafka, copying.source, [b"100"], 0)
    copying.run(transactions)
    assert copying.written() == list(range(101))


@pytest.mark.proof
def test_a_new_checkpoint_is_another_query(copying: Copying) -> None:
    """Its micro-batches have the same numbers as those of the first query, and are written all the same."""
    copying.run("task")
    copying.run("task", checkpoint="another")
    assert copying.written() == sorted([*range(100), *range(100)])


@pytest.mark.proof
def test_without_transactions_a_repeated_micro_batch_is_doubled(copying: Copying) -> None:
    """This is what docs/spark.md says about transactions=none."""
    copying.run("none")
    copying.forget_last_commit()
    copying.run("none")
    assert len(copying.written()) == 120


@pytest.mark.proof
def test_tasks_that_share_partitions(copying: Copying) -> None:
    """One transaction for all tasks refuses them; a transaction for each task accepts them."""
    with pytest.raises(StreamingQueryException, match=r"several tasks wrote to|another task writes"):
        copying.run("run", coalesced=False)
    assert copying.written() == []
    copying.run("task", coalesced=False)
    assert copying.written() == list(range(100))


def _decided(cluster: Cluster, topic: str, *, is_open: bool = True) -> BatchProgress:
    """A micro-batch of two tasks whose driver died after it had decided to commit."""
    transactions = [init_transactions(cluster, f"{topic}.task-{number}-0", 60_000, soon()) for number in range(2)]
    for number, transaction in enumerate(transactions):
        assert not write(cluster, transaction, topic, b"%d" % number).failures
    progress = BatchProgress(series="query", number=7, topic=topic, open_transactions=tuple(transactions))
    deciding = init_transactions(cluster, topic, 60_000, soon())
    keep_progress(cluster, deciding, topic, progress, soon())
    commit(cluster, deciding, soon())
    init_transactions(cluster, topic, 60_000, soon())  # waits until the commit is in the group's log
    if not is_open:
        init_transactions(cluster, f"{topic}.task-1-0", 60_000, soon())  # aborts the transaction, as its timeout would
    return progress


def _writer(kafka: LocalKafka, topic: str) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415

    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": topic, "queryName": topic}
    schema = StructType([StructField("value", StringType())])
    return LagoonSource(options).streamWriter(schema, overwrite=False)


def begun(kafka: LocalKafka, topic: str) -> Any:
    """Begin a micro-batch as a driver does."""
    writer = _writer(kafka, topic)
    pickle.dumps(writer)
    return writer


def test_a_driver_that_died_between_commits(kafka: LocalKafka) -> None:
    """The next driver commits the decided transactions, records that, and aborts others; a second driver changes nothing."""
    topic = f"decided-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        decided = _decided(cluster, topic)
        assert read_progress(cluster, topic, soon()) == [decided]
        assert values_of(kafka, topic, has_open_transactions=True) == []
        of_speculation = init_transactions(cluster, f"{topic}.task-1-1", 60_000, soon())
        assert not write(cluster, of_speculation, topic, b"1").failures
        for _ in range(2):
            pickle.dumps(_writer(kafka, topic))
            (done,) = read_progress(cluster, topic, soon())
            assert (done.number, done.open_transactions) == (7, ())
            assert not is_open(cluster, of_speculation.transactional_id, soon())  # consumers would wait for its timeout
    assert values_of(kafka, topic) == [b"0", b"1"]


class StoppedError(Exception):
    """Ends an attempt where its process is stopped."""


def test_an_attempt_that_goes_on_during_the_next_micro_batch(
    kafka: LocalKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins its transaction when the next one is about to be decided, and aborts no transaction of that."""
    topic = f"goes-on-{CLOCK.now_ms()}"
    create(kafka, topic)
    late = list[tuple[Any, ...]]()

    def attempt(writer: Any, batch: int, number: int) -> Any:
        task = SparkTask(partition=0, attempt=number, batch=MicroBatch("query", batch))
        rows = pa.RecordBatch.from_pydict({"value": [f"{batch}-{number}"]})
        return write_task.write_task(writer._sink, writer._transaction, task, iter([rows]))

    def stop(_: Cluster, *arguments: Any) -> NoReturn:
        late.append(arguments)
        raise StoppedError

    def go_on(cluster: Cluster, *arguments: Any) -> None:
        refuse_ended(cluster, *arguments)
        init_transactions(cluster, *late[0][:-1], soon())

    first = begun(kafka, topic)
    with monkeypatch.context() as patch:
        patch.setattr(write_task, "init_transactions", stop)
        with pytest.raises(StoppedError):
            attempt(first, 0, 0)
    _writer(kafka, topic).commit([attempt(first, 0, 1)], 0)
    second = begun(kafka, topic)
    assert [(one.number, one.open_transactions) for one in second._progress] == [(0, ())]  # nothing is left to commit
    written = attempt(second, 1, 0)
    monkeypatch.setattr(write_stream, "refuse_ended", go_on)
    _writer(kafka, topic).commit([written], 1)
    assert values_of(kafka, topic) == [b"0-1", b"1-0"]


@pytest.mark.proof
def test_a_decided_transaction_that_timed_out(kafka: LocalKafka) -> None:
    """The query stops, and the error names the missing records and what to do."""
    topic = f"timed-out-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        _decided(cluster, topic, is_open=False)
    writer = _writer(kafka, topic)
    with pytest.raises(
        TransactionFailed, match=f"micro-batch 7 is committed but for 1 .* the offsets of group {topic}"
    ):
        pickle.dumps(writer)


def end_offset(kafka: LocalKafka, topic: str) -> int:
    """Return the end offset of partition 0."""
    client, partition = admin(kafka), TopicPartition(topic, 0)
    end: int = client.list_offsets({partition: OffsetSpec.latest()})[partition].result(30).offset
    return end


@pytest.mark.proof
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("transactions", ["task", "run"])
def test_a_driver_that_is_killed_again_and_again(kafka: LocalKafka, tmp_path: Path, transactions: str) -> None:
    """It is killed at any time with its workers, and started again: librdkafka and the Java consumer read each record once."""
    source, target = f"killed-{transactions}-source", f"killed-{transactions}-target"
    create(kafka, source)
    create(kafka, target)
    produce(kafka, source, [str(number).encode() for number in range(RECORDS)])
    words = [sys.executable, "-m", "tests.source.copying_stream", kafka.bootstrap_servers, source, target, transactions]
    command = [*words, str(tmp_path / "checkpoint")]
    dice = random.Random(12)
    for _ in range(KILLS):
        before = end_offset(kafka, target)
        job = subprocess.Popen([*command, "follow"], start_new_session=True, stderr=subprocess.DEVNULL, cwd=PROJECT)
        try:
            wait_until(lambda before=before: end_offset(kafka, target) > before, "nothing is copied")
            time.sleep(dice.random() * 3)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    subprocess.run([*command, "finish"], check=True, timeout=300, cwd=PROJECT, capture_output=True)
    expected = sorted(str(number).encode() for number in range(RECORDS))
    assert sorted(one.value or b"" for one in consume(kafka, {target: 0}, "read_committed")[target]) == expected
    options = (
        "--bootstrap-server",
        kafka.bootstrap_servers,
        "--topic",
        target,
        "--from-beginning",
        "--timeout-ms",
        "10000",
    )
    printed = kafka.tool(CONSUMER, *options, "--isolation-level", "read_committed")
    assert sorted(line.encode() for line in printed.split() if line.isdecimal()) == expected
