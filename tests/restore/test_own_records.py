"""An attempt counts the records of those before it only if none of them can be missing."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, TargetChanged
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.records.encoding import TRANSACTIONAL, Producer, encode_batch
from kafka_lagoon.restore import partition_writer, tasks
from kafka_lagoon.restore.offset_map import OffsetRange
from kafka_lagoon.restore.own_records import find_own_records, last_sequences
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.tasks import (
    TaskSettings,
    Work,
    WorkResult,
    _Rows,
    _take_found,
    _Written,
    restore_partitions,
)
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.compare.logs import append, record
from tests.fake.batches import aborted, batch, marker
from tests.fake.cluster import FakeBatch, FakeCluster, FakeGroup, FakePartition
from tests.fake.faults import Fault
from tests.fetch.reading import altered
from tests.restore.lake import records, wanted, write_files

PRODUCER_ID, RECORDS = 4000, 20
BEGIN = Position(next_offset=0, target_offset=0)
Attempt = Callable[[], WorkResult]


PLAN = RestorePlan(
    restore_id="r",
    request={},
    source_cluster="old",
    source_cluster_id="old",
    target_cluster="new",
    target_cluster_id="new",
    codec=0,
    producer_id=PRODUCER_ID,
    producer_epoch=0,
    planned_at_ms=0,
    snapshot_id=None,
    partitions=(),
)


def task_settings(kafka: KafkaSettings, plan: RestorePlan) -> TaskSettings:
    """Make the settings of a round of a minute."""
    return TaskSettings(
        kafka=kafka,
        clock=CLOCK,
        plan=plan,
        reading=ReadOptions(fetch_wait_ms=10, stall_timeout_ms=2_000),
        memory_bytes=1 << 24,
        timeout_ms=2_000,
        ends_at_ms=CLOCK.now_ms() + 60_000,
    )


@pytest.fixture
def state() -> FakeCluster:
    """A topic with one partition, without records."""
    state = FakeCluster()
    state.add_topic("t", 1, end=0)
    return state


@pytest.fixture
def target(state: FakeCluster) -> FakePartition:
    """The partition that is written to."""
    return state.topics["t"].partitions[0]


def work(folder: Path) -> Work:
    """Make a partition of twenty archived records."""
    planned = PlannedPartition(
        source=wanted(0, RECORDS), target=TopicPartition("t", 0), target_topic_id=None, base_offset=0
    )
    return Work(planned=planned, position=BEGIN, files=write_files(folder, [records(range(RECORDS))]))


@pytest.fixture
def attempt(connect: Callable[[], Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """Make one attempt from the begin, in batches of one record."""
    monkeypatch.setattr(partition_writer, "TARGET_BATCH_BYTES", 60)
    kafka, of_partition = connect().settings, work(tmp_path)

    def attempt() -> WorkResult:
        settings = task_settings(kafka, PLAN)
        (result,) = restore_partitions(settings, [of_partition])
        return result

    return attempt


def remembers(state: FakeCluster, last_sequence: int) -> None:
    """Let the leader know the producer of the restore."""
    producer = ProducerState(producer_id=PRODUCER_ID, producer_epoch=0, last_sequence=last_sequence)
    state.producers["t", 0] = (producer,)


def test_records_of_an_earlier_attempt(target: FakePartition, attempt: Attempt) -> None:
    """The second attempt finds all of them and writes none."""
    first, second = attempt(), attempt()
    assert (first.failure, first.ranges, second) == (None, [OffsetRange(0, 0, RECORDS)], first)
    assert target.high_watermark == RECORDS


def test_an_answer_that_was_damaged_on_its_way(state: FakeCluster, target: FakePartition, attempt: Attempt) -> None:
    """A batch that is read again comes after those that follow it; its records are counted in the order of the log."""
    first = attempt()

    def damage(partition: Any) -> None:
        size = len(target.log[0].data)
        partition.records = partition.records[: size - 1] + b"?" + partition.records[size:]

    state.faults.append(Fault(FETCH.key, altered(damage)))
    assert attempt() == first


def own_offsets(cluster: Cluster, log: LogBounds, from_offset: int = 0, *, in_transactions: bool = False) -> list[int]:
    """Return the offsets of the restore's records in a log with these bounds."""
    options = ReadOptions(fetch_wait_ms=10, stall_timeout_ms=2_000)
    own = find_own_records(
        cluster,
        TopicPartition("t", 0),
        None,
        from_offset,
        log,
        {PRODUCER_ID},
        options,
        in_transactions=in_transactions,
    )
    return own.offsets.tolist()


def test_aborted_transactions_of_an_earlier_attempt(connect: Callable[[], Cluster], target: FakePartition) -> None:
    """Their records are not in the target: counted as written, they would be lost. Those of open transactions are aborted."""
    target.append(
        aborted(0, [b"0", b"1"], PRODUCER_ID),
        marker(2, PRODUCER_ID),
        batch(3, [b"0"], producer_id=PRODUCER_ID, attributes=TRANSACTIONAL),
        marker(4, PRODUCER_ID, commit=True),
        batch(5, [b"1"], producer_id=PRODUCER_ID),
        batch(6, [b"1"], producer_id=PRODUCER_ID, attributes=TRANSACTIONAL),
    )
    log = LogBounds(log_start_offset=0, high_watermark=7, last_stable_offset=6, end=6)
    assert own_offsets(connect(), log, in_transactions=True) == [3]


def test_an_open_transaction_of_others(connect: Callable[[], Cluster], target: FakePartition, attempt: Attempt) -> None:
    """Records after its begin are found, too: written again, they would be in the topic twice."""
    append(target, [record(0), record(1)], size=1)
    attempt()
    target.last_stable_offset = 5
    log = LogBounds(log_start_offset=0, high_watermark=22, last_stable_offset=5, end=5)
    assert own_offsets(connect(), log) == list(range(2, 22))
    assert own_offsets(connect(), log, from_offset=9) == list(range(9, 22))


def test_a_target_that_ends_before_what_was_restored(
    connect: Callable[[], Cluster], target: FakePartition, attempt: Attempt
) -> None:
    """It was truncated or re-created; one that ends there has nothing more."""
    attempt()
    log = LogBounds(log_start_offset=0, high_watermark=20, last_stable_offset=20, end=20)
    assert own_offsets(connect(), log, from_offset=20) == []
    with pytest.raises(TargetChanged, match="ends at 20, and records up to 21 were restored"):
        own_offsets(connect(), log, from_offset=21)
    target.log_start_offset = 3
    with pytest.raises(TargetChanged, match="no longer has all records that were written since offset 0"):
        own_offsets(connect(), log)


def test_a_target_that_cannot_be_read(
    state: FakeCluster, connect: Callable[[], Cluster], target: FakePartition, attempt: Attempt
) -> None:
    """The records before the failure are not taken for all: an attempt would write those after it again."""
    attempt()

    def refuse(partition: Any) -> None:
        partition.error_code, partition.records = 29, b""

    state.faults.append(Fault(FETCH.key, altered(refuse), times=1_000))
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        own_offsets(connect(), LogBounds(log_start_offset=0, high_watermark=20, last_stable_offset=20, end=20))
    result = attempt()
    assert "TOPIC_AUTHORIZATION_FAILED" in str(result.failure)
    assert (result.position, result.ranges, target.high_watermark) == (BEGIN, [], RECORDS)


def test_sequence_numbers_of_others(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A leader names all producers of a partition; those of others say nothing about the restore."""
    producers = [ProducerState(producer_id=one, producer_epoch=0, last_sequence=9) for one in (PRODUCER_ID - 1, 7)]
    state.producers["t", 0] = tuple(producers)
    partition = TopicPartition("t", 0)
    ask = partial(last_sequences, connect(), [partition], PRODUCER_ID)
    assert ask(Deadline.after(CLOCK, 2_000)) == ({partition: None}, {})
    state.producers["t", 0] += (ProducerState(producer_id=PRODUCER_ID, producer_epoch=0, last_sequence=4),)
    assert ask(Deadline.after(CLOCK, 2_000)) == ({partition: 4}, {})


@pytest.mark.parametrize("is_remembered", [True, False])
def test_records_that_compaction_removed(
    state: FakeCluster, target: FakePartition, attempt: Attempt, is_remembered: bool
) -> None:
    """The numbers of those that are left are not known: nothing is counted, and nothing is written."""
    attempt()
    del target.log[1]
    if is_remembered:
        remembers(state, RECORDS - 1)
    result = attempt()
    assert "1 offsets without records from 0 on: compaction may have removed" in str(result.failure)
    assert (result.position, result.ranges, target.high_watermark) == (BEGIN, [], RECORDS)


def test_records_of_others_that_compaction_removed(state: FakeCluster, target: FakePartition, attempt: Attempt) -> None:
    """The last sequence number shows that all records of the restore are there."""
    append(target, [record(0), record(1)], size=1)
    attempt()
    del target.log[0]
    assert "compaction may have removed" in str(attempt().failure)
    remembers(state, RECORDS - 1)
    result = attempt()
    assert (result.failure, result.ranges) == (None, [OffsetRange(0, 2, RECORDS)])


@pytest.mark.parametrize(("days", "is_refused"), [(8, True), (0, False)])
def test_records_that_brokers_have_forgotten(
    state: FakeCluster,
    connect: Callable[[], Cluster],
    target: FakePartition,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    is_refused: bool,
) -> None:
    """A week later neither the transactional id is known nor the group: what a killed run wrote is not written again."""
    data = encode_batch([record(0), record(1)], producer=Producer(7, 3, 0), attributes=TRANSACTIONAL)
    target.append(FakeBatch(0, 1, data))
    state.groups = {name: FakeGroup(coordinator_id=1) for name in ("lagoon-restore-r", "lagoon-restore-r-t-0")}
    new = Transaction(transactional_id="r", producer_id=9, epoch=0, timeout_ms=60_000, is_implicit=True)
    monkeypatch.setattr(tasks, "TransactionalProducer", lambda *_: SimpleNamespace(begin=lambda _: new))
    began: list[object] = []

    def writer(*given: object) -> None:
        began.append(given)
        raise TargetChanged("t", 0, "is written to")

    monkeypatch.setattr(tasks, "PartitionWriter", writer)
    planned_at_ms = CLOCK.now_ms() - days * 86_400_000
    settings = task_settings(connect().settings, replace(PLAN, is_transactional=True, planned_at_ms=planned_at_ms))
    (result,) = restore_partitions(settings, [work(tmp_path)])
    assert bool(began) == (not is_refused)
    assert ("has 2 records of transactions since the restore was planned" in str(result.failure)) == is_refused


def test_a_target_that_was_truncated(tmp_path: Path) -> None:
    """Offsets that go back end the partition, and not the run."""
    written = _Written(work(tmp_path))
    ranges = written.ranges
    written.add(records(range(10)), [OffsetRange(0, 100, 10)])
    assert written.ranges is ranges  # none are copied: in a compacted log there are as many as records
    position = written.position
    assert (position.next_offset, position.target_offset, position.written, position.is_done) == (10, 110, 10, False)
    with pytest.raises(TargetChanged, match="partition 0 of topic t was truncated"):
        written.add(records(range(10, 20)), [OffsetRange(10, 95, 10)])


class Archived:
    """Archived records in batches, as the tasks read them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, *batches: list[int]) -> None:
        made = [records(offsets) for offsets in batches]
        monkeypatch.setattr(tasks, "read_archived", lambda *_, **__: iter(made))
        self.written = _Written(work(folder))
        task: Any = SimpleNamespace(settings=SimpleNamespace(memory_bytes=1), opened=None)
        self.rows = _Rows(task, self.written)

    def take(self, count: int) -> list[int]:
        """Return the source's offsets of the next records."""
        return [offset for some in self.rows.take(count) for offset in some.column("offset").to_pylist()]


def test_records_that_are_taken_do_not_come_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A batch may have more than are wanted: the others come next, and none is left out."""
    archived = Archived(monkeypatch, tmp_path, [0, 1, 2], [], [5, 7, 8, 9])
    assert (archived.take(0), archived.take(2), archived.take(2), archived.rows.at_end) == ([], [0, 1], [2, 5], False)
    assert (archived.take(9), archived.rows.at_end) == ([7, 8, 9], True)


def test_found_records_are_mapped_one_by_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both logs have gaps, and what was found ends within an archived batch."""
    archived, where = Archived(monkeypatch, tmp_path, [0, 1, 2], [5, 6, 9, 10]), [100, 101, 104, 105, 106, 109]
    _take_found(archived.written, archived.rows, np.array(where))
    assert {
        one.source_offset + number: one.target_offset + number
        for one in archived.written.ranges
        for number in range(one.records)
    } == dict(zip([0, 1, 2, 5, 6, 9], where, strict=True))
    position = archived.written.position
    assert (position.next_offset, position.target_offset, position.written) == (10, 110, 6)
    assert archived.take(9) == [10]


def test_more_records_than_are_archived(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The archive lost some, or others wrote with the id of the restore: no number of a record is known."""
    archived = Archived(monkeypatch, tmp_path, [0, 1])
    with pytest.raises(TargetChanged, match="more records of this restore than the archive"):
        _take_found(archived.written, archived.rows, np.array([0, 1, 2]))
