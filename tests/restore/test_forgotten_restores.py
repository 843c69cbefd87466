"""A restore with transactions that brokers may have forgotten is refused, however often it is started again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import TargetChanged
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS, DescribedTransaction
from kafka_lagoon.restore import tasks
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.tasks import TaskSettings, Work
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.batches import TRANSACTIONAL, batch, marker
from tests.fake.cluster import FakeCluster, FakeGroup, FakeTransaction
from tests.restore.lake import wanted

TARGET = TopicPartition("orders", 0)
DAY_MS = 86_400_000
PLAN = RestorePlan(
    restore_id="1",
    request={},
    source_cluster="old",
    source_cluster_id="old",
    target_cluster="new",
    target_cluster_id="new",
    codec=0,
    producer_id=1,
    producer_epoch=0,
    planned_at_ms=0,
    snapshot_id=None,
    partitions=(),
    is_transactional=True,
)
NAME = PLAN.transactional_id(TARGET)


class BeganError(Exception):
    """A transaction began."""


class Producer:
    """A producer whose transactions are not needed: it is enough to know that they begin."""

    begun: Any = None

    def __init__(self, *_: Any) -> None:
        pass

    def begin(self, _: Any) -> Any:
        """Begin the transaction of a test, or raise."""
        if self.begun is None:
            raise BeganError
        return self.begun


@pytest.fixture(autouse=True)
def producer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an attempt end where it would begin a transaction."""
    monkeypatch.setattr(tasks, "TransactionalProducer", Producer)


@pytest.fixture
def cluster(state: FakeCluster, connect: Callable[[], Cluster]) -> Cluster:
    """A cluster with a partition that has two records of a transaction."""
    return connected(state, connect)


def connected(state: FakeCluster, connect: Callable[[], Cluster]) -> Cluster:
    log = state.add_topic("orders", 1, end=0).partitions[0]
    log.append(batch(0, [b"a", b"b"], producer_id=7, attributes=TRANSACTIONAL), marker(2, 7, commit=True))
    state.groups = {name: FakeGroup(coordinator_id=1) for name in (NAME, PLAN.group_id)}
    cluster = connect()
    cluster.refresh({"orders"}, tasks.Deadline.after(CLOCK, 5_000))
    return cluster


def attempt(cluster: Cluster, *, age_ms: int = 2 * DAY_MS, from_offset: int = 0) -> None:
    """Write a partition of which no record was counted, `age_ms` after the plan was made."""
    settings = TaskSettings(
        kafka=KafkaSettings(bootstrap_servers="unused:9092"),
        clock=CLOCK,
        plan=replace(PLAN, planned_at_ms=CLOCK.now_ms() - age_ms),
        reading=ReadOptions(),
        memory_bytes=1 << 20,
        timeout_ms=5_000,
        ends_at_ms=CLOCK.now_ms() + 60_000,
    )
    planned = PlannedPartition(source=wanted(0, 2), target=TARGET, target_topic_id=None, base_offset=from_offset)
    work = Work(planned=planned, position=Position(next_offset=0, target_offset=from_offset), files=())
    task = tasks._Task(cluster, settings, [TARGET])
    tasks._go_on(task, tasks._Written(work))


def test_a_forgotten_restore_stays_refused(cluster: Cluster) -> None:
    """No transaction begins: it would make the id known, and the next attempt would write the records once more."""
    for _ in range(2):
        with pytest.raises(TargetChanged, match="2 records of transactions since the restore was planned"):
            attempt(cluster)


def test_a_restore_that_brokers_remember_goes_on(state: FakeCluster, cluster: Cluster) -> None:
    """So does a young one, and one whose target has no records of transactions."""
    with pytest.raises(BeganError):
        attempt(cluster, age_ms=DAY_MS // 2)
    with pytest.raises(BeganError):
        attempt(cluster, from_offset=3)
    described = DescribedTransaction(
        error_code=0,
        transactional_id=NAME,
        transaction_state="Empty",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=-1,
        producer_id=7,
        producer_epoch=1,
        topics=(),
    )
    state.transactions[NAME] = FakeTransaction(coordinator_id=1, described=described)
    with pytest.raises(BeganError):
        attempt(cluster)


def test_old_brokers_do_not_say_what_they_remember(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Kafka 3.0 a transaction begins, so its epoch says nothing: records that may be those of the restore decide."""
    state.missing = {node: {DESCRIBE_TRANSACTIONS.key} for node in (1, 2, 3)}
    cluster = connected(state, connect)
    for epoch in (0, 1):
        begun = Transaction(transactional_id=NAME, producer_id=8, epoch=epoch, timeout_ms=60_000, is_implicit=False)
        monkeypatch.setattr(Producer, "begun", begun)
        attempt(cluster, age_ms=DAY_MS // 2)
        with pytest.raises(TargetChanged, match="2 records of transactions since the restore was planned"):
            attempt(cluster)
