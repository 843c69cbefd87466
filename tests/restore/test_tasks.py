"""Tasks write each archived record once to real brokers, wherever they die and however often they are repeated."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from kafka_lagoon.admin.topics import delete_records
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import OtherAttempt
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce import transactions
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.protocol.messages.describe_producers import DESCRIBE_PRODUCERS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.records.digests import SequenceDigest
from kafka_lagoon.restore import partition_writer, tasks
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.tasks import TaskSettings, Work, WorkResult, restore_partitions
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition as Partition
from kafka_lagoon.wire.schema import Api
from tests.clock import CLOCK, Hands
from tests.integration.state import create_topics
from tests.librdkafka import messages
from tests.restore.lake import records, wanted, write_files

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]
ANY_TIME = {"retention.ms": "-1"}
OFFSETS = [offset for offset in range(400) if offset % 10]  # like a log with gaps
PARTITIONS = 8
KINDS_OF_OFFSETS = 3  # the start of a log, its high watermark and its last stable offset, each in a request of its own
_names = iter(range(1_000_000))


class Killed(BaseException):
    """The process was killed."""


class Restore:
    """A restore of one partition into a topic of its own."""

    def __init__(self, kafka: LocalKafka, folder: Path, *, is_transactional: bool = False, **configs: str) -> None:
        self.topic = f"tasks-{next(_names)}"
        create_topics(
            kafka.bootstrap_servers,
            [
                NewTopic(
                    self.topic,
                    1,
                    1,
                    config={**ANY_TIME, **{name.replace("_", "."): value for name, value in configs.items()}},
                )
            ],
        )
        self.kafka = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
        with Cluster.connect(self.kafka, CLOCK, RequestStats(), Deadline.after(CLOCK, 30_000)) as cluster:
            cluster.refresh({self.topic}, Deadline.after(CLOCK, 30_000))
            producer = init_producer_id(cluster, Deadline.after(CLOCK, 30_000)).producer
            topic_id = cluster.topics.id_of(self.topic)
        self.files = write_files(folder, [records(OFFSETS[:200]), records(OFFSETS[200:])])
        self.planned = PlannedPartition(
            source=wanted(0, 400), target=Partition(self.topic, 0), target_topic_id=topic_id, base_offset=0
        )
        self.plan = RestorePlan(
            restore_id=self.topic,
            request={},
            source_cluster="old",
            source_cluster_id="old",
            target_cluster="new",
            target_cluster_id="new",
            codec=0,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            planned_at_ms=0,
            snapshot_id=None,
            partitions=(),
            is_transactional=is_transactional,
        )
        self.position = Position(next_offset=0, target_offset=0)

    def attempt(self, **more: Any) -> WorkResult:
        """Make one attempt from the last known position."""
        given = {"planned": self.planned, "position": self.position, "files": self.files}
        (result,) = restore_partitions(self.settings(), [Work(**{**given, **more})])
        return result

    def settings(self) -> TaskSettings:
        """Return the settings of a round of a minute."""
        return TaskSettings(
            kafka=self.kafka,
            clock=CLOCK,
            plan=self.plan,
            reading=ReadOptions(),
            memory_bytes=1 << 24,
            timeout_ms=20_000,
            ends_at_ms=CLOCK.now_ms() + 60_000,
        )

    def consumed(self) -> list[tuple[bytes, int]]:
        """Return the values and offsets of committed records that librdkafka reads."""
        return consumed(self.kafka.bootstrap_servers, self.topic)

    def assert_whole(self, result: WorkResult) -> None:
        """Check that every record exists once, in order, at the offset in the ranges."""
        assert (result.failure, result.position.is_done, result.position.written) == (None, True, len(OFFSETS))
        read = self.consumed()
        assert [value for value, _ in read] == [b"value %d" % offset for offset in OFFSETS]
        where = dict(zip(OFFSETS, (offset for _, offset in read), strict=True))
        assert {
            one.source_offset + number: one.target_offset + number
            for one in result.ranges
            for number in range(one.records)
        } == where


def consumed(servers: str, topic: str, partition: int = 0) -> list[tuple[bytes, int]]:
    """Return the values and offsets of committed records that librdkafka reads."""
    read = messages(servers, [TopicPartition(topic, partition, 0)])
    return [(message.value() or b"", message.offset() or 0) for message in read]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make batches of some forty records, and transactions of three batches."""
    monkeypatch.setattr(partition_writer, "TARGET_BATCH_BYTES", 2_000)
    monkeypatch.setattr(partition_writer, "BUFFER_BYTES", 8_000)
    monkeypatch.setattr(tasks, "_TRANSACTION_BYTES", 1)


def sent(stats: RequestStats, api: Api[Any, Any]) -> list[int]:
    """The requests of an API, by broker."""
    return [counts.requests for (name, _), counts in stats.by_api.items() if name == api.name]


def dies(monkeypatch: pytest.MonkeyPatch, moment: int, where: str) -> None:
    """Kill the process before or after a call with this number: a send, a commit of offsets, or the end of a transaction."""
    place, name = {
        "send": (Cluster, "ask_brokers"),
        "commit": (transactions, "_end"),
        "offsets": (transactions, "commit_offsets"),
    }[where.split()[1]]
    real, calls = getattr(place, name), iter(range(1_000))

    def mortal(*arguments: Any, **options: Any) -> Any:
        number = next(calls)
        if number == moment and where.startswith("before"):
            raise Killed
        answer = real(*arguments, **options)
        if number == moment:
            raise Killed
        return answer

    monkeypatch.setattr(place, name, mortal)


def killed(restore: Restore, moment: int, where: str) -> None:
    """Make an attempt that dies at that call."""
    with pytest.MonkeyPatch.context() as patch:
        dies(patch, moment, where)
        with pytest.raises(Killed):
            restore.attempt()


def killed_again_and_again(restore: Restore, where: str, times: int) -> None:
    """Let each attempt die one call later than the one before, and let the last attempt finish."""
    for moment in range(times):
        killed(restore, moment % 3, where)
    result = restore.attempt()
    restore.assert_whole(result)


def test_partitions_of_a_task_are_asked_about_together(
    kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their topic is described once, and each leader is asked once where logs end and what it knows of the producer."""
    topic, hands, refreshed = f"tasks-{next(_names)}", Hands(), list[object]()
    stats = RequestStats()
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, PARTITIONS, 1, config=ANY_TIME)])
    restore = Restore(kafka, tmp_path)
    works = [
        Work(
            planned=replace(restore.planned, target=Partition(topic, number), target_topic_id=None),
            position=restore.position,
            files=restore.files,
        )
        for number in range(PARTITIONS)
    ]
    refresh = Cluster.refresh

    def counted(cluster: Cluster, topics: Any, *arguments: Any) -> Any:
        refreshed.append(topics)
        return refresh(cluster, topics, *arguments)

    monkeypatch.setattr(Cluster, "refresh", counted)
    monkeypatch.setattr(tasks, "RequestStats", lambda: stats)
    settings = replace(restore.settings(), clock=replace(hands.clock(), sleep=time.sleep))
    results = restore_partitions(settings, works)
    assert [(result.failure, result.position.written) for result in results] == [(None, len(OFFSETS))] * PARTITIONS
    assert [topics for topics in refreshed if topics] == [{topic}]
    assert set(sent(stats, LIST_OFFSETS)) == {KINDS_OF_OFFSETS}
    assert set(sent(stats, DESCRIBE_PRODUCERS)) == {1}
    assert sum(sent(stats, PRODUCE)) >= PARTITIONS
    assert [len(consumed(kafka.bootstrap_servers, topic, number)) for number in range(PARTITIONS)] == [
        len(OFFSETS)
    ] * PARTITIONS


@pytest.mark.parametrize("where", ["before send", "after send"])
def test_an_attempt_that_dies_doubles_nothing(kafka: LocalKafka, tmp_path: Path, where: str) -> None:
    """The next attempt finds its records by the producer id."""
    killed_again_and_again(Restore(kafka, tmp_path), where, 2)


@pytest.mark.parametrize("where", ["after send", "after offsets", "before commit", "after commit"])
def test_a_transaction_that_dies_doubles_nothing(kafka: LocalKafka, tmp_path: Path, where: str) -> None:
    """The next attempt aborts open transactions and finds the committed ones."""
    killed_again_and_again(Restore(kafka, tmp_path, is_transactional=True), where, 1)


def test_a_task_that_is_run_twice_writes_once(kafka: LocalKafka, tmp_path: Path) -> None:
    """The second attempt finds all records, and returns the same result as the first."""
    restore = Restore(kafka, tmp_path)
    first, second = restore.attempt(), restore.attempt()
    restore.assert_whole(second)
    assert first == second


def interrupted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, do: Callable[[], object]) -> None:
    """Do something before the next call of a function."""
    real, left = getattr(module, name), [do]

    def interrupted(*arguments: Any, **options: Any) -> Any:
        while left:
            left.pop()()
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, interrupted)


@pytest.mark.parametrize("where", ["_end", "commit_offsets"])
def test_an_attempt_that_another_one_has_fenced_goes_on(
    kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Spark would take a failure for the result of the task, and stop the other attempt, as with spark.speculation."""
    restore = Restore(kafka, tmp_path, is_transactional=True)
    interrupted(monkeypatch, transactions, where, lambda: killed(restore, 0, "before commit"))
    restore.assert_whole(restore.attempt())


def test_an_attempt_that_is_fenced_before_its_first_record_goes_on(
    kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that another attempt commits after this one has looked for records are not taken for deleted ones."""
    restore = Restore(kafka, tmp_path, is_transactional=True)
    interrupted(monkeypatch, tasks, "check_committed", lambda: killed(restore, 0, "after commit"))
    restore.assert_whole(restore.attempt())


def test_an_attempt_that_is_fenced_until_its_round_ends_has_not_failed(
    kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next round finds what the other attempt has written."""
    restore, late_ms = Restore(kafka, tmp_path, is_transactional=True), [0]
    settings = replace(restore.settings(), clock=replace(CLOCK, now_ms=lambda: CLOCK.now_ms() + sum(late_ms)))

    def pauses(*_: int) -> Iterator[float]:
        late_ms.append(60_000)
        yield 0

    monkeypatch.setattr(tasks, "backoff", pauses)
    interrupted(monkeypatch, transactions, "_end", lambda: killed(restore, 0, "after commit"))
    work = Work(planned=restore.planned, position=restore.position, files=restore.files)
    (fenced,) = restore_partitions(settings, [work])
    assert (fenced.failure, fenced.position.is_done) == (None, False)
    assert fenced.position.written < len(restore.consumed())
    restore.assert_whole(restore.attempt())


def test_an_attempt_that_has_written_for_long_waits_for_another_one(
    kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time in which it wrote records is not part of its wait."""
    restore, passed_s, go_on = Restore(kafka, tmp_path), [0.0], tasks._go_on

    def slow(task: Any, written: Any) -> WorkResult:
        result = go_on(task, written)
        if len(passed_s) == 1:
            passed_s.append(30.0)
            raise OtherAttempt(*restore.planned.target)
        return result

    monkeypatch.setattr(tasks, "_go_on", slow)
    clock = replace(CLOCK, monotonic=lambda: CLOCK.monotonic() + sum(passed_s))
    work = Work(planned=restore.planned, position=restore.position, files=restore.files)
    (result,) = restore_partitions(replace(restore.settings(), clock=clock), [work])
    restore.assert_whole(result)


@pytest.mark.parametrize("earlier", [(1 << 31) - 100, (1 << 31) + 5, (3 << 31) - 1])
def test_sequence_numbers_begin_again(kafka: LocalKafka, tmp_path: Path, earlier: int) -> None:
    """They have 31 bits: after 2,147,483,647 comes 0, also within a batch, and an attempt goes on after that."""
    restore = Restore(kafka, tmp_path)
    restore.position = replace(restore.position, digest=SequenceDigest(records=earlier))
    for moment in (4, 3):
        killed(restore, moment, "after send")
    result = restore.attempt()
    assert (result.failure, result.position.written - earlier) == (None, len(OFFSETS))
    read = restore.consumed()
    assert [value for value, _ in read] == [b"value %d" % offset for offset in OFFSETS]
    assert [offset for _, offset in read] == list(range(len(OFFSETS)))


def test_others_may_write_to_the_same_partition(kafka: LocalKafka, tmp_path: Path) -> None:
    """Records of another producer between those of the restore are not counted."""
    restore = Restore(kafka, tmp_path)
    other = Restore(kafka, tmp_path / "other")
    other.planned, other.topic = (
        replace(other.planned, target=restore.planned.target, target_topic_id=None),
        restore.topic,
    )
    killed(restore, 3, "after send")
    assert other.attempt().position.written == len(OFFSETS)
    result = restore.attempt()
    assert (result.failure, result.position.written, result.position.is_done) == (None, len(OFFSETS), True)
    assert len(restore.consumed()) == 2 * len(OFFSETS)
    assert [one.records for one in result.ranges][-1] < len(OFFSETS)


def test_a_record_that_is_too_large_is_named(kafka: LocalKafka, tmp_path: Path) -> None:
    """The record is not left out: the partition ends before it, and the failure has its source offset."""
    restore = Restore(kafka, tmp_path, max_message_bytes="1000")
    large = [b"x" * (3_000 if offset == 5 else 1) for offset in range(10)]
    files = write_files(tmp_path / "large", [records(range(10), value=large)])
    result = restore.attempt(files=files)
    assert "record at offset 5 of the source" in str(result.failure)
    assert result.position.next_offset == 5


def test_a_topic_that_was_re_created_gets_nothing(kafka: LocalKafka, tmp_path: Path) -> None:
    """The plan has the id of the deleted topic."""
    restore = Restore(kafka, tmp_path)
    result = restore.attempt(planned=replace(restore.planned, target_topic_id="AAAAAAAAAAAAAAAAAAAAAQ"))
    assert "re-created" in str(result.failure)
    assert restore.consumed() == []


def test_deleted_records_end_a_restore(kafka: LocalKafka, tmp_path: Path) -> None:
    """If written records are deleted before they are counted, their offsets are unknown."""
    restore = Restore(kafka, tmp_path)
    assert restore.attempt().failure is None
    with Cluster.connect(restore.kafka, CLOCK, RequestStats(), Deadline.after(CLOCK, 30_000)) as cluster:
        cluster.refresh({restore.topic}, Deadline.after(CLOCK, 30_000))
        assert not delete_records(cluster, {Partition(restore.topic, 0): 5}, Deadline.after(CLOCK, 30_000))
    assert "no longer has all records" in str(restore.attempt().failure)


def test_a_round_that_is_over_writes_nothing(kafka: LocalKafka, tmp_path: Path) -> None:
    """A task that waited too long for a core leaves its partitions to the next round."""
    restore = Restore(kafka, tmp_path)
    late = replace(CLOCK, now_ms=lambda: CLOCK.now_ms() + 120_000)
    settings = TaskSettings(
        kafka=restore.kafka,
        clock=late,
        plan=restore.plan,
        reading=ReadOptions(),
        memory_bytes=1 << 24,
        timeout_ms=20_000,
        ends_at_ms=CLOCK.now_ms(),
    )
    work = Work(planned=restore.planned, position=restore.position, files=restore.files)
    assert restore_partitions(settings, [work]) == [
        WorkResult(target=restore.planned.target, position=restore.position, ranges=[])
    ]
