"""Voters of the metadata quorum of fake brokers."""

import pytest

from kafka_lagoon.admin.voters import Listener, Voter, add_voters, remove_voters
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.add_raft_voter import ADD_RAFT_VOTER
from kafka_lagoon.protocol.messages.remove_raft_voter import REMOVE_RAFT_VOTER
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault


@pytest.mark.usefixtures("topic_apis")
def test_add_voters_and_remove_voters(state: FakeCluster, cluster: Cluster) -> None:
    """Requests are sent one after the other, because the controller makes one change at a time; none is repeated."""
    voter = Voter(directory_id="AAAAAAAAAAAAAAAAAAAAZA", listeners=[Listener("CONTROLLER", "k1", 9093)])
    assert add_voters(cluster, {4: voter, 5: voter}, soon()) == {}
    assert remove_voters(cluster, {4: voter.directory_id}, soon()) == {}
    assert (state.count(ADD_RAFT_VOTER.key), state.count(REMOVE_RAFT_VOTER.key)) == (2, 1)
    state.faults += [Fault(ADD_RAFT_VOTER.key, Close()), Fault(REMOVE_RAFT_VOTER.key, Close())]
    failed = {**add_voters(cluster, {4: voter}, soon()), **remove_voters(cluster, {5: voter.directory_id}, soon())}
    assert [(str(failure.scope), failure.may_be_done) for failure in failed.values()] == [
        ("voter 4", True),
        ("voter 5", True),
    ]
    assert (state.count(ADD_RAFT_VOTER.key), state.count(REMOVE_RAFT_VOTER.key)) == (3, 2)
