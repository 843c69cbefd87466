"""Eligible leader replicas (KIP-966) as two brokers name them; what brokers refuse is tested in test_collect.py."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, FinalizedFeature
from kafka_lagoon.protocol.messages.describe_topic_partitions import (
    DESCRIBE_TOPIC_PARTITIONS,
    Cursor,
    DescribeTopicPartitionsPartition,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsTopic,
)
from kafka_lagoon.protocol.messages.metadata import MetadataPartition, MetadataResponse, MetadataTopic
from kafka_lagoon.snapshot.min_isr import (
    MIN_ISR_NOT_RETURNED,
    EligibleAnswers,
    read_durability,
    read_eligible_leaders,
)
from kafka_lagoon.snapshot.topology import (
    ELIGIBLE_NOT_RETURNED,
    Durability,
    EligibleLeaders,
    partition_rows,
    topology_of,
)
from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.tables.columns import columns_of
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.answers import SPOKEN
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault
from tests.short_timeouts import short_timeouts

API = DESCRIBE_TOPIC_PARTITIONS
TRUE = {"orders": {0: EligibleLeaders((3,), ()), 1: EligibleLeaders((3,), ())}, "other": {0: EligibleLeaders((3,), ())}}


def _answer(state: FakeCluster, node: int, _version: int, request: DescribeTopicPartitionsRequest) -> Any:
    """Answer with a page of one topic. Each broker has seen another leader epoch and another ISR."""
    names = sorted(topic.name for topic in request.topics) or sorted(state.topics)
    name = request.cursor.topic_name if request.cursor else names[0]
    partitions = tuple(
        DescribeTopicPartitionsPartition(
            error_code=0,
            partition_index=index,
            leader_id=node,
            leader_epoch=node,
            replica_nodes=(1, 2, 3),
            isr_nodes=(node,),
            eligible_leader_replicas=(3,),
            last_known_elr=(),
        )
        for index in range(len(state.topics[name].partitions))
    )
    following = names[names.index(name) + 1 :]
    return DescribeTopicPartitionsResponse(
        topics=(DescribeTopicPartitionsTopic(error_code=0, name=name, partitions=partitions),),
        next_cursor=Cursor(topic_name=following[0], partition_index=0) if following else None,
    )


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Brokers that offer DescribeTopicPartitions, and two topics."""
    monkeypatch.setitem(SPOKEN, API.key, (API, _answer))
    cluster = FakeCluster()
    cluster.add_topic("orders", 2)
    cluster.add_topic("other", 1)
    return cluster


def read(state: FakeCluster, nodes: int = 3) -> EligibleAnswers:
    """Read eligible leaders of a cluster with some brokers."""
    with fake_cluster(state, nodes=nodes):
        deadline = Deadline.after(CLOCK, 5_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            return read_eligible_leaders(cluster, deadline)


def names(node_id: int, *eligible: int, topics: Sequence[str] = ("orders",), times: int = 1_000) -> Fault:
    """Make a broker name other eligible leaders of the first partition of topics."""

    def change(response: Any) -> Any:
        for topic in response.topics:
            if topic.name in topics:
                topic.partitions[0].eligible_leader_replicas = eligible
        return response

    return Fault(API.key, Altered(change), node_id, times)


def lacks(node_id: int, topic: str) -> Fault:
    """Make a broker describe no partition of a topic."""

    def change(response: Any) -> Any:
        response.topics = tuple(one for one in response.topics if one.name != topic)
        return response

    return Fault(API.key, Altered(change), node_id, 1_000)


def of_orders(*eligible: int) -> dict[str, dict[int, EligibleLeaders]]:
    return {**TRUE, "orders": {**TRUE["orders"], 0: EligibleLeaders(eligible, ())}}


@pytest.mark.parametrize(
    ("faults", "expected", "pages"),
    [
        ([], TRUE, {1: 2, 2: 2}),
        ([names(1)], TRUE, {1: 2, 2: 2, 3: 1}),
        ([names(2)], TRUE, {1: 2, 2: 2, 3: 1}),
        ([names(2, topics=("orders", "other"))], TRUE, {1: 2, 2: 2, 3: 2}),
        ([lacks(1, "orders")], TRUE, {1: 2, 2: 2, 3: 1}),
        ([lacks(2, "orders")], TRUE, {1: 2, 2: 2, 3: 1}),
        ([names(1), names(2)], of_orders(), {1: 2, 2: 2}),
    ],
    ids=["alike", "first", "second", "two topics", "not in the first", "not in the second", "two agree"],
)
def test_a_third_broker_decides(
    state: FakeCluster, faults: list[Fault], expected: dict[str, Any], pages: dict[int, int]
) -> None:
    """One of three brokers is outvoted; the third one is asked only for topics of which the others differ."""
    state.faults += [Fault(one.api_key, one.action, one.node_id, one.times) for one in faults]
    assert read(state) == EligibleAnswers(eligible=expected)
    assert Counter(node_id for node_id, key, _ in state.requests if key == API.key) == pages


def test_a_topic_that_was_deleted_meanwhile(state: FakeCluster) -> None:
    """A partition that two brokers do not describe is not there."""
    state.faults = [lacks(2, "other"), lacks(3, "other")]
    assert read(state) == EligibleAnswers(eligible={**TRUE, "other": {}})


def test_another_broker_that_does_not_answer(state: FakeCluster) -> None:
    """It is no second opinion: the next one is."""
    state.faults = [Fault(API.key, Close(), 2, 1_000), names(1)]
    answers = read(state)
    assert (answers.failure, answers.eligible["other"]) == (None, TRUE["other"])
    assert state.count(API.key, 3) >= 2


@pytest.mark.parametrize(("nodes", "expected"), [(1, of_orders()), (2, TRUE)])
def test_few_brokers(state: FakeCluster, nodes: int, expected: dict[str, Any]) -> None:
    """Of two brokers the first is asked again, because it may have been behind; a single one is believed."""
    state.faults = [names(1, times=1)]
    assert read(state, nodes) == EligibleAnswers(eligible=expected)


def test_three_answers_about_a_partition(state: FakeCluster) -> None:
    """Its eligible leaders are unknown, and its row says why; other partitions of the topic are known."""
    state.faults = [names(1, 1), names(2, 2)]
    answers = read(state)
    assert answers.disputed == {TopicPartition("orders", 0)}
    assert answers.eligible == {**TRUE, "orders": {1: TRUE["orders"][1]}}
    needed = {"orders": 1, "other": 1}
    durability = Durability(
        min_insync_replicas=needed,
        eligible=answers.eligible,
        problems={},
        eligible_problem=None,
        disputed=answers.disputed,
    )
    partitions = tuple(MetadataPartition(partition_index=index, leader_id=1, isr_nodes=(1,)) for index in range(2))
    metadata = MetadataResponse(topics=(MetadataTopic(name="orders", partitions=partitions),))
    rows = [(row.eligible_leader_replicas, row.problem) for row in partition_rows(topology_of(metadata), durability)]
    assert rows == [(None, "BROKERS_DISAGREE"), ((3,), None)]


def test_a_failure(state: FakeCluster) -> None:
    """If no broker answers, nothing is known, and the failure says why."""
    state.faults = [Fault(API.key, Close(), times=1_000)]
    answers = read(state)
    assert (answers.eligible, answers.failure and answers.failure.api) == ({}, "DescribeTopicPartitions")


def test_pages_without_an_end(state: FakeCluster) -> None:
    """A broker whose cursor comes back to a page is not followed for ever."""

    def again(response: Any) -> Any:
        response.next_cursor = Cursor(topic_name="orders", partition_index=0)
        return response

    state.faults = [Fault(API.key, Altered(again), times=1_000)]
    answers = read(state)
    assert (answers.eligible, answers.failure and answers.failure.name) == ({}, "CONTRADICTORY_ANSWER")


@pytest.mark.parametrize(("name", "level"), [("eligible.leader.replicas.version", 0), ("other.version", 1), (None, 0)])
def test_a_cluster_that_keeps_no_eligible_leaders(state: FakeCluster, name: str | None, level: int) -> None:
    """No request is sent, because its empty lists would mean nothing."""
    durability, failures = durability_of(state, name, level)
    assert (durability.eligible, durability.eligible_problem, failures) == ({}, None, [])
    assert state.count(API.key) == 0


def test_a_cluster_that_keeps_eligible_leaders(state: FakeCluster) -> None:
    """They are read; where they cannot be, the failure is reported and names the problem of each partition."""
    durability, failures = durability_of(state, "eligible.leader.replicas.version", 1)
    assert (durability.eligible, durability.eligible_problem, failures) == (TRUE, ELIGIBLE_NOT_RETURNED, [])
    assert durability.min_insync_replicas == {"orders": 1, "other": 1}
    state.faults = [Fault(API.key, Close(), times=1_000)]
    durability, (failure,) = durability_of(state, "eligible.leader.replicas.version", 1)
    assert (durability.eligible, durability.eligible_problem) == ({}, failure.name)


def durability_of(state: FakeCluster, feature: str | None, level: int) -> tuple[Durability, list[Failure]]:
    """Read what partition rows need from a cluster in which a feature is in force."""

    def finalized(answer: Any) -> Any:
        features = [FinalizedFeature(name=feature, max_version_level=level, min_version_level=0)] if feature else []
        answer.finalized_features, answer.finalized_features_epoch = tuple(features), 1
        return answer

    state.faults.append(Fault(API_VERSIONS.key, Altered(finalized), times=1_000))
    with fake_cluster(state):
        deadline = Deadline.after(CLOCK, 5_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            return read_durability(cluster, ["orders", "other"], deadline)


def test_the_comment_of_partitions_names_these_problems() -> None:
    """Readers of the table find what a name means there."""
    names = (MIN_ISR_NOT_RETURNED, ELIGIBLE_NOT_RETURNED)
    assert names == ("MIN_INSYNC_REPLICAS_NOT_RETURNED", "ELIGIBLE_LEADERS_NOT_RETURNED")
    (comment,) = (one.comment for one in columns_of(PartitionRow) if one.name == "problem")
    assert all(name in comment for name in names)
