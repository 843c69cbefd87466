"""Adds and removes voters of the KRaft metadata quorum (KIP-853), which is possible only at kraft.version 1.

Any broker passes a request on to the active controller. UpdateRaftVoter is not among the requests: a voter sends it itself, to
the controllers' listener, when it starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.add_raft_voter import (
    ADD_RAFT_VOTER,
    AddedVoterListener,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
)
from kafka_lagoon.protocol.messages.remove_raft_voter import (
    REMOVE_RAFT_VOTER,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kafka_lagoon.wire.primitives import uuid_bytes


class Listener(NamedTuple):
    """An address of a controller."""

    name: str
    host: str
    port: int


@frozen
class Voter:
    """A controller by the id of its directory, which a new disk changes, and its addresses."""

    directory_id: str
    listeners: Sequence[Listener] = ()


def add_voters(cluster: Cluster, voters: Mapping[int, Voter], deadline: Deadline) -> Mapping[int, Failure]:
    """Give votes to controllers that are observers, one after the other, and return the failures."""

    def build(items: Sequence[int]) -> AddRaftVoterRequest:
        (voter_id,) = items
        return AddRaftVoterRequest(
            cluster_id=cluster.cluster_id,
            timeout_ms=cluster.settings.request_timeout_ms,
            voter_id=voter_id,
            voter_directory_id=uuid_bytes(voters[voter_id].directory_id),
            listeners=tuple(
                AddedVoterListener(name=name, host=host, port=port) for name, host, port in voters[voter_id].listeners
            ),
        )

    failures: dict[int, Failure] = {}
    for voter_id in voters:  # the controller makes one change at a time, and answers error 7 to others
        sharded: ShardedRequest[int, None] = ShardedRequest(
            api=ADD_RAFT_VOTER, items=[voter_id], build=build, read=_read_one, once=True
        )
        failures |= gather(cluster, ByController(cluster, _voter_scope), [sharded], deadline)[0].failures
    return failures


def remove_voters(cluster: Cluster, directory_ids: Mapping[int, str], deadline: Deadline) -> Mapping[int, Failure]:
    """Take the votes of controllers, one after the other, and return the failures."""

    def build(items: Sequence[int]) -> RemoveRaftVoterRequest:
        (voter_id,) = items
        return RemoveRaftVoterRequest(
            cluster_id=cluster.cluster_id,
            voter_id=voter_id,
            voter_directory_id=uuid_bytes(directory_ids[voter_id]),
        )

    failures: dict[int, Failure] = {}
    for voter_id in directory_ids:
        sharded: ShardedRequest[int, None] = ShardedRequest(
            api=REMOVE_RAFT_VOTER, items=[voter_id], build=build, read=_read_one, once=True
        )
        failures |= gather(cluster, ByController(cluster, _voter_scope), [sharded], deadline)[0].failures
    return failures


def _voter_scope(voter_id: int) -> Scope:
    return Scope.config(f"voter {voter_id}")


def _read_one(
    response: AddRaftVoterResponse | RemoveRaftVoterResponse, items: Sequence[int]
) -> Iterator[tuple[int, int, None, str | None]]:
    yield items[0], response.error_code, None, response.error_message
