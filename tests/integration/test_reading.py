"""Splits that are read from real brokers, against librdkafka's consumer and the produced records."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from crc32c import crc32c

from kafka_lagoon.admin.epoch_ends import epoch_ends
from kafka_lagoon.admin.log_dirs import replica_sizes
from kafka_lagoon.admin.offsets import (
    HIGH_WATERMARK,
    LAST_STABLE,
    LOG_START,
    list_offsets,
    offsets_at,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED, ReadOptions, Split, SplitOutcome
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.layout import BASE_OFFSET, LAST_OFFSET, POSITION
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition as At
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.integration.producers import folder
from tests.integration.state import create_topics, delete_topics
from tests.librdkafka import messages, wait_until_stable

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SMALL = ReadOptions(fetch_bytes=20_000)


def soon(seconds: int = 60) -> Deadline:
    return Deadline.after(CLOCK, seconds * 1000)


def create(kafka: LocalKafka, topic: str, *, replicas: int, config: dict[str, str] | None = None) -> None:
    made = NewTopic(topic, num_partitions=1, replication_factor=replicas, config=config or {})
    create_topics(kafka.bootstrap_servers, [made])


def produce(kafka: LocalKafka, topic: str, values: Sequence[bytes], **config: str | int) -> None:
    """Write records, each once and in order, even if a batch is sent again."""
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "batch.num.messages": 100, "enable.idempotence": True, **config}
    )
    errors = []
    for value in values:
        producer.produce(
            topic, value, key=b"k" + value[:8], partition=0, on_delivery=lambda error, _: errors.append(error)
        )
    assert producer.flush(60) == 0
    assert set(errors) == {None}


def transactions(kafka: LocalKafka, topic: str, several: Sequence[tuple[Sequence[bytes], bool]]) -> None:
    """Write transactions one after the other, each with its values, committed or aborted."""
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"tx-{topic}", "batch.num.messages": 100}
    )
    producer.init_transactions(60)
    for values, commit in several:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush(60)
        (producer.commit_transaction if commit else producer.abort_transaction)(60)
    wait_until_stable(kafka.bootstrap_servers, [topic])


def consumed(kafka: LocalKafka, topic: str, isolation_level: str = READ_COMMITTED) -> dict[int, bytes | None]:
    """Return the records that librdkafka's consumer reads of the partition."""
    read = messages(kafka.bootstrap_servers, [TopicPartition(topic, 0, 0)], isolation_level)
    return {message.offset() or 0: message.value() for message in read}


@pytest.fixture
def connect() -> Iterator[Callable[[LocalKafka], Cluster]]:
    """Connects to a cluster, and closes the connection after the test."""
    opened = []

    def connected(kafka: LocalKafka, **more: str) -> Cluster:
        settings = checked({"bootstrap_servers": kafka.bootstrap_servers, **more})
        opened.append(Cluster.connect(settings, CLOCK, RequestStats(), soon()))
        return opened[-1]

    yield connected
    for cluster in opened:
        cluster.close()


def plan(cluster: Cluster, topic: str, isolation_level: str = READ_COMMITTED) -> Split:
    """Plan all offsets of the partition."""
    (described,) = cluster.refresh({topic}, soon()).topics
    partition = At(topic, 0)
    answers = list_offsets(cluster, [partition], [LOG_START, HIGH_WATERMARK, LAST_STABLE], soon())
    start, high, stable = (one.answers[partition].offset for one in answers.values())
    return Split(
        topic=topic,
        topic_id=uuid_text(described.topic_id),
        partition=0,
        from_offset=start,
        to_offset=stable if isolation_level == READ_COMMITTED else high,
        stable_end=stable,
    )


def read(
    cluster: Cluster, split: Split, options: ReadOptions = SMALL, between: Callable[[], None] = lambda: None
) -> tuple[dict[int, bytes | None], SplitOutcome]:
    """Read values by offset; `between` is called after the first Arrow batch."""
    reader = SplitReader(cluster, split, options)
    values: dict[int, bytes | None] = {}
    for number, rows in enumerate(reader.batches()):
        values |= dict(zip(rows["offset"].to_pylist(), rows["value"].to_pylist(), strict=True))
        if number == 0:
            between()
    outcome = reader.outcome
    assert outcome.counts.offsets() == outcome.next_offset - split.from_offset
    assert outcome.counts.records == len(values)
    return values, outcome


@pytest.fixture(params=["kafka", "kafka_392"])
def each_release(request: pytest.FixtureRequest) -> LocalKafka:
    """Yields both releases."""
    kafka: LocalKafka = request.getfixturevalue(request.param)
    return kafka


def test_every_codec(each_release: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """A producer's records in all codecs are read, by id and by name."""
    create(each_release, "reading-codecs", replicas=1)
    for codec in CODECS:
        values = [f"{codec}-{number:05}-{'x' * 80}".encode() for number in range(2_000)]
        produce(each_release, "reading-codecs", values, **{"compression.type": codec})
    cluster = connect(each_release)
    split = plan(cluster, "reading-codecs")
    expected = consumed(each_release, "reading-codecs")
    values, outcome = read(cluster, split)
    assert values == expected
    assert list(values) == sorted(values)
    assert len(values) == 10_000
    assert (outcome.failure, outcome.counts.codecs) == (None, set(CODECS))
    by_name = Split(topic=split.topic, topic_id=None, partition=0, from_offset=0, to_offset=10_000, stable_end=10_000)
    assert read(cluster, by_name, ReadOptions())[0] == expected


def test_transactions(each_release: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """Committed records as librdkafka reads them; or all records, with aborted ones marked."""
    create(each_release, "reading-tx", replicas=1)
    several = [[f"{number}-{record}-{'y' * 200}".encode() for record in range(300)] for number in range(6)]
    transactions(each_release, "reading-tx", [(values, number % 3 != 1) for number, values in enumerate(several)])
    produce(each_release, "reading-tx", [b"plain"] * 10)
    cluster = connect(each_release)
    values, outcome = read(cluster, plan(cluster, "reading-tx"))
    assert values == consumed(each_release, "reading-tx")
    assert (outcome.counts.aborted, outcome.counts.control, outcome.failure) == (600, 6, None)
    reader = SplitReader(
        cluster, plan(cluster, "reading-tx"), ReadOptions(isolation_level=READ_UNCOMMITTED, fetch_bytes=20_000)
    )
    marked: dict[int, bool | None] = {}
    for rows in reader.batches():
        marked |= dict(zip(rows["offset"].to_pylist(), rows["is_aborted"].to_pylist(), strict=True))
    assert set(marked) == set(consumed(each_release, "reading-tx", READ_UNCOMMITTED))
    assert {offset for offset, is_aborted in marked.items() if not is_aborted} == set(values)


def test_a_batch_beyond_the_limit(kafka: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """A record of 3 MB is returned whole, though 1 kB was requested."""
    create(kafka, "reading-large", replicas=1, config={"max.message.bytes": "4000000"})
    produce(kafka, "reading-large", [b"a", bytes(3_000_000), b"b"], **{"message.max.bytes": 4_000_000})
    cluster = connect(kafka)
    values, outcome = read(cluster, plan(cluster, "reading-large"), ReadOptions(fetch_bytes=1_000))
    assert [len(value or b"") for value in values.values()] == [1, 3_000_000, 1]
    assert outcome.failure is None


def test_records_deleted_after_planning(kafka: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """Records that DeleteRecords removes, also within a batch, are counted as lost, before and during reading."""
    create(kafka, "reading-deleted", replicas=1)
    produce(kafka, "reading-deleted", [b"%05d" % number + bytes(100) for number in range(3_000)])
    cluster = connect(kafka)
    split = plan(cluster, "reading-deleted")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})

    def delete(offset: int) -> None:
        for future in admin.delete_records([TopicPartition("reading-deleted", 0, offset)]).values():
            future.result(30)

    delete(5)
    values, outcome = read(cluster, split, between=lambda: delete(2_001))
    assert outcome.failure is None
    assert min(values) == 5
    assert set(range(2_001, 3_000)) <= set(values)
    assert outcome.counts.lost == 3_000 - len(values) > 5


def test_a_re_created_topic(kafka: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """The old split fails with that reason, and reads nothing of the new topic."""
    create(kafka, "reading-re-created", replicas=1)
    produce(kafka, "reading-re-created", [b"old"] * 10)
    cluster = connect(kafka)
    split = plan(cluster, "reading-re-created")
    delete_topics(kafka.bootstrap_servers, ["reading-re-created"])
    values, outcome = read(cluster, split)
    assert (values, outcome.failure) == ({}, "TOPIC_DELETED")
    create(kafka, "reading-re-created", replicas=1)
    produce(kafka, "reading-re-created", [b"new"] * 10)
    values, outcome = read(cluster, split)
    assert (values, outcome.failure) == ({}, "TOPIC_RECREATED")


@pytest.mark.proof
def test_the_leader_stops(kafka: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """While a partition is read its leader stops: a new leader answers, and nothing is missing or doubled."""
    create(kafka, "reading-moved", replicas=3)
    produce(kafka, "reading-moved", [b"%05d" % number + bytes(100) for number in range(5_000)])
    cluster = connect(kafka)
    split = plan(cluster, "reading-moved")
    leader = cluster.leader_of(At("reading-moved", 0))
    assert leader is not None
    try:
        values, outcome = read(cluster, split, between=lambda: kafka.stop(leader))
    finally:
        kafka.start(leader)
    assert outcome.failure is None
    assert list(values) == list(range(5_000))
    assert cluster.leader_of(At("reading-moved", 0)) != leader


def test_the_replica_in_our_rack(kafka: LocalKafka, connect: Callable[..., Cluster]) -> None:
    """With a rack, the replica there returns all records, except that the leader names it; they equal the leader's."""
    create(kafka, "reading-near", replicas=3)
    produce(kafka, "reading-near", [b"%d" % number for number in range(5_000)])
    leader = connect(kafka)
    split = plan(leader, "reading-near")
    leader_id = leader.leader_of(At("reading-near", 0))
    rack_of = dict(zip(kafka.node_ids, "abc", strict=True))
    near_id = next(node_id for node_id in kafka.node_ids if node_id != leader_id)
    near = connect(kafka, client_rack=rack_of[near_id])
    near.refresh({"reading-near"}, soon())
    values, outcome = read(near, split)
    assert (outcome.failure, values) == (None, read(leader, split)[0])
    fetched = {
        node_id: one.answer_bytes for (api, node_id), one in near.request_stats.by_api.items() if api == FETCH.name
    }
    assert fetched.keys() == {leader_id, near_id}
    assert fetched[leader_id] < 1_000


def test_requests_about_logs(each_release: LocalKafka, connect: Callable[[LocalKafka], Cluster]) -> None:
    """Times, ends of leader epochs and sizes are requested of their leaders."""
    create(each_release, "reading-asked", replicas=1, config={"retention.ms": "-1"})  # the records have times of 2023
    producer = Producer({"bootstrap.servers": each_release.bootstrap_servers, "enable.idempotence": True})
    for number in range(100):
        producer.produce("reading-asked", bytes(100), partition=0, timestamp=1_700_000_000_000 + number)
    producer.flush(60)
    cluster, partition = connect(each_release), At("reading-asked", 0)
    plan(cluster, "reading-asked")
    assert offsets_at(cluster, {partition: 1_700_000_000_040}, soon()).answers[partition].offset == 40
    assert offsets_at(cluster, {partition: 1_800_000_000_000}, soon()).answers[partition].offset == -1
    known = epoch_ends(cluster, {partition: 0}, soon()).answers[partition]
    assert (known.leader_epoch, known.end_offset) == (0, 100)
    unknown = epoch_ends(cluster, {partition: 7}, soon()).answers[partition]
    assert (unknown.leader_epoch, unknown.end_offset) == (-1, -1)
    assert 10_000 < replica_sizes(cluster, [partition], soon()).answers[partition] < 30_000


@pytest.mark.parametrize("fetch_bytes", [5_000, 8 << 20], ids=["small", "large"])
@pytest.mark.parametrize("lie", [1, 250, 1 << 20])
def test_a_last_offset_changed_on_disk(
    kafka: LocalKafka, connect: Callable[[LocalKafka], Cluster], lie: int, fetch_bytes: int
) -> None:
    """A batch with a wrong last offset and a valid checksum is one problem; all others are read."""
    topic = f"lying-{lie}-{fetch_bytes}"
    create(kafka, topic, replicas=1)
    produce(kafka, topic, [b"%05d" % number + bytes(20) for number in range(1_000)], **{"linger.ms": 50})
    (log,) = folder(kafka, topic).glob("*.log")
    raw = bytearray(log.read_bytes())
    table = find_batches(bytes(raw)).table
    position, base, last = (int(table[len(table) // 2, column]) for column in (POSITION, BASE_OFFSET, LAST_OFFSET))
    raw[position + 23 : position + 27] = (last - base + lie).to_bytes(4, "big")
    size = 12 + int.from_bytes(raw[position + 8 : position + 12], "big")
    raw[position + 17 : position + 21] = crc32c(bytes(raw[position + 21 : position + size])).to_bytes(4, "big")
    with log.open("r+b") as file:
        file.write(raw)
    values, outcome = read(connect(kafka), plan(connect(kafka), topic), ReadOptions(fetch_bytes=fetch_bytes))
    assert sorted(values) == [offset for offset in range(1_000) if not base <= offset <= last]
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(base, last)]
    assert (outcome.failure, outcome.counts.compacted) == (None, 0)
