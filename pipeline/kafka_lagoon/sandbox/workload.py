"""Fills a cluster with topics of many shapes, records, and consumer groups in every state of a group's life.

The cluster looks the same after every run: a step ends when the brokers show its result, not after a pause. The clients are
librdkafka's, for the demo and the tests only.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from kafka_lagoon.errors import SandboxFailed
from kafka_lagoon.frozen import frozen
from kafka_lagoon.sandbox.members import Member, client, consumer

_TIMEOUT_S = 60
_POLL_S = 0.05


@frozen
class Topic:
    """A topic, and how many records it gets at first and `later`."""

    name: str
    partitions: int
    records: int
    later: int = 0
    replicas: int = 3
    config: Mapping[str, str] = field(default_factory=dict)


@frozen
class Committed:
    """Commit offsets of a group: `share` of the records of each partition of a topic.

    If `joined`, a member committed and left; else the offsets come from a client that never joined the group.
    """

    group_id: str
    topic: str
    share: float
    joined: bool = True


@frozen
class Live:
    """A group whose members stay. They read and commit everything, or nothing at all."""

    group_id: str
    topics: tuple[str, ...]
    members: int = 1
    protocol: str = "classic"
    reads: bool = True


TOPICS = (
    Topic(name="orders", partitions=6, records=12_000, later=3_000),
    Topic(name="payments", partitions=3, records=6_000, later=1_500),
    Topic(name="clicks", partitions=12, records=30_000, later=9_000),
    Topic(name="shipments", partitions=4, records=4_000, later=800),
    Topic(name="emails", partitions=3, records=900),
    Topic(name="returns", partitions=2, records=400, later=100),
    Topic(name="metrics", partitions=2, records=5_000, later=2_000, replicas=2),
    Topic(name="customers", partitions=3, records=2_000, config={"cleanup.policy": "compact"}),
    Topic(name="sessions", partitions=2, records=1_000, later=200, config={"cleanup.policy": "compact,delete"}),
    Topic(name="invoices", partitions=2, records=0),
    Topic(name="audit", partitions=1, records=3_000, later=500, replicas=1),
    Topic(name="dead-letters", partitions=1, records=7),
)

COMMITTED = (
    Committed(group_id="analytics", topic="orders", share=0.4),
    Committed(group_id="newsletter", topic="emails", share=1.0),
    Committed(group_id="shipping", topic="shipments", share=0.75),
    Committed(group_id="metrics-archive", topic="metrics", share=0.1),
    Committed(group_id="audit-export", topic="audit", share=0.5, joined=False),
    Committed(group_id="bookkeeping", topic="payments", share=0.6),
    Committed(group_id="recommendations", topic="clicks", share=0.9, joined=False),
)

LIVE = (
    Live(group_id="billing", topics=("orders", "payments"), members=2),
    Live(group_id="fraud-check", topics=("orders", "payments"), protocol="consumer"),
    Live(group_id="bookkeeping", topics=("payments",), reads=False),
    Live(group_id="recommendations", topics=("clicks",), members=2, protocol="consumer", reads=False),
    Live(group_id="dashboard", topics=("returns",), reads=False),
    Live(group_id="invoice-printer", topics=("invoices",)),
)

RETURNING = Live(group_id="analytics", topics=("orders",))  # joins between the two snapshots and catches up
ABORTED, ABORTED_RECORDS = "returns", 40  # written in a transaction that is aborted
# This share of it is deleted, including records that metrics-archive had not read.
EXPIRED, EXPIRED_SHARE = ("metrics", 0.5)


class Workload:
    """The load on one cluster while the context lasts; the members live in threads of this process."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._admin = AdminClient(client(bootstrap_servers))
        self._members: list[Member] = []
        self._live: list[Live] = []

    def __enter__(self) -> Self:
        try:
            self._create_topics()
            self._produce({topic.name: topic.records for topic in TOPICS})
            for committed in COMMITTED:
                self._commit_and_leave(committed)
            for group in LIVE:
                self._join(group)
            self._delete_records(EXPIRED, EXPIRED_SHARE)
            self._wait_until_caught_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let every member leave its group."""
        for member in self._members:
            member.leave()
        for member in self._members:
            member.join()
        self._members.clear()

    def more_load(self) -> None:
        """Produce more records and start members of group `analytics`; return when the groups that read have caught up."""
        self._produce({topic.name: topic.later for topic in TOPICS})
        self._produce_aborted(ABORTED, ABORTED_RECORDS)
        self._join(RETURNING)
        self._wait_until_caught_up()

    def _create_topics(self) -> None:
        topics = [NewTopic(topic.name, topic.partitions, topic.replicas, config=dict(topic.config)) for topic in TOPICS]
        for future in self._admin.create_topics(topics, operation_timeout=_TIMEOUT_S).values():
            future.result(_TIMEOUT_S)

    def _produce(self, records: Mapping[str, int]) -> None:
        """Records with a few hundred different keys: they spread over partitions, and compaction finds something."""
        failed: list[str] = []
        producer = Producer(
            {
                **client(self._servers),
                "queue.buffering.max.messages": 1_000_000,
                "linger.ms": 20,
                "delivery.report.only.error": True,
                "on_delivery": lambda error, _: failed.append(str(error)),
            }
        )
        for topic, count in records.items():
            for number in range(count):
                producer.produce(topic, key=f"{topic}-{number % 500}", value=f'{{"number": {number}, "of": "{topic}"}}')
            producer.poll(0)
        if producer.flush(_TIMEOUT_S) or failed:
            raise SandboxFailed(f"the brokers did not take every record: {failed[:1] or 'no answer in time'}")

    def _produce_aborted(self, topic: str, records: int) -> None:
        """Records in a transaction that is aborted."""
        producer = Producer({**client(self._servers), "transactional.id": f"{topic}-in-vain"})
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        for number in range(records):
            producer.produce(topic, key=f"{topic}-{number}", value=f'{{"number": {number}, "of": "nothing"}}')
        producer.flush(_TIMEOUT_S)
        producer.abort_transaction(_TIMEOUT_S)

    def _join(self, group: Live) -> None:
        for number in range(1, group.members + 1):
            own = consumer(self._servers, group.group_id, f"{group.group_id}-{number}", group.protocol)
            self._members.append(Member(own, group.topics, reads=group.reads))
            self._members[-1].start()
        self._live.append(group)

    def _wait_until_caught_up(self) -> None:
        """Wait until every member has partitions, and those that read have nothing left to read."""
        for member in self._members:
            if not member.has_partitions.wait(_TIMEOUT_S):
                raise SandboxFailed(f"a member of a group got no partitions in {_TIMEOUT_S} s")
        for group in self._live:
            if group.reads:
                _wait(f"group {group.group_id} to catch up", partial(self._has_caught_up, group))

    def _has_caught_up(self, group: Live) -> bool:
        futures = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.group_id)])
        commits = next(iter(futures.values())).result(_TIMEOUT_S).topic_partitions
        committed = {(commit.topic, commit.partition): commit.offset for commit in commits}
        ends = [end for topic in group.topics for end in self._ends(topic)]
        return all(committed.get((end.topic, end.partition), 0) == end.offset for end in ends)

    def _commit_and_leave(self, group: Committed) -> None:
        shares = _shares(self._ends(group.topic), group.share)
        own = consumer(self._servers, group.group_id, group.group_id)
        try:
            if group.joined:
                own.subscribe([group.topic])
                _wait(f"group {group.group_id} to join", partial(_has_partitions, own))
            own.commit(offsets=shares, asynchronous=False)
        finally:
            own.close()

    def _delete_records(self, topic: str, share: float) -> None:
        for future in self._admin.delete_records(_shares(self._ends(topic), share)).values():
            future.result(_TIMEOUT_S)

    def _ends(self, topic: str) -> list[TopicPartition]:
        count = next(known.partitions for known in TOPICS if known.name == topic)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        futures = self._admin.list_offsets({TopicPartition(topic, index): latest for index in range(count)})
        return [
            TopicPartition(partition.topic, partition.partition, future.result(_TIMEOUT_S).offset)
            for partition, future in futures.items()
        ]


def _shares(ends: Iterable[TopicPartition], share: float) -> list[TopicPartition]:
    return [TopicPartition(end.topic, end.partition, int(end.offset * share)) for end in ends]


def _has_partitions(own: Consumer) -> bool:
    own.poll(_POLL_S)
    return bool(own.assignment())


def _wait(what: str, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not happened():
        if time.monotonic() > deadline:
            raise SandboxFailed(f"waited {_TIMEOUT_S} s in vain for {what}")
        time.sleep(_POLL_S)
