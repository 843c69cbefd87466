"""Steps of drivers and attempts of tasks in orders that Spark makes only by chance; the brokers are fakes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import ConfigError, TransactionFailed
from kafka_lagoon.produce import arrow_writer, transaction_state
from kafka_lagoon.produce.batch_progress import BatchProgress
from kafka_lagoon.produce.transaction_state import take_once
from kafka_lagoon.produce.transactions import TransactionalProducer, init_transactions
from kafka_lagoon.protocol.error_codes import INVALID_TRANSACTION_TIMEOUT
from kafka_lagoon.protocol.messages.end_txn import END_TXN
from kafka_lagoon.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_lagoon.source import task_transactions, write_batch, write_stream
from kafka_lagoon.source.sink import (
    GENERATIONS,
    MicroBatch,
    Sink,
    SparkTask,
    TaskFailed,
    TaskRepeated,
    TaskWritten,
    new_sink,
)
from kafka_lagoon.source.write_batch import LagoonWriter
from kafka_lagoon.source.write_options import parse_sink
from kafka_lagoon.source.write_stream import LagoonStreamWriter
from kafka_lagoon.source.write_task import write_task
from tests.fake.answers import SPOKEN
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.short_timeouts import short_timeouts
from tests.source.fake_coordinator import coordinate, states_of

SCHEMA = StructType([StructField("value", StringType())])


@pytest.fixture
def sink(state: FakeCluster, brokers: dict[int, FakeBroker], monkeypatch: pytest.MonkeyPatch) -> Sink:  # noqa: ARG001
    """A write to an empty topic, with a configured prefix and a transaction for each attempt."""
    coordinate(monkeypatch)
    state.add_topic("copy", 2, end=0)
    return sink_of(state, "task")


def sink_of(state: FakeCluster, transactions: str, **others: str) -> Sink:
    options = {
        "kafka.bootstrap.servers": ",".join(f"{host}:{port}" for host, port in state.addresses.values()),
        "topic": "copy",
        "transactions": transactions,
        **({} if transactions == "none" else {"kafka.transactional.id": "nightly"}),
        **others,
    }
    return new_sink(parse_sink(options, SCHEMA, overwrite=False, is_stream=False), SCHEMA)


def rows() -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"value": ["a", "b"]})


def written(writer: LagoonWriter | LagoonStreamWriter, partition: int, batch: MicroBatch | None = None) -> TaskWritten:
    """Run the first attempt of a task."""
    task = SparkTask(partition=partition, attempt=0, batch=batch)
    message = write_task(writer._sink, writer._transaction, task, rows())
    assert isinstance(message, TaskWritten)
    return message


def test_without_transactions_the_commit_needs_no_broker(state: FakeCluster, brokers: dict[int, FakeBroker]) -> None:
    """Every record has been acknowledged: a job that fails now would be run again, and write all of them twice."""
    state.add_topic("copy", 2, end=0)
    writer = LagoonWriter(replace(sink_of(state, "none"), kafka=short_timeouts(state)))
    message = written(writer, 0)
    for broker in brokers.values():
        broker.die()
    writer.commit([message])


def test_a_write_that_another_has_fenced_commits_nothing(state: FakeCluster, sink: Sink) -> None:
    """Otherwise some of its tasks might be committed, and others aborted by the other write, which keeps its own."""
    first = LagoonWriter(sink)
    messages = [written(first, partition) for partition in range(2)]
    second = LagoonWriter(sink)
    other = written(second, 0)
    with pytest.raises(TransactionFailed, match="PRODUCER_FENCED"):
        first.commit(messages)
    assert "CompleteCommit" not in states_of(state).values()
    first.abort(messages)  # as Spark does after a commit that failed
    assert states_of(state) == {
        "nightly": "Empty",
        "nightly.task-0-0": "CompleteAbort",
        "nightly.task-1-0": "CompleteAbort",
        "nightly.task-0-0.1": "Ongoing",
    }
    second.commit([other])
    assert states_of(state)["nightly.task-0-0.1"] == "CompleteCommit"


def test_a_transaction_that_ends_during_the_commit(
    state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write fails, and says how many tasks are committed: records of the others are missing."""
    writer = LagoonWriter(sink)
    messages = [written(writer, partition) for partition in range(2)]

    def ended(cluster: Cluster, *_: object) -> None:
        init_transactions(cluster, "nightly.task-1-0", 60_000, sink.deadline())  # aborts it, as its timeout would

    monkeypatch.setattr(write_batch, "refuse_ended", ended)
    with pytest.raises(TransactionFailed, match="1 of 2 tasks are committed, 1 are not"):
        writer.commit(messages)
    assert states_of(state)["nightly.task-0-0"] == "CompleteCommit"


@pytest.mark.parametrize("commits", [False, True])
def test_a_driver_that_is_late(state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch, commits: bool) -> None:
    """If another write takes over while a driver lists what attempts left open, it does not abort that write's tasks."""
    first, others = LagoonWriter(sink), list[TaskWritten]()
    messages = [written(first, 0)]
    list_all = task_transactions.list_transactions

    def listed(*arguments: Any, **filters: Any) -> Any:
        monkeypatch.setattr(task_transactions, "list_transactions", list_all)
        second = LagoonWriter(sink)
        others.extend(written(second, partition) for partition in (1, 2))
        return list_all(*arguments, **filters)

    monkeypatch.setattr(task_transactions, "list_transactions", listed)
    (first.commit if commits else first.abort)(messages)
    assert states_of(state)["nightly.task-0-0"] == ("CompleteCommit" if commits else "CompleteAbort")
    names = [other.transaction.transactional_id for other in others if other.transaction]
    assert [states_of(state)[name] for name in names] == ["Ongoing", "Ongoing"]


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_task_that_ended_long_before_the_last(
    state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch, is_stream: bool
) -> None:
    """If its transaction has timed out meanwhile, nothing is committed and nothing is decided: the job can be run again."""
    writer: Any = LagoonStreamWriter(sink) if is_stream else LagoonWriter(sink)
    if is_stream:
        monkeypatch.setattr(write_stream, "read_progress", lambda *_: [])
        monkeypatch.setattr(LagoonStreamWriter, "_keep", lambda *_: pytest.fail("decided"))
        writer.__getstate__()
    messages = [written(writer, partition, MicroBatch("query", 0) if is_stream else None) for partition in range(2)]
    with sink.connect(sink.deadline()) as cluster:
        init_transactions(cluster, "nightly.task-1-0", 60_000, sink.deadline())  # aborts it, as its timeout would
    number = (0,) if is_stream else ()
    with pytest.raises(TransactionFailed, match=r"nightly\.task-1-0: INVALID_TXN_STATE .*its timeout is 900000 ms"):
        writer.commit(messages, *number)
    writer.abort(messages, *number)  # as Spark does after a commit that failed
    assert "CompleteCommit" not in states_of(state).values()
    assert "Ongoing" not in states_of(state).values()


@pytest.mark.parametrize("valid", [0, 1])
def test_a_stage_that_spark_runs_again(state: FakeCluster, sink: Sink, valid: int) -> None:
    """Of two attempts of a task with the same number Spark takes the one that ends first; the other one is aborted."""
    writer = LagoonWriter(sink)
    attempts = [written(writer, 0) for _ in range(2)]
    writer.commit([attempts[valid]])
    names = [attempt.transaction.transactional_id for attempt in attempts if attempt.transaction]
    assert [states_of(state)[name] for name in names] == [
        "CompleteCommit" if number == valid else "Empty" for number in range(2)
    ]


@pytest.mark.usefixtures("sink")
def test_attempts_are_aborted_where_brokers_allow_short_timeouts_only(
    state: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their requests have the timeout of the write, which brokers have accepted, and not Kafka's default of a minute."""
    api, answer = SPOKEN[INIT_PRODUCER_ID.key]

    def begun(state: FakeCluster, node: int, version: int, request: InitProducerIdRequest) -> Any:
        if request.transaction_timeout_ms > 30_000:
            return InitProducerIdResponse(throttle_time_ms=0, error_code=INVALID_TRANSACTION_TIMEOUT, producer_epoch=-1)
        return answer(state, node, version, request)

    monkeypatch.setitem(SPOKEN, INIT_PRODUCER_ID.key, (api, begun))
    writer = LagoonWriter(sink_of(state, "task", **{"kafka.transaction.timeout.ms": "30000"}))
    lost = written(writer, 0).transaction
    writer.commit([written(writer, 1)])
    assert lost
    assert states_of(state)[lost.transactional_id] == "Empty"


def test_what_a_driver_left_is_aborted_at_the_same_time(
    state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each open transaction must be asked for twice: all are named before one is named again."""
    died = LagoonWriter(sink)
    left = {written(died, partition).transaction for partition in range(8)}
    api, answer = SPOKEN[INIT_PRODUCER_ID.key]
    requested: list[str | None] = []

    def begun(state: FakeCluster, node: int, version: int, request: InitProducerIdRequest) -> Any:
        requested.append(request.transactional_id)
        return answer(state, node, version, request)

    monkeypatch.setitem(SPOKEN, INIT_PRODUCER_ID.key, (api, begun))
    LagoonWriter(sink).commit([])
    of_tasks = [name for name in requested if name != sink.prefix]
    names = {transaction.transactional_id for transaction in left if transaction}
    assert set(of_tasks[:8]) == set(of_tasks[8:]) == names
    assert set(states_of(state).values()) == {"Empty"}


def test_transactional_ids_are_used_again(state: FakeCluster, sink: Sink) -> None:
    """Successive writes have different ids, so that late attempts of one do not affect the next; later ones need no further."""
    names = list[set[str]]()
    for _ in range(2 * GENERATIONS):
        writer = LagoonWriter(sink)
        message = written(writer, 0)
        writer.commit([message])
        names.append({one for one, end in states_of(state).items() if end == "CompleteCommit"})
    assert [len(some) for some in names] == [min(number, GENERATIONS) for number in range(1, 2 * GENERATIONS + 1)]


def test_attempts_of_earlier_writes_are_not_fenced_again(
    state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that have lost, the transactions stay empty: each write ends its own and what is open, without requests for the rest."""
    left = list[str]()
    for _ in range(3):
        writer = LagoonWriter(sink)
        lost = written(writer, 0).transaction
        assert lost
        left.append(lost.transactional_id)
        writer.commit([written(writer, 1)])
    requested = list[str]()
    fence_all = task_transactions.fence_all

    def fenced(cluster: Cluster, names: list[str], *rest: Any) -> Any:
        requested.extend(names)
        return fence_all(cluster, names, *rest)

    monkeypatch.setattr(task_transactions, "fence_all", fenced)
    writer = LagoonWriter(sink)
    lost = written(writer, 0).transaction
    assert lost
    task = SparkTask(partition=2, attempt=0, batch=None)
    without_rows = write_task(writer._sink, writer._transaction, task, iter(()))
    writer.commit([without_rows, written(writer, 1)])
    assert [states_of(state)[name] for name in left] == ["Empty"] * 3
    assert requested == [lost.transactional_id]


@pytest.mark.usefixtures("sink")
def test_a_batch_within_a_stream_recognizes_a_repeated_stage(
    state: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In foreachBatch Spark gives tasks the micro-batch of the stream, but what they write is a batch."""
    task = SparkTask(partition=0, attempt=0, batch=MicroBatch("query", 3))
    monkeypatch.setattr("kafka_lagoon.source.write_task.this_task", lambda: task)
    writer = LagoonWriter(sink_of(state, "run"))
    assert isinstance(writer.write(rows()), TaskWritten)
    again = writer.write(rows())
    assert isinstance(again, TaskFailed)
    assert "was run before" in again.reason


@pytest.mark.usefixtures("sink")
def test_a_stream_in_one_transaction_recognizes_a_repeated_stage(
    state: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempts have the same number. Later micro-batches are written, and need no further transactional ids."""
    monkeypatch.setattr(write_stream, "read_progress", lambda *_: [])
    for number in range(3):
        stream = LagoonStreamWriter(sink_of(state, "run"))
        stream.__getstate__()
        assert written(stream, 0, MicroBatch("query", number))
        task = SparkTask(partition=0, attempt=0, batch=MicroBatch("query", number))
        again = write_task(stream._sink, stream._transaction, task, rows())
        assert isinstance(again, TaskFailed)
        assert "was run before" in again.reason
        assert states_of(state).keys() == {"nightly", "nightly.claim-0"}
        stream.abort([again], number)


@pytest.mark.usefixtures("sink")
def test_an_attempt_of_an_earlier_driver_that_goes_on(state: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no id, so that a stage that Spark runs again is recognized also in the micro-batch of the next driver."""
    monkeypatch.setattr(write_stream, "read_progress", lambda *_: [])
    earlier, stream = (LagoonStreamWriter(sink_of(state, "run")) for _ in range(2))
    earlier.__getstate__()
    stream.__getstate__()
    batch = MicroBatch("query", 0)
    assert written(stream, 0, batch)
    for writer, reason in ((earlier, "PRODUCER_FENCED"), (stream, "was run before")):
        task = SparkTask(partition=0, attempt=0, batch=batch)
        refused = write_task(writer._sink, writer._transaction, task, rows())
        assert isinstance(refused, TaskFailed)
        assert reason in refused.reason


def test_attempts_at_the_same_time(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both see that none has been there before; the one that comes second does not write."""
    init = transaction_state.init_transactions
    with sink.connect(sink.deadline()) as cluster:

        def later(*arguments: Any) -> Any:
            monkeypatch.setattr(transaction_state, "init_transactions", init)
            taken.append(take_once(cluster, "t", number, sink.deadline()))
            return init(*arguments)

        for number in (1, 3):  # for a new id and for a known one
            taken: list[bool] = []
            monkeypatch.setattr(transaction_state, "init_transactions", later)
            assert not take_once(cluster, "t", number, sink.deadline())
            assert taken == [True]


@pytest.mark.parametrize(
    ("number", "records", "line"),
    [
        (7, 2, None),
        (7, None, None),
        (7, 3, None),
        (7, 1, "micro-batch 7 with 2 rows is not written: its number is written, with 1: .* offsets of group nightly"),
        (6, 2, "micro-batch 6 with 2 rows is not written: micro-batches up to 7 are written"),
    ],
)
def test_a_micro_batch_of_an_older_checkpoint(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, number: int, records: int | None, line: str | None
) -> None:
    """Spark plans it again, with rows that were not written: only the last micro-batch is passed over, if it has no more rows."""
    task = SparkTask(partition=0, attempt=0, batch=MicroBatch("query", number))
    monkeypatch.setattr("kafka_lagoon.source.write_task.this_task", lambda: task)
    stream = LagoonStreamWriter(sink)
    stream._progress = [BatchProgress(series="query", number=7, topic="copy", records=records)]
    message = stream.write(rows())
    assert isinstance(message, TaskRepeated)
    if line is None:
        stream.commit([message], number)
    else:
        with pytest.raises(ConfigError, match=line):
            stream.commit([message], number)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Close(), "micro-batch 7 is committed but for 1 of .*; the next start of the query tries again"),
        (None, "micro-batch 7 is committed but for 1 of .*; the rest of its records is missing; .* of group nightly"),
    ],
)
def test_a_decided_commit_that_fails(state: FakeCluster, sink: Sink, fault: Close | None, line: str) -> None:
    """Only if the transaction is gone records are missing; without an answer it is committed by the next start."""
    stream = LagoonStreamWriter(replace(sink, kafka=short_timeouts(state)))
    with sink.connect(sink.deadline()) as cluster:
        decided, driver = (init_transactions(cluster, name, 60_000, sink.deadline()) for name in ("t", "nightly"))
        if fault:
            state.faults.append(Fault(END_TXN.key, fault, times=1_000))
        else:
            init_transactions(cluster, "t", 60_000, sink.deadline())
        progress = BatchProgress(series="query", number=7, topic="copy", open_transactions=(decided,))
        with pytest.raises(TransactionFailed, match=line):
            stream._finish(cluster, driver, progress, stream._sink.deadline())


def test_brokers_that_are_too_old_for_a_series_of_transactions(
    state: FakeCluster, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Kafka 2.5 they cannot say that another producer has taken over between two transactions: none is begun."""
    _, begun = SPOKEN[INIT_PRODUCER_ID.key]
    older = replace(INIT_PRODUCER_ID, versions=replace(INIT_PRODUCER_ID.versions, highest=2))
    monkeypatch.setitem(SPOKEN, INIT_PRODUCER_ID.key, (older, begun))
    with sink.connect(sink.deadline()) as cluster:
        with pytest.raises(TransactionFailed, match=r"UNSUPPORTED_VERSION \(needs Kafka 2\.5 or newer\)"):
            TransactionalProducer(cluster, "restore").begin(sink.deadline())
        assert states_of(state) == {}
        assert init_transactions(cluster, "once", 60_000, sink.deadline()).producer_id >= 0


def test_rows_in_the_order_of_their_topics(
    state: FakeCluster,
    brokers: dict[int, FakeBroker],  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each Arrow batch has a new topic: what is known of the topics before it is kept, and not made again for each batch."""
    coordinate(monkeypatch)
    names = [f"topic-{number}" for number in range(12)]
    for name in names:
        state.add_topic(name, 1, end=0)
    lanes = list[str]()
    of_topic = arrow_writer._Lane
    monkeypatch.setattr(
        arrow_writer,
        "_Lane",
        lambda cluster, topic, *rest: lanes.append(topic.topic) or of_topic(cluster, topic, *rest),
    )
    schema = StructType([StructField("topic", StringType()), StructField("value", StringType())])
    options = {
        "kafka.bootstrap.servers": ",".join(f"{host}:{port}" for host, port in state.addresses.values()),
        "kafka.transactional.id": "nightly",
        "transactions": "task",
    }
    sink = new_sink(parse_sink(options, schema, overwrite=False, is_stream=False), schema)
    batches = (pa.RecordBatch.from_pydict({"topic": [name] * 2, "value": ["a", "b"]}) for name in names)
    writer = LagoonWriter(sink)
    task = SparkTask(partition=0, attempt=0, batch=None)
    message = write_task(sink, writer._transaction, task, batches)
    assert isinstance(message, TaskWritten)
    assert {partition.topic: count for partition, count in message.records.items()} == dict.fromkeys(names, 2)
    assert lanes == names
