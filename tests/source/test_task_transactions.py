"""Attempts of tasks that Spark has given up and that still run: they begin no transaction that nobody would end."""

import re
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.transactions import abort, init_transactions
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source.sink import (
    MicroBatch,
    Sink,
    SparkTask,
    TaskFailed,
    TaskWritten,
    generation,
    new_sink,
    transactional_id,
)
from kafka_lagoon.source.write_batch import LagoonWriter
from kafka_lagoon.source.write_options import parse_sink
from kafka_lagoon.source.write_stream import LagoonStreamWriter
from kafka_lagoon.source.write_task import write_task
from tests.integration.producers import consume
from tests.source.source_topics import create

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
FENCED = r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
SCHEMA = StructType([StructField("value", StringType())])


def sink_of(kafka: LocalKafka, topic: str, transactions: str, **others: str) -> Sink:
    """Make the write that a driver plans."""
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "topic": topic,
        "transactions": transactions,
        **others,
    }
    return new_sink(parse_sink(options, SCHEMA, overwrite=False, is_stream=False), SCHEMA)


def attempt(number: int) -> SparkTask:
    return SparkTask(partition=0, attempt=number, batch=None)


def rows(*values: str) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"value": list(values)})


def states_of(kafka: LocalKafka, sink: Sink) -> dict[str, str]:
    """Return the states of the write's transactions, as Kafka's tool lists them."""
    listed = kafka.tool(TRANSACTIONS, "--bootstrap-server", kafka.bootstrap_servers, "list")
    return {line.split()[0]: line.split()[-1] for line in listed.splitlines() if sink.run_id in line}


def end(writer: LagoonWriter, how: str, written: TaskWritten) -> None:
    """End the write as Spark's driver does; in the last case Spark calls both, because it takes the commit for failed."""
    if how != "abort":
        writer.commit([written])
    if how != "commit":
        writer.abort([written])


@pytest.mark.parametrize("how", ["abort", *(pytest.param(how, marks=pytest.mark.proof) for how in ("commit", "both"))])
@pytest.mark.parametrize("fixture", ["kafka", pytest.param("kafka_392", marks=pytest.mark.proof)])
def test_attempts_with_transactions_of_their_own(request: pytest.FixtureRequest, fixture: str, how: str) -> None:
    """Those that have announced themselves are fenced, and later ones refuse to write. Nothing stays open."""
    kafka: LocalKafka = request.getfixturevalue(fixture)
    topic = f"late-task-{how}"
    create(kafka, topic)
    sink = sink_of(kafka, topic, "task")
    writer = LagoonWriter(sink)
    written = write_task(sink, writer._transaction, attempt(0), rows("first"))
    assert isinstance(written, TaskWritten)
    with sink.connect(sink.deadline()) as cluster:
        announced = init_transactions(
            cluster, transactional_id(sink, 0, 1, generation(writer._transaction)), 60_000, sink.deadline()
        )
        end(writer, how, written)
        with pytest.raises(TransactionFailed, match=FENCED):
            abort(cluster, announced, sink.deadline())
    with pytest.raises(TransactionFailed, match=FENCED):
        write_task(sink, writer._transaction, attempt(2), rows("late"))
    states = states_of(kafka, sink)
    assert len(states) == 4  # the driver's, and one of each attempt
    assert "Ongoing" not in states.values()
    committed = [one.value for one in consume(kafka, {topic: 0}, "read_committed")[topic]]
    assert committed == ([b"first"] if how != "abort" else [])


@pytest.mark.parametrize("fixture", ["kafka", pytest.param("kafka_392", marks=pytest.mark.proof)])
@pytest.mark.parametrize("has_written", [pytest.param(False, marks=pytest.mark.proof), True])
def test_attempts_in_one_transaction(request: pytest.FixtureRequest, fixture: str, has_written: bool) -> None:
    """After the driver has aborted its transaction, with or without records in it, no task can write to it."""
    kafka: LocalKafka = request.getfixturevalue(fixture)
    topic = f"late-run-{has_written}"
    create(kafka, topic)
    sink = sink_of(kafka, topic, "run")
    writer = LagoonWriter(sink)
    if has_written:
        write_task(sink, writer._transaction, attempt(0), rows("first"))
    writer.abort([])
    late = write_task(sink, writer._transaction, SparkTask(partition=1, attempt=0, batch=None), rows("late"))
    assert isinstance(late, TaskFailed)
    assert re.search(FENCED, late.reason)
    states = states_of(kafka, sink)
    assert sink.prefix in states
    assert "Ongoing" not in states.values()
    assert consume(kafka, {topic: 0}, "read_committed")[topic] == []


@pytest.mark.parametrize("fixture", ["kafka", pytest.param("kafka_392", marks=pytest.mark.proof)])
def test_a_stage_of_a_stream_that_is_run_again(request: pytest.FixtureRequest, fixture: str) -> None:
    """Brokers would take the first batch of the second attempt for a repetition: one row twice, and the other one missing."""
    kafka: LocalKafka = request.getfixturevalue(fixture)
    topic = "repeated-stage"
    create(kafka, topic)
    sink = sink_of(kafka, topic, "run", **{"kafka.batch.size": "1"})
    for number in range(2):
        stream = LagoonStreamWriter(sink)
        stream.__getstate__()
        task = SparkTask(partition=0, attempt=0, batch=MicroBatch("query", number))
        died = write_task(sink, stream._transaction, task, rows("first"))  # its executor dies before the other row
        again = write_task(sink, stream._transaction, task, chain(rows("other"), rows("first")))
        assert isinstance(died, TaskWritten)
        assert isinstance(again, TaskFailed)
        assert "was run before" in again.reason
        stream.abort([again], number)
    assert consume(kafka, {topic: 0}, "read_committed")[topic] == []
    stream = LagoonStreamWriter(sink)
    stream.__getstate__()
    task = SparkTask(partition=0, attempt=0, batch=MicroBatch("query", 2))
    stream.commit([write_task(sink, stream._transaction, task, rows("first", "other"))], 2)
    assert [one.value for one in consume(kafka, {topic: 0}, "read_committed")[topic]] == [b"first", b"other"]
