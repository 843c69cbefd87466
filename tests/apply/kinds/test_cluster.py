"""Voters, brokers and features by actions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.kinds.cluster import (
    ADD_VOTER,
    REMOVE_VOTER,
    UPDATE_FEATURE,
    add_voter,
    remove_voter,
    unregister_broker,
    update_feature,
    voters,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.protocol.messages.add_raft_voter import ADD_RAFT_VOTER
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, FinalizedFeature, SupportedFeature
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.describe_quorum import QuorumPartition, QuorumReplica
from kafka_lagoon.protocol.messages.remove_raft_voter import REMOVE_RAFT_VOTER
from kafka_lagoon.protocol.messages.unregister_broker import UNREGISTER_BROKER
from kafka_lagoon.protocol.messages.update_features import UPDATE_FEATURES
from kafka_lagoon.wire.primitives import uuid_bytes
from tests.admin.conftest import soon
from tests.apply.kinds.conftest import CarryOut
from tests.apply.kinds.endings import endings, lost
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

DIRECTORY, OTHER = "AAAAAAAAAAAAAAAAAAAAZA", "AAAAAAAAAAAAAAAAAAAAZg"
LISTENERS = ["CONTROLLER://k1:9093"]


def quorum_of(*voter_ids: int) -> QuorumPartition:
    return QuorumPartition(
        partition_index=0,
        error_code=0,
        leader_id=1,
        leader_epoch=1,
        high_watermark=1,
        current_voters=tuple(
            QuorumReplica(replica_id=one, replica_directory_id=uuid_bytes(DIRECTORY), log_end_offset=1)
            for one in voter_ids
        ),
        observers=(),
    )


def test_voters(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The state is read from the quorum; after a lost response the voters decide the outcome."""
    state.quorum = quorum_of(1, 2)
    known = voters(cluster, soon())
    assert not isinstance(known, Failure)
    assert {one: voter.directory_id for one, voter in known.items()} == {1: DIRECTORY, 2: DIRECTORY}
    state.faults.append(lost(ADD_RAFT_VOTER.key))
    assert endings(carry_out([add_voter(3, DIRECTORY, LISTENERS)])) == [("unknown", "CONNECTION_LOST")]
    state.faults.append(lost(ADD_RAFT_VOTER.key))
    removed = carry_out([remove_voter(2, DIRECTORY)])
    assert endings(removed) == [("done", None)]


def test_a_voter_is_its_directory_too() -> None:
    """A voter with another directory is neither the added voter nor the voter to remove."""
    added, removed = add_voter(3, DIRECTORY, LISTENERS), remove_voter(3, DIRECTORY)
    assert ADD_VOTER.is_done(added, {"directory_id": DIRECTORY, "listeners": []})
    assert not ADD_VOTER.is_done(added, {"directory_id": OTHER, "listeners": []})
    assert not ADD_VOTER.is_done(added, None)
    assert REMOVE_VOTER.is_done(removed, {"directory_id": OTHER})
    assert not REMOVE_VOTER.is_done(removed, {"directory_id": DIRECTORY})


def test_brokers(carry_out: CarryOut) -> None:
    """An unregistered broker is refused before anything is sent."""
    assert unregister_broker(3, fenced=False).guards == {Guard.DELETIONS}
    assert endings(carry_out([unregister_broker(3, fenced=False)])) == [("done", None)]


def test_a_broker_whose_registration_is_not_known(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """Before Kafka 4.0 brokers do not list registrations: after a lost answer it is not known that the broker still is there."""
    state.highest[DESCRIBE_CLUSTER.key] = 1
    for broker in cluster.brokers.values():
        broker.close()
    state.faults.append(lost(UNREGISTER_BROKER.key))
    assert endings(carry_out([unregister_broker(7, fenced=None)])) == [("unknown", "CONNECTION_LOST")]


def test_a_broker_that_runs_again_stays(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """A broker that was started after the plan is not unregistered, also where brokers do not list registrations."""
    state.highest[DESCRIBE_CLUSTER.key] = 1
    for broker in cluster.brokers.values():
        broker.close()
    with pytest.raises(PlanOutdated):
        carry_out([unregister_broker(3, fenced=None)])
    assert state.count(UNREGISTER_BROKER.key) == 0


def test_a_broker_that_is_still_registered(state: FakeCluster, carry_out: CarryOut) -> None:
    """Where brokers list registrations, a broker that is still there after a lost answer may be removed later."""
    state.faults.append(lost(UNREGISTER_BROKER.key))
    assert endings(carry_out([unregister_broker(3, fenced=False)])) == [("unknown", "CONNECTION_LOST")]


def features(level: int, name: str = "group.version") -> Callable[[Any], Any]:
    def change(response: Any) -> Any:
        finalized = FinalizedFeature(name=name, max_version_level=level, min_version_level=0)
        supported = SupportedFeature(name=name, min_version=0, max_version=1)
        return replace(
            response, supported_features=(supported,), finalized_features=(finalized,), finalized_features_epoch=1
        )

    return change


def test_features(state: FakeCluster, carry_out: CarryOut) -> None:
    """Only a downgrade that may lose metadata is guarded; the level is compared before anything is sent."""
    assert update_feature("group.version", 1, 1) is None
    up, down, unsafe = (
        update_feature("group.version", 0, 1),
        update_feature("group.version", 1, 0),
        update_feature("group.version", 1, 0, unsafe=True),
    )
    assert up
    assert down
    assert unsafe
    assert (up.guards, down.guards, unsafe.guards) == (frozenset(), frozenset(), {Guard.DELETIONS})
    assert [UPDATE_FEATURE.is_done(up, live) for live in ({"level": 1}, {"level": 0}, None)] == [True, False, False]
    state.faults.append(Fault(API_VERSIONS.key, Altered(features(0)), times=99))
    assert endings(carry_out([up])) == [("done", None)]
    unknown = update_feature("no.such", 0, 1)
    assert endings(carry_out([unknown])) == [("failed", "UNSUPPORTED_VERSION")]


def test_an_answer_does_not_prove_a_change_of_kraft_version(state: FakeCluster, carry_out: CarryOut) -> None:
    """Kafka 3.9 answers without an error and leaves the level as it is; later releases change it."""
    level = 1

    def known(response: Any) -> Any:
        return features(level, "kraft.version")(response)

    state.faults.append(Fault(API_VERSIONS.key, Altered(known), times=99))
    down = update_feature("kraft.version", 1, 0)
    assert endings(carry_out([down])) == [("unknown", "UNPROVEN")]

    def changed(response: Any) -> Any:
        nonlocal level
        level = 0
        return response

    state.faults.append(Fault(UPDATE_FEATURES.key, Altered(changed)))
    assert endings(carry_out([down])) == [("done", "UNPROVEN")]


def test_static_voters_are_known_beforehand(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """Voters of server.properties have no directories, so they cannot be removed by a request, as the dry run reports."""
    partition = quorum_of(1, 2)
    voting = tuple(replace(one, replica_directory_id=bytes(16)) for one in partition.current_voters)
    state.quorum = replace(partition, current_voters=voting)
    known = voters(cluster, soon())
    assert isinstance(known, Failure)
    assert (known.name, "controller.quorum.voters" in str(known.message)) == ("STATIC_QUORUM", True)
    assert endings(carry_out([remove_voter(2, DIRECTORY)])) == [("failed", "STATIC_QUORUM")]
    assert not state.count(REMOVE_RAFT_VOTER.key)
