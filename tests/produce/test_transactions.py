"""Our transactions, on real brokers of three releases and at each level of transaction.version."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.sending import Delivery, SendResult, send_batches
from kafka_lagoon.produce.sequences import SequenceNumbers
from kafka_lagoon.produce.transactions import (
    OffsetToCommit,
    Transaction,
    TransactionalProducer,
    abort,
    add_partitions,
    commit,
    commit_offsets,
    init_transactions,
    transaction_version,
)
from kafka_lagoon.records.encoding import TRANSACTIONAL, Record
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration.producers import consume, create

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
FENCED = r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
TIMEOUT_MS = 60_000


LEVEL_1 = pytest.param("kafka at level 1", marks=pytest.mark.proof)  # the same requests as at level 0


@pytest.fixture(scope="module", params=["kafka", LEVEL_1, "kafka at level 0", "kafka_392", "kafka_282"])
def release(request: pytest.FixtureRequest) -> Iterator[LocalKafka]:
    """Brokers of each release, the newest at each level of transaction.version."""
    fixture, _, level = request.param.partition(" at level ")
    kafka: LocalKafka = request.getfixturevalue(fixture)
    if level:
        _finalize(kafka, level)
    yield kafka
    if level:
        _finalize(kafka, "2")


def _finalize(kafka: LocalKafka, level: str) -> None:
    servers = ("--bootstrap-server", kafka.bootstrap_servers)
    change = "upgrade" if level == "2" else "downgrade"
    kafka.tool(FEATURES, *servers, change, "--feature", f"transaction.version={level}")


def soon() -> Deadline:
    return Deadline.after(CLOCK, 60_000)


@contextmanager
def connected(kafka: LocalKafka, topic: str) -> Iterator[Cluster]:
    """A client that knows the topic."""
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), soon()) as cluster:
        cluster.refresh([topic], soon())
        yield cluster


def write(cluster: Cluster, transaction: Transaction, topic: str, *values: bytes) -> SendResult:
    """Write each value to partition 0 in its own batch, as the first batches of the transaction."""
    partition = TopicPartition(topic, 0)
    assert not add_partitions(cluster, transaction, [partition], soon())
    sequences = SequenceNumbers(transaction.producer, TRANSACTIONAL)
    for value in values:
        batch = sequences.encode(partition, [Record(CLOCK.now_ms(), None, value)], 0)
        result = send_batches(cluster, {partition: batch}, Delivery(transaction=transaction), soon())
        sequences.advance(partition, 1)
    return result


def read(
    kafka: LocalKafka, topic: str, isolation_level: str = "read_committed", *, has_open_transactions: bool = False
) -> list[bytes | None]:
    """Return the records that librdkafka reads up to the end, without markers."""
    records = consume(kafka, {topic: 0}, isolation_level, has_open_transactions=has_open_transactions)
    return [one.value for one in records[topic]]


def committed(kafka: LocalKafka, group_id: str, topic: str) -> tuple[int, str]:
    """The committed offset of the group, as librdkafka's admin client describes it."""
    request = ConsumerGroupTopicPartitions(group_id, [Position(topic, 0)])
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    (partition,) = (
        client.list_consumer_group_offsets([request], require_stable=True)[group_id].result(30).topic_partitions
    )
    return partition.offset, partition.metadata[: len("run 0")]  # librdkafka reads beyond the end of the text


def test_committed_and_aborted(release: LocalKafka) -> None:
    """Consumers of committed records get only the committed transactions; the group has the offset of the last commit."""
    topic = f"txn-ends-{CLOCK.now_ms()}"
    create(release, topic)
    with connected(release, topic) as cluster:
        producer = TransactionalProducer(cluster, topic)
        epochs = []
        for number, is_committed in enumerate((True, False, True, True)):
            transaction = producer.begin(soon())
            epochs.append((transaction.producer_id, transaction.epoch))
            assert not write(cluster, transaction, topic, b"%d a" % number, b"%d b" % number).failures
            offsets = {TopicPartition(topic, 0): OffsetToCommit(committed_offset=number, metadata=f"run {number}")}
            assert not producer.commit_offsets(f"group-{topic}", offsets, soon())
            (producer.commit if is_committed else producer.abort)(soon())
        assert transaction.is_implicit == (transaction_version(cluster) == 2)
    assert len(set(epochs)) == 4
    assert read(release, topic) == [b"0 a", b"0 b", b"2 a", b"2 b", b"3 a", b"3 b"]
    assert len(read(release, topic, "read_uncommitted")) == 8
    assert committed(release, f"group-{topic}", topic) == (3, "run 3")


def test_another_process_ends_it(release: LocalKafka) -> None:
    """A transaction that was pickled is written and committed over other connections."""
    topic = f"txn-handed-{CLOCK.now_ms()}"
    create(release, topic)
    with connected(release, topic) as cluster:
        handed = pickle.dumps(init_transactions(cluster, topic, TIMEOUT_MS, soon()))
    with connected(release, topic) as cluster:
        assert not write(cluster, pickle.loads(handed), topic, b"v").failures  # noqa: S301  our own
        assert read(release, topic, has_open_transactions=True) == []
    with connected(release, topic) as cluster:
        commit(cluster, pickle.loads(handed), soon())  # noqa: S301
    assert read(release, topic) == [b"v"]


def test_whoever_comes_later_fences(release: LocalKafka) -> None:
    """Records of the first producer are aborted, and it can neither write, nor commit offsets, nor end the transaction.

    Nor can a producer go on whose last transaction was committed: it would not know what the other one has written since.
    """
    topic = f"txn-fenced-{CLOCK.now_ms()}"
    create(release, topic)
    with connected(release, topic) as cluster:
        first = init_transactions(cluster, topic, TIMEOUT_MS, soon())
        assert not write(cluster, first, topic, b"lost").failures
        second = init_transactions(cluster, topic, TIMEOUT_MS, soon())
        assert not write(cluster, second, topic, b"kept").failures
        refused = send_batches(
            cluster,
            {TopicPartition(topic, 0): _second_batch(first, topic)},
            Delivery(transaction=first),
            soon(),
        )
        (failure,) = refused.failures.values()
        assert failure.name in {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"}
        assert "another producer has taken the transactional id over" in (failure.message or "")
        offsets = {TopicPartition(topic, 0): OffsetToCommit(committed_offset=1)}
        with pytest.raises(TransactionFailed, match=FENCED):
            commit_offsets(cluster, first, "any", offsets, soon())
        with pytest.raises(TransactionFailed, match=FENCED):
            commit(cluster, first, soon())
        commit(cluster, second, soon())
        with pytest.raises(TransactionFailed, match=FENCED):
            init_transactions(cluster, topic, TIMEOUT_MS, soon(), first)
        series = TransactionalProducer(cluster, topic)
        assert not write(cluster, series.begin(soon()), topic, b"kept, too").failures
        series.commit(soon())
        init_transactions(cluster, topic, TIMEOUT_MS, soon())
        with pytest.raises(TransactionFailed, match=FENCED):
            _begin_and_commit(series)
    assert read(release, topic) == [b"kept", b"kept, too"]


def _begin_and_commit(series: TransactionalProducer) -> None:
    """Begin a transaction, which brokers see at its end where it begins without a request."""
    series.begin(soon())
    series.commit(soon())


def _second_batch(transaction: Transaction, topic: str) -> bytes:
    sequences, partition = SequenceNumbers(transaction.producer, TRANSACTIONAL), TopicPartition(topic, 0)
    sequences.advance(partition, 1)
    return sequences.encode(partition, [Record(CLOCK.now_ms(), None, b"late")], 0)


def test_the_same_end_twice(release: LocalKafka) -> None:
    """A commit whose answer was lost can be repeated, but not aborted. An empty transaction can be aborted."""
    topic = f"txn-twice-{CLOCK.now_ms()}"
    create(release, topic)
    with connected(release, topic) as cluster:
        empty = init_transactions(cluster, topic, TIMEOUT_MS, soon())
        abort(cluster, empty, soon())
        transaction = init_transactions(cluster, topic, TIMEOUT_MS, soon())
        assert not write(cluster, transaction, topic, b"v").failures
        following = commit(cluster, transaction, soon())
        assert commit(cluster, transaction, soon()) == following
        assert (following is None) != transaction.is_implicit
    assert read(release, topic) == [b"v"]


def test_bad_requests(kafka: LocalKafka) -> None:
    """A timeout that brokers do not accept, and a topic that does not exist, are named in the errors."""
    topic = f"txn-bad-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        with pytest.raises(TransactionFailed) as refused:
            init_transactions(cluster, topic, 24 * 3_600_000, soon())
        assert str(refused.value) == (
            f"InitProducerId for transaction {topic}: INVALID_TRANSACTION_TIMEOUT "
            f"(brokers accept at most their transaction.max.timeout.ms (its timeout is 86400000 ms))"
        )
        producer = TransactionalProducer(cluster, topic)
        with pytest.raises(RuntimeError):
            producer.commit(soon())
        producer.begin(soon())
        with pytest.raises(RuntimeError):
            producer.begin(soon())
