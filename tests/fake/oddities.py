"""A cluster with topics and groups of every shape, and odd responses that its brokers may send."""

from collections.abc import Callable
from typing import Any

from kafka_lagoon.admin.offsets import ALL_KINDS
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_lagoon.protocol.messages.describe_producers import DESCRIBE_PRODUCERS, ProducerState
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_lagoon.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS,
    DescribedTransaction,
    TransactionTopic,
)
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember, FakeTransaction
from tests.fake.faults import Altered, Close, Fault

LONG_AGO_MS = 1_000_000_000_000
YEAR_10000_MS = 253_402_300_800_000
TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED = 29, 30, 31
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
Odd = Callable[[FakeCluster], None]


def every_shape() -> FakeCluster:
    """Make healthy brokers; a topic for each kind of offset that is refused in one of its partitions."""
    state = FakeCluster(racks={1: "a", 2: "b", 3: "c"})
    state.add_topic("orders", len(ALL_KINDS))
    state.add_topic("other", 2)
    state.add_topic("empty", 1, end=0)
    state.add_topic("leaderless", 1).partitions[0].leader_id = -1
    orders = {("orders", 0): FakeCommit(90), ("orders", 1): FakeCommit(100)}
    state.groups |= {
        "reader": FakeGroup(1, orders, [FakeMember("m", ("orders",), {"orders": (0, 1, 2)})], state="Stable"),
        "waiting": FakeGroup(2, {}, [FakeMember("m", ("orders",))], state="PreparingRebalance"),
        "connect": FakeGroup(3, {}, [FakeMember("m")], state="Stable", protocol_type="connect"),
        "without-commits": FakeGroup(1),
        "on-what-is-gone": FakeGroup(2, {("gone", 0): FakeCommit(5), ("gone", 1): FakeCommit(-1)}),
        "on-no-leader": FakeGroup(3, {("leaderless", 0): FakeCommit(5), ("empty", 0): FakeCommit(0)}),
        "pending": FakeGroup(1, {("other", 0): FakeCommit(5, pending=True)}),
        "refused": FakeGroup(2, {("other", 0): FakeCommit(5, error_code=TOPIC_AUTHORIZATION_FAILED)}),
        "new": FakeGroup(
            3, {("other", 0): FakeCommit(5)}, [FakeMember("m", ("other",), {"other": (0, 1)})], "consumer"
        ),
    }
    state.groups["sharing"] = FakeGroup(2, group_type="share", state="Stable", share_topics=_share_topics())
    _add_transactions(state)
    moving = OngoingPartitionReassignment(
        partition_index=0, replicas=(1, 2, 3, 4), adding_replicas=(4,), removing_replicas=(1,)
    )
    state.reassignments = (OngoingTopicReassignment(name="orders", partitions=(moving,)),)
    return state


def _share_topics() -> tuple[DescribeShareGroupOffsetsResponseTopic, ...]:
    """Return offsets of a share group in two topics, one of them deleted.

    They are with a lag, not started, without a lag, below 0 and past the end.
    """
    stored = [(90, 5), (-1, -1), (90, -1), (-5, 105), (200, -100)]
    return tuple(
        DescribeShareGroupOffsetsResponseTopic(
            topic_name=name,
            topic_id=bytes(16),
            partitions=tuple(
                DescribeShareGroupOffsetsResponsePartition(
                    partition_index=index, start_offset=start, leader_epoch=0, lag=lag, error_code=0
                )
                for index, (start, lag) in enumerate(stored)
            ),
        )
        for name in ("orders", "gone")
    )


def _add_transactions(state: FakeCluster) -> None:
    """Add an open transaction of two partitions, an id without a transaction, and a hanging one without a coordinator."""
    state.topics["other"].partitions[1].last_stable_offset = 50
    open_in = (TransactionTopic(topic="other", partitions=(0, 1)),)
    state.transactions |= {
        "payer": FakeTransaction(1, transaction("payer", 7, open_in)),
        "idle": FakeTransaction(2, transaction("idle", 8, state="Empty", started_at_ms=-1)),
    }
    written = {"producer_epoch": 1, "last_sequence": 4, "coordinator_epoch": 0}
    state.producers[("other", 1)] = (
        ProducerState(producer_id=7, last_timestamp=LONG_AGO_MS, current_txn_start_offset=60, **written),
        ProducerState(producer_id=8, last_timestamp=LONG_AGO_MS, **written),
        ProducerState(producer_id=9, producer_epoch=0, current_txn_start_offset=50, coordinator_epoch=-1),
    )


def transaction(
    name: str,
    producer_id: int,
    topics: tuple[TransactionTopic, ...] = (),
    *,
    state: str = "Ongoing",
    started_at_ms: int = LONG_AGO_MS,
) -> DescribedTransaction:
    """Make a coordinator's description of a transactional id."""
    return DescribedTransaction(
        error_code=0,
        transactional_id=name,
        transaction_state=state,
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=started_at_ms,
        producer_id=producer_id,
        producer_epoch=1,
        topics=topics,
    )


def both(*odd: Odd) -> Odd:
    """Combine several oddities that do not hide each other."""

    def apply(state: FakeCluster) -> None:
        for change in odd:
            change(state)

    return apply


def altered(api: Any, change: Callable[[Any], None], times: int = 1_000) -> Odd:
    """Change the responses of an API."""

    def apply(answer: Any) -> Any:
        change(answer)
        return answer

    return lambda state: state.faults.append(Fault(api.key, Altered(apply), times=times))


def fails(api: Any) -> Odd:
    """Close connections on every request of an API."""
    return lambda state: state.faults.append(Fault(api.key, Close(), times=1_000))


def older(**versions: int) -> Odd:
    """Lower the brokers' highest versions of these APIs."""
    keys = {api.name: key for key, (api, _) in SPOKEN.items()}
    return lambda state: state.highest.update({keys[name]: version for name, version in versions.items()})


def odd_offsets(state: FakeCluster) -> None:
    """Return, by partition, timestamps outside the calendar, and unknown offsets and epochs."""
    odd = {
        0: {"offset": 99, "timestamp": YEAR_10000_MS},
        1: {"offset": 99, "timestamp": -(1 << 62)},
        2: {"offset": -1},
        3: {"leader_epoch": -1},
    }

    def change(answer: Any) -> None:
        for topic in answer.topics:
            for partition in topic.partitions:
                _set(partition, **odd.get(partition.partition_index, {}))

    altered(LIST_OFFSETS, change)(state)


def refused_offsets(state: FakeCluster) -> None:
    """Refuse another kind of offset in each partition of topic orders."""
    for partition, kind in zip(state.topics["orders"].partitions, ALL_KINDS, strict=True):
        partition.refused[kind.timestamp, kind.isolation_level] = TOPIC_AUTHORIZATION_FAILED


def _refuse_all(answer: Any) -> None:
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.error_code = TOPIC_AUTHORIZATION_FAILED


def _refuse_transactions(answer: Any) -> None:
    for transaction_state in answer.transaction_states:
        _set(transaction_state, error_code=TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _hide_other(answer: Any) -> None:
    for topic in answer.topics:
        if topic.name == "other":
            _set(topic, error_code=TOPIC_AUTHORIZATION_FAILED, partitions=(), topic_id=bytes(16))


def no_topic_ids(state: FakeCluster) -> None:
    """Return no topic ids, as brokers with an old inter.broker.protocol.version."""
    for topic in state.topics.values():
        topic.topic_id = bytes(16)


def no_racks_no_controller(state: FakeCluster) -> None:
    """Return no controller, and only one rack."""
    state.racks, state.controller_id = {1: "a"}, -1


def odd_members(state: FakeCluster) -> None:
    """Return members with unreadable or missing bytes, and assignments with topic ids only, one of them unknown."""
    state.groups["reader"].members += [FakeMember("unreadable", raw_metadata=b"\x00"), FakeMember("nothing")]
    state.groups["new"].has_names = False
    state.groups["new"].members[0].assignment["gone"] = (0,)

    def change(answer: Any) -> None:
        for group in answer.groups:
            for member in group.members:
                if member.member_id == "nothing":
                    member.member_assignment = b""

    altered(DESCRIBE_GROUPS, change)(state)


def odd_types(state: FakeCluster) -> None:
    """Return groups of types that these brokers cannot describe."""
    commits = {("other", 1): FakeCommit(5)}
    state.groups |= {name: FakeGroup(1, commits, group_type=name) for name in ("streams", "share", "newer")}


def _each_group(error_code: int) -> Callable[[Any], None]:
    return lambda answer: [_set(group, error_code=error_code) for group in answer.groups] and None


def _each_resource(**values: Any) -> Odd:
    return altered(DESCRIBE_CONFIGS, lambda answer: [_set(item, **values) for item in answer.results] and None)


def _set(message: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(message, name, value)


ODDITIES: dict[str, Odd] = {
    "nothing": lambda _: None,
    "odd offsets": odd_offsets,
    "offsets that are refused": refused_offsets,
    "ends before the commits that are refused": altered(LIST_OFFSETS, _refuse_all, times=9),
    "leaders that hang up": fails(LIST_OFFSETS),
    "a topic that is hidden, settings that are refused": both(
        altered(METADATA, _hide_other), _each_resource(error_code=TOPIC_AUTHORIZATION_FAILED, configs=())
    ),
    "no topic ids, settings that are left out": both(no_topic_ids, _each_resource(configs=())),
    "no racks, no controller, odd types of groups": both(no_racks_no_controller, odd_types),
    "no description of the cluster, nor of groups": both(
        altered(DESCRIBE_CLUSTER, lambda answer: _set(answer, error_code=CLUSTER_AUTHORIZATION_FAILED)),
        altered(DESCRIBE_GROUPS, _each_group(GROUP_AUTHORIZATION_FAILED)),
        altered(CONSUMER_GROUP_DESCRIBE, _each_group(-1)),
    ),
    "a broker that is not described, odd members": both(
        altered(DESCRIBE_CLUSTER, lambda answer: _set(answer, brokers=answer.brokers[:1])), odd_members
    ),
    "lists of groups that fail": fails(LIST_GROUPS),
    "lists of transactions and moves that fail": both(fails(LIST_TRANSACTIONS), fails(LIST_PARTITION_REASSIGNMENTS)),
    "commits and transactions that may not be read": both(
        altered(OFFSET_FETCH, _each_group(GROUP_AUTHORIZATION_FAILED)),
        altered(DESCRIBE_TRANSACTIONS, _refuse_transactions),
    ),
    "producers that may not be read": altered(DESCRIBE_PRODUCERS, _refuse_all),
    "brokers before Kafka 3.5": older(ListOffsets=7),
    "brokers before Kafka 2.8": both(older(ListOffsets=5, Metadata=9, ListGroups=3, OffsetFetch=7), no_topic_ids),
    "brokers before Kafka 1.0": both(older(ListOffsets=1, Metadata=4, ListGroups=1, OffsetFetch=3), no_topic_ids),
}
