"""Describes the KRaft metadata quorum (KIP-595), and adds and removes its voters (KIP-853).

Any broker passes a request on to the active controller. Voters can change only at kraft.version 1. UpdateRaftVoter is not among
the requests: a voter sends it itself, to the controllers' listener, when it starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION, NOT_RETURNED
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.add_raft_voter import (
    ADD_RAFT_VOTER,
    AddedVoterListener,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
)
from kafka_lagoon.protocol.messages.describe_quorum import (
    DESCRIBE_QUORUM,
    METADATA_TOPIC,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumRequestPartition,
    QuorumRequestTopic,
)
from kafka_lagoon.protocol.messages.remove_raft_voter import (
    REMOVE_RAFT_VOTER,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kafka_lagoon.wire.primitives import uuid_bytes

# What moves between two requests, and replicas that come and go.
_MOVING = frozenset(
    {"high_watermark", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp", "observers"}
)


class Listener(NamedTuple):
    """An address of a controller."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A controller by the id of its directory, which a new disk changes, and its addresses."""

    directory_id: str
    listeners: Sequence[Listener] = ()


def describe_quorum(cluster: Cluster, deadline: Deadline) -> DescribeQuorumResponse | Failure:
    """The answer that two brokers give; each forwards the request to the active controller."""
    log = QuorumRequestTopic(topic_name=METADATA_TOPIC, partitions=(QuorumRequestPartition(partition_index=0),))
    request = DescribeQuorumRequest(topics=(log,))
    return ask_two(cluster, DESCRIBE_QUORUM, request, Scope.cluster(), deadline, own_fields=_MOVING)


def quorum_failures(response: DescribeQuorumResponse) -> Iterator[Failure]:
    """The error of the metadata log inside the answer, or that the answer leaves it out."""
    partitions = list(quorum_partitions(response))
    if not partitions:
        yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), NOT_RETURNED, "the answer leaves out the metadata log")
    if any(len({one.name for one in node.listeners}) < len(node.listeners) for node in response.nodes):
        yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), CONTRADICTION, "a controller has a listener twice")
    for partition in partitions:
        replicas = [
            (one.replica_id, one.replica_directory_id) for one in (*partition.current_voters, *partition.observers)
        ]
        if len(set(replicas)) < len(replicas):
            yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), CONTRADICTION, "a replica is listed twice")
        if partition.error_code:
            yield failure_of(DESCRIBE_QUORUM, Scope.cluster(), partition.error_code)


def quorum_partitions(response: DescribeQuorumResponse) -> Iterator[QuorumPartition]:
    """The partitions of the answer: one, the metadata log."""
    for topic in response.topics:
        if topic.topic_name == METADATA_TOPIC:
            yield from (partition for partition in topic.partitions if partition.partition_index == 0)


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
