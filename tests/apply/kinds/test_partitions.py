"""Elections and deletions of records by actions; without a response the partition is described."""

from dataclasses import replace
from typing import cast

import pytest

from kafka_lagoon.apply.action import Guard, Resource
from kafka_lagoon.apply.kinds import partitions as partitions_module
from kafka_lagoon.apply.kinds.partitions import (
    DELETE_RECORDS,
    ELECT_LEADERS,
    delete_records_before,
    describe_partitions,
    elect_leader,
    log_start_offsets,
    partition_of,
    partition_resource,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages import delete_records, elect_leaders
from kafka_lagoon.protocol.messages.metadata import NO_LEADER, MetadataPartition, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import RequestsOf, soon
from tests.apply.kinds.conftest import CarryOut
from tests.apply.kinds.endings import endings, lost, not_done, timed_out
from tests.fake.cluster import FakeCluster

ORDERS_1 = TopicPartition("orders", 1)


def described(leader_id: int) -> MetadataPartition:
    return MetadataPartition(
        error_code=0, partition_index=1, leader_id=leader_id, replica_nodes=(2, 3, 1), isr_nodes=(3, 2)
    )


class _Counted(int):
    """A number that counts how often it is looked up."""

    hashed = 0

    def __hash__(self) -> int:
        _Counted.hashed += 1
        return super().__hash__()


def test_the_time_to_describe_partitions_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each partition is looked up in one list of them: 10,000 partitions of a topic took seven seconds."""
    count = 50
    several = [replace(described(2), partition_index=_Counted(number)) for number in range(count)]
    topic = MetadataTopic(error_code=0, name="t", partitions=tuple(several))
    monkeypatch.setattr(partitions_module, "describe_topics", lambda *_: {"t": topic})
    wanted = [TopicPartition("t", number) for number in range(count)]
    known = describe_partitions(cast("Cluster", None), wanted, soon())
    assert list(known.items()) == list(zip(wanted, several, strict=True))
    assert _Counted.hashed < 10 * count


def test_elections_that_nobody_needs() -> None:
    """No action is planned if the preferred leader leads, and no unclean election if there is a leader."""
    assert elect_leader(ORDERS_1, described(2)) is None
    assert elect_leader(ORDERS_1, described(3), unclean=True) is None
    preferred, unclean = (
        elect_leader(ORDERS_1, described(3)),
        elect_leader(ORDERS_1, described(NO_LEADER), unclean=True),
    )
    assert preferred
    assert unclean
    assert preferred.before == {"leader": 3, "preferred": 2, "preferred_in_sync": True}
    assert preferred.after == {"leader": 2, "election": "preferred"}
    assert (unclean.after, unclean.guards) == ({"leader": None, "election": "unclean"}, {Guard.UNCLEAN_ELECTIONS})
    assert not ELECT_LEADERS.is_done(unclean, {"leader": None})
    assert ELECT_LEADERS.is_done(unclean, {"leader": 1})


def test_a_partition_without_replicas() -> None:
    """A broker may name none: then there is no preferred leader to elect, and the live state has none either."""
    unknown = replace(described(NO_LEADER), replica_nodes=(), isr_nodes=())
    assert elect_leader(ORDERS_1, unknown) is None
    action = elect_leader(ORDERS_1, unknown, unclean=True)
    assert action
    assert action.before == {"leader": None, "preferred": None, "preferred_in_sync": False}


def test_an_isr_that_changes_after_the_plan() -> None:
    """The plan stays as it is while the preferred leader is in sync: a broker that restarts changes the ISR of many partitions."""
    now = described(3)
    action = elect_leader(ORDERS_1, now)
    shrunk, without_preferred = (replace(now, isr_nodes=isr) for isr in ((2,), (3,)))
    assert elect_leader(ORDERS_1, shrunk) == action
    assert elect_leader(ORDERS_1, without_preferred) != action


def test_each_partition_has_the_election_that_was_planned(
    state: FakeCluster, cluster: Cluster, carry_out: CarryOut, requests_of: RequestsOf
) -> None:
    """An unclean election of a partition that is to have its preferred leader would lose records."""
    partitions = [ORDERS_1, TopicPartition("orders", 2)]
    for partition, leader_id in zip(partitions, (3, NO_LEADER), strict=True):
        state.topics["orders"].partitions[partition.partition].leader_id = leader_id
    known = describe_partitions(cluster, partitions, soon())
    actions = [elect_leader(one, known[one], unclean=one != ORDERS_1) for one in partitions]  # type: ignore[arg-type]
    requests = requests_of(elect_leaders.ELECT_LEADERS)
    carry_out(actions)
    assert [(request.election_type, request.topic_partitions[0].partitions) for request in requests] == [
        (elect_leaders.PREFERRED, (1,)),
        (elect_leaders.UNCLEAN, (2,)),
    ]


def test_an_election_without_an_answer(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The request is not sent again: the partition is described."""
    state.topics["orders"].partitions[1].leader_id = 3
    known = describe_partitions(cluster, [ORDERS_1], soon())[ORDERS_1]
    assert isinstance(known, MetadataPartition)
    action = elect_leader(ORDERS_1, known)
    partition = state.topics["orders"].partitions[1]
    key = elect_leaders.ELECT_LEADERS.key
    state.faults += [not_done(key, lambda: setattr(partition, "leader_id", 3)), lost(key)]
    assert endings(carry_out([action])) == [("unknown", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([action])) == [("done", "CONNECTION_LOST")]
    assert state.count(elect_leaders.ELECT_LEADERS.key) == 2


def test_records_are_deleted(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """Records are deleted up to an offset; a log that starts at or after this offset is left alone."""
    assert delete_records_before(ORDERS_1, 10, 10) is None
    start = log_start_offsets(cluster, [ORDERS_1], soon())[ORDERS_1]
    assert start == 0
    action = delete_records_before(ORDERS_1, 0, 7)
    assert action
    state.faults.append(timed_out(delete_records.DELETE_RECORDS.key))
    assert endings(carry_out([action])) == [("done", "REQUEST_TIMED_OUT")]
    assert DELETE_RECORDS.is_done(action, {"log_start_offset": 9})
    assert not DELETE_RECORDS.is_done(action, {"log_start_offset": 6})


def test_a_partition_that_is_not_there(cluster: Cluster) -> None:
    """A missing partition, and a partition of a missing topic, are failures of their own."""
    partitions = [ORDERS_1, TopicPartition("orders", 60), TopicPartition("absent", 0)]
    starts = log_start_offsets(cluster, partitions, soon())
    assert starts[ORDERS_1] == 0
    assert [one.name for one in starts.values() if isinstance(one, Failure)] == ["UNKNOWN_TOPIC_OR_PARTITION"] * 2


@pytest.mark.parametrize("topic", ["orders", "a-1", "a.b-c", "-"])
def test_names_are_read_back(topic: str) -> None:
    """Topics may have dashes."""
    partition = TopicPartition(topic, 3)
    assert partition_of(partition_resource(partition)) == partition
    assert partition_resource(partition) == Resource("partition", f"{topic}-3")
