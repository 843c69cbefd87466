"""Copies that librdkafka makes on real brokers, with deliberate faults: each is found at its offsets, and no others.

Groups whose offsets are translated to a copy read on there at the record that they had not read.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.outcomes import Outcome
from kafka_lagoon.apply.recording import NoRecorder, Run
from kafka_lagoon.cli.main import main
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.restore.group_offsets import RestoredPartition, SavedCommit, offset_actions, translated
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap, joined
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition as Partition
from tests.clock import CLOCK
from tests.integration.state import create_topics, delete_topics
from tests.jobs.commands import here
from tests.librdkafka import messages

pytestmark = pytest.mark.timeout(300)
SOURCE, COPY, WIDE = "compare-source", "compare-copy", "compare-wide"
RECORDS, GROUPS = 2_000, 20
KEPT = {"retention.ms": "-1"}  # the records have times of 2023


class Copied(NamedTuple):
    """A record of the source, as a consumer reads it."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@pytest.fixture(scope="module")
def source(kafka: LocalKafka) -> Iterator[list[list[Copied]]]:
    """A topic of two partitions: plain records, and transactions with aborted ones."""
    servers = kafka.bootstrap_servers
    create_topics(servers, [NewTopic(SOURCE, 2, 1, config=KEPT)])
    _fill(servers)
    yield _read(servers, SOURCE, 2)
    delete_topics(servers, [SOURCE])


def _fill(servers: str) -> None:
    plain = Producer({"bootstrap.servers": servers, "compression.type": "zstd", "linger.ms": 5})
    for number in range(RECORDS):
        key = None if number % 7 == 0 else b"k%d" % number
        value = None if number % 11 == 0 else b"value %d" % number
        headers: list[tuple[str, Any]] = [("n", b"%d" % number), ("n", None)] if number % 3 == 0 else []
        plain.produce(SOURCE, value, key, partition=0, timestamp=1_700_000_000_000 + number, headers=headers)
    assert plain.flush(30) == 0
    sender = Producer({"bootstrap.servers": servers, "transactional.id": "compare-sender", "linger.ms": 5})
    sender.init_transactions(30)
    for batch in range(20):
        sender.begin_transaction()
        for number in range(50):
            sender.produce(SOURCE, b"%d of %d" % (number, batch), b"same key", partition=1, timestamp=1_700_000_000_000)
        sender.flush(30)
        (sender.abort_transaction if batch % 5 == 2 else sender.commit_transaction)(30)


def _read(servers: str, topic: str, partitions: int) -> list[list[Copied]]:
    """Read all records of each partition, with librdkafka."""
    records: list[list[Copied]] = [[] for _ in range(partitions)]
    for message in messages(servers, [TopicPartition(topic, number, 0) for number in range(partitions)]):
        records[message.partition() or 0].append(_copied(message))
    return records


def _copied(message: Message) -> Copied:
    headers: Any = message.headers() or ()
    return Copied(
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple((name, value) for name, value in headers),
    )


def _write(
    servers: str, topic: str, parts: Sequence[Sequence[Copied]], partition_of: Callable[[Copied], int]
) -> list[list[int]]:
    """Write records in their order; return their offsets, from delivery reports."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "compression.type": "lz4"})
    offsets: list[list[int]] = [[] for _ in parts]

    def report(number: int) -> Callable[[Any, Message], None]:
        def delivered(error: Any, message: Message) -> None:
            assert error is None
            offsets[number].append(message.offset() or 0)

        return delivered

    for number, records in enumerate(parts):
        for record in records:
            headers: Any = list(record.headers)
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=partition_of(record),
                timestamp=record.timestamp_ms,
                headers=headers,
                on_delivery=report(number),
            )
            producer.poll(0)
    assert producer.flush(30) == 0
    return offsets


class Answer(NamedTuple):
    """The output of `lagoon compare --json`."""

    code: int
    differences: list[dict[str, Any]]
    summary: dict[str, Any]


@pytest.fixture
def compare(kafka: LocalKafka, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs the command with two clusters of the settings, which are the same cluster."""

    def run(left: str, right: str, *more: str, archive: bool = False) -> Answer:
        settings = [f"clusters.{name}.bootstrap_servers={kafka.bootstrap_servers}" for name in ("a", "b")]
        assigned = [part for setting in settings for part in ("--set", setting)]
        code = main(["compare", f"{'records@' if archive else ''}a:{left}", f"b:{right}", "--json", *assigned, *more])
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return Answer(code, [line for line in lines if line["kind"] == "difference"], lines[-1])

    return run


def test_faults_of_a_copy(kafka: LocalKafka, source: list[list[Copied]], compare: Callable[..., Answer]) -> None:
    """Missing, doubled, altered, swapped and added records are found, and no others, with the offsets of both sides."""
    servers, (plain, sent) = kafka.bootstrap_servers, source
    altered = plain[700]._replace(value=b"altered")
    first = [*plain[:100], *plain[150:310], *plain[300:700], altered, *plain[701:]]
    first[1_500], first[1_501] = first[1_501], first[1_500]
    added = Copied(1, 0, 1, b"added", b"added", ())
    second = [*sent[:400], added, *sent[400:-3]]
    create_topics(servers, [NewTopic(COPY, 2, 1, config=KEPT)])
    parts = [[record._replace(partition=number) for record in part] for number, part in enumerate((first, second))]
    _write(servers, COPY, parts, lambda record: record.partition)
    answer = compare(SOURCE, COPY)
    assert answer.code == 3
    swapped = plain.index(first[1_501])
    assert [
        (
            line["partition"],
            line["what"],
            line["records"],
            line["left_first"],
            line["left_last"],
            line["right_first"],
            line["right_last"],
        )
        for line in answer.differences
    ] == [
        (0, "missing", 50, 100, 149, 100, None),
        (0, "doubled_right", 10, 310, None, 260, 269),
        (0, "altered", 1, 700, 700, 660, 660),
        (0, "reordered", 1, swapped, swapped, 1_501, 1_501),
        (1, "extra", 1, sent[399].offset + 1, None, 400, 400),
        (1, "missing", 3, sent[-3].offset, sent[-1].offset, len(second), None),
    ]
    assert answer.summary["left_records"] == len(plain) + len(sent)
    assert not answer.summary["is_equal"]
    delete_topics(servers, [COPY])


def test_a_copy_without_faults(kafka: LocalKafka, source: list[list[Copied]], compare: Callable[..., Answer]) -> None:
    """It is equal in order, in spite of gaps of transactions, and as a whole to a topic with more partitions."""
    servers = kafka.bootstrap_servers
    create_topics(servers, [NewTopic(COPY, 2, 1, config=KEPT), NewTopic(WIDE, 5, 1, config=KEPT)])
    _write(servers, COPY, source, lambda record: record.partition)
    _write(servers, WIDE, source, lambda record: record.offset % 5)
    for topic, in_order in ((COPY, True), (WIDE, False)):
        answer = compare(SOURCE, topic)
        assert (answer.code, answer.differences, answer.summary["is_equal"]) == (0, [], True)
        assert answer.summary["in_order"] == in_order
        assert answer.summary["left_records"] == answer.summary["right_records"] == sum(map(len, source))
    delete_topics(servers, [COPY, WIDE])


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_an_archive_of_a_topic(
    kafka: LocalKafka, source: list[list[Copied]], compare: Callable[..., Answer], new_lake: Path, tmp_path: Path
) -> None:
    """Archived records equal the brokers' by offset: null and empty, headers, gaps of transactions."""
    lake = shutil.copytree(new_lake, tmp_path / "lake")
    cluster = f"clusters.a.bootstrap_servers={kafka.bootstrap_servers}"
    done = here("ingest", "--topics", SOURCE, "--warehouse", str(lake), "--set", cluster)
    assert done.returncode == 0, done.stderr
    answer = compare(SOURCE, SOURCE, "--warehouse", str(lake), archive=True)
    assert (answer.code, answer.differences, answer.summary["notes"]) == (0, [], [])
    assert answer.summary["left"] == f"records@a:{SOURCE}"
    assert answer.summary["left_records"] == answer.summary["right_records"] == sum(map(len, source))


@pytest.mark.proof
def test_groups_read_on_in_a_copy(kafka: LocalKafka, source: list[list[Copied]]) -> None:
    """After any commit, also within an aborted transaction, the next record is the first unread one."""
    servers, topic = kafka.bootstrap_servers, "compare-groups"
    create_topics(servers, [NewTopic(topic, 2, 1, config=KEPT)])
    offsets = _write(servers, topic, source, lambda record: record.partition)
    restored = {
        Partition(SOURCE, number): RestoredPartition(
            topic_id=None, target=Partition(topic, number), offset_map=_map_of(source[number], offsets[number])
        )
        for number in (0, 1)
    }
    saved = [
        _saved(f"compare-group-{group}", number, source[number], group) for group in range(GROUPS) for number in (0, 1)
    ]
    commits, failed = translated(saved, restored)
    assert (len(commits), failed) == (2 * GROUPS, [])
    settings = KafkaSettings(bootstrap_servers=servers)
    deadline = Deadline.after(CLOCK, 60_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        actions, failures = offset_actions(cluster, commits, deadline)
        assert (len(actions), failures) == (2 * GROUPS, [])
        plan = make_plan("b", cluster.cluster_id or "", actions)
        execution = execute(cluster, plan, (), Run.new("restore", settings, CLOCK.now_ms()), NoRecorder(), deadline)
        assert execution.count(Outcome.DONE) == 2 * GROUPS
        assert offset_actions(cluster, commits, deadline) == ([], [])
    for commit in saved:
        expected = next(
            (record for record in source[commit.partition] if record.offset >= (commit.committed_offset or 0)), None
        )
        assert _next_of(servers, commit.group_id, topic, commit.partition) == (expected[2:] if expected else None)
    delete_topics(servers, [topic])


def _map_of(records: Sequence[Copied], offsets: Sequence[int]) -> PartitionMap:
    ranges = joined(OffsetRange(record.offset, offset, 1) for record, offset in zip(records, offsets, strict=True))
    return PartitionMap(ranges=ranges, source_end=records[-1].offset + 2, target_start=0)


def _saved(group_id: str, partition: int, records: Sequence[Copied], number: int) -> SavedCommit:
    """Return commits over the whole log, the last one at its end."""
    end = records[-1].offset + 1
    return SavedCommit(
        group_id=group_id,
        topic=SOURCE,
        topic_id=None,
        partition=partition,
        committed_offset=end * number // (GROUPS - 1),
        metadata="restored",
        problem=None,
    )


def _next_of(servers: str, group_id: str, topic: str, partition: int) -> tuple[Any, ...] | None:
    """Return the next record of the group's consumer, without partition and offset; None at the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group_id,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    (stored,) = consumer.committed([TopicPartition(topic, partition)], timeout=60)
    assert stored.error is None
    consumer.assign([stored])
    message = consumer.poll(60)
    assert message is not None
    error = message.error()
    assert error is None or error.code() == KafkaError._PARTITION_EOF, error
    consumer.close()
    return None if error else _copied(message)[2:]
