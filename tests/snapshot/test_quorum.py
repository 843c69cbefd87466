"""Rows of the metadata quorum, from messages made by hand."""

from kafka_lagoon.protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
    QuorumPartition,
    QuorumReplica,
    QuorumTopic,
)
from kafka_lagoon.snapshot.quorum import (
    QuorumReplicaRow,
    QuorumRow,
    quorum_replica_rows,
    quorum_rows,
    quorum_state_rows,
)
from kafka_lagoon.tables.cluster_rows import QuorumStateRow


def response(leader_id: int = 1, leader_end: int = 100, error_code: int = 0) -> DescribeQuorumResponse:
    """Make a response with two voters, and an observer about which the leader knows nothing."""
    partition = QuorumPartition(
        partition_index=0,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=7,
        high_watermark=99,
        current_voters=(
            QuorumReplica(replica_id=1, log_end_offset=leader_end, last_fetch_timestamp=5, last_caught_up_timestamp=6),
            QuorumReplica(replica_id=2, log_end_offset=95, replica_directory_id=b"\1" * 16),
        ),
        observers=(QuorumReplica(replica_id=9, log_end_offset=-1),),
    )
    node = QuorumNode(node_id=1, listeners=(QuorumListener(name="CONTROLLER", host="c1", port=9093),))
    topic = QuorumTopic(topic_name="__cluster_metadata", partitions=(partition,))
    return DescribeQuorumResponse(error_code=0, topics=(topic,), nodes=(node,))


def test_the_metadata_log_is_a_row() -> None:
    """The row has leader, voters and observers by their ids; -1 is null."""
    assert list(quorum_rows(response())) == [
        QuorumRow(leader_id=1, leader_epoch=7, high_watermark=99, voters=(1, 2), observers=(9,))
    ]
    assert next(quorum_rows(response(leader_id=-1))).leader_id is None
    assert next(quorum_rows(response(leader_id=0))).leader_id == 0
    reversed_voters = response()
    (partition,) = reversed_voters.topics[0].partitions
    partition.current_voters = partition.current_voters[::-1]  # type: ignore[misc]  frozen to the checker
    assert list(quorum_rows(reversed_voters)) == list(quorum_rows(response()))


def test_a_refused_partition_has_no_row() -> None:
    """Its refusal is a failure in another table."""
    assert list(quorum_rows(response(error_code=41))) == []


def test_every_replica_is_a_row() -> None:
    """Voters come first; lag is computed from the leader's end offset, and null if an end offset is unknown."""
    leader, voter, observer = quorum_replica_rows(response())
    assert leader == QuorumReplicaRow(
        replica_id=1,
        role="leader",
        directory_id=None,
        log_end_offset=100,
        lag=0,
        last_fetch_at_ms=5,
        last_caught_up_at_ms=6,
        listeners=("CONTROLLER://c1:9093",),
    )
    assert (voter.role, voter.lag, voter.directory_id) == ("voter", 5, "AQEBAQEBAQEBAQEBAQEBAQ")
    assert (observer.role, observer.log_end_offset, observer.lag) == ("observer", None, None)


def test_nobody_has_a_lag_without_the_leaders_end() -> None:
    """An unknown lag is null, not the difference to -1."""
    assert {row.lag for row in quorum_replica_rows(response(leader_end=-1))} == {None}
    assert {row.lag for row in quorum_replica_rows(response(leader_id=-1))} == {None}


def test_a_leader_that_gives_up_its_vote_is_an_observer() -> None:
    """It leads until the other voters have the record that removes it (KIP-853); lag is counted from its end all the same."""
    removed = response()
    (partition,) = removed.topics[0].partitions
    leader, voter = partition.current_voters
    partition.current_voters, partition.observers = (voter,), (leader,)  # type: ignore[misc]  frozen to the checker
    assert [(row.replica_id, row.role, row.lag) for row in quorum_replica_rows(removed)] == [
        (2, "voter", 5),
        (1, "leader", 0),
    ]


def test_a_row_of_the_table_has_the_replica_and_the_log() -> None:
    """Listeners are null if the broker returns none for any replica, and empty for an observer."""
    leader, _, observer = quorum_state_rows(response(), has_listeners=True)
    assert leader == QuorumStateRow(
        replica_id=1,
        role="leader",
        leader_id=1,
        leader_epoch=7,
        high_watermark=99,
        directory_id=None,
        log_end_offset=100,
        lag=0,
        last_fetch_at_ms=5,
        last_caught_up_at_ms=6,
        listeners=("CONTROLLER://c1:9093",),
    )
    assert observer.listeners == ()
    assert {row.listeners for row in quorum_state_rows(response(), has_listeners=False)} == {None}
    assert list(quorum_state_rows(response(error_code=41), has_listeners=True)) == []
