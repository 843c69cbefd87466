"""Committed offsets of fake coordinators."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from tests.admin.conftest import soon
from tests.comparisons import Comparisons
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Altered, Fault

TOPIC_FORBIDDEN, UNSTABLE = 29, 88


def _group(*commits: FakeCommit) -> FakeGroup:
    return FakeGroup(coordinator_id=1, commits={("orders", index): commit for index, commit in enumerate(commits)})


@pytest.mark.parametrize(("version", "requests"), [(9, 1), (7, 3), (6, 3), (2, 3)])
def test_as_few_requests_as_brokers_allow(state: FakeCluster, cluster: Cluster, version: int, requests: int) -> None:
    """A request names many groups from v8 on, and one group before; every group has its commits at every version."""
    state.groups = {name: _group(FakeCommit(offset)) for name, offset in (("a", 1), ("b", 2), ("c", 3))}
    state.highest[OFFSET_FETCH.key] = version
    for broker in cluster.brokers.values():
        broker.close()
    cluster.learn_coordinators(dict.fromkeys(state.groups, 1))
    committed = committed_offsets(cluster, list(state.groups), soon())
    assert {
        group_id: [one.committed_offset for topic in group.topics for one in topic.partitions]
        for group_id, group in committed.answers.items()
    } == {"a": [1], "b": [2], "c": [3]}
    assert committed.failures == []
    assert set(committed.sources) == set(state.groups)
    assert state.count(OFFSET_FETCH.key) == requests


def test_the_time_for_brokers_of_one_group_a_request_is_linear(state: FakeCluster, cluster: Cluster) -> None:
    """Groups that are asked about again are looked up: 100,000 of them were searched for ten minutes in a list."""
    compared = Comparisons()
    names = [compared.counting(f"g{number}") for number in range(80)]
    state.groups = {name: _group(FakeCommit(1)) for name in names}
    state.highest[OFFSET_FETCH.key] = 7
    for broker in cluster.brokers.values():
        broker.close()
    cluster.learn_coordinators(dict.fromkeys(names, 1))
    committed = list[Any]()
    assert compared.during(lambda: committed.append(committed_offsets(cluster, names, soon()))) < 20 * len(names)
    assert set(committed[0].answers) == set(names)


def test_a_pending_transaction_is_no_failure(state: FakeCluster, cluster: Cluster) -> None:
    """Only the group of the transaction is requested again, for the offset that the transaction will replace."""
    state.groups = {"g": _group(FakeCommit(5, pending=True)), "other": _group(FakeCommit(6))}
    cluster.learn_coordinators(dict.fromkeys(state.groups, 1))
    committed = committed_offsets(cluster, list(state.groups), soon())
    [partition] = committed.answers["g"].topics[0].partitions
    assert partition.error_code == UNSTABLE
    assert set(committed.replaced) == {"g"}
    assert committed.replaced["g"].topics[0].partitions[0].committed_offset == 5
    assert committed.failures == []


def test_a_partition_that_is_refused_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The group's other commits are returned."""
    state.groups = {"g": _group(FakeCommit(5), FakeCommit(-1, error_code=TOPIC_FORBIDDEN))}
    cluster.learn_coordinators({"g": 1})
    committed = committed_offsets(cluster, ["g"], soon())
    assert set(committed.answers) == {"g"}
    [failure] = committed.failures
    assert (str(failure.scope), failure.name, failure.node_id) == (
        "group g, orders-1",
        "TOPIC_AUTHORIZATION_FAILED",
        1,
    )


def test_a_refused_group_is_not_requested_in_older_forms(state: FakeCluster, cluster: Cluster) -> None:
    """A coordinator that answers UNSUPPORTED_VERSION knows the request: an older one would not be answered differently."""

    def refused(response: Any) -> Any:
        return replace(response, groups=tuple(replace(one, error_code=35) for one in response.groups))

    state.groups = {"g": _group(FakeCommit(5))}
    cluster.learn_coordinators({"g": 1})
    state.faults.append(Fault(OFFSET_FETCH.key, Altered(refused), times=9))
    [failure] = committed_offsets(cluster, ["g"], soon()).failures
    assert (failure.name, failure.code, state.count(OFFSET_FETCH.key)) == ("UNSUPPORTED_VERSION", 35, 1)
