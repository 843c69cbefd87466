"""Describes a cluster: its brokers, its active controller, and what we may do with it (DescribeCluster, DescribeQuorum)."""

from collections.abc import Sequence
from dataclasses import replace

from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures, quorum_partitions
from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.identity import host_fault
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.describe_cluster import (
    DESCRIBE_CLUSTER,
    WITH_FENCED,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_lagoon.protocol.messages.describe_quorum import DescribeQuorumResponse

NO_CONTROLLER = "NO_CONTROLLER"
_OWN_FIELDS = frozenset({"controller_id"})  # under KRaft brokers name any broker (KIP-590)


@frozen
class Identity:
    """A cluster's description and its active controller, with the failures of both."""

    described: DescribeClusterResponse | None
    controller_id: int | None
    controller_problem: str | None  # why the controller is not known
    failures: Sequence[Failure]
    quorum: DescribeQuorumResponse | None = None

    @property
    def description_problem(self) -> str | None:
        """The failure to get a description; None if there is a description, or the brokers are too old to give one."""
        several = (failure for failure in self.failures if failure.api == DESCRIBE_CLUSTER.name)
        return next((one.name for one in several if not one.is_too_old), None)

    @property
    def operations(self) -> int:
        """Operations that we may do on the cluster, as bits (protocol/acls.py)."""
        return self.described.cluster_authorized_operations if self.described else NOT_ASKED


def identify(cluster: Cluster, deadline: Deadline) -> Identity:
    """The description of the cluster and its quorum, from any broker."""
    described = describe_cluster(cluster, deadline)
    quorum = describe_quorum(cluster, deadline)
    refused = [quorum] if isinstance(quorum, Failure) else list(quorum_failures(quorum))
    controller_id, problem = _controller(cluster, quorum)
    return Identity(
        described=None if isinstance(described, Failure) else described,
        controller_id=controller_id,
        controller_problem=problem,
        failures=[*([described] if isinstance(described, Failure) else ()), *refused],
        quorum=None if isinstance(quorum, Failure) else quorum,
    )


def _controller(cluster: Cluster, quorum: DescribeQuorumResponse | Failure) -> tuple[int | None, str | None]:
    """The active controller, or the failure."""
    if isinstance(quorum, Failure) and not quorum.is_too_old:
        return None, quorum.name
    if isinstance(quorum, Failure):
        # Only where there is no quorum (ZooKeeper) do brokers name the real controller in metadata.
        controller_id = cluster.controller_id
    else:
        refusal = next((failure.name for failure in quorum_failures(quorum)), None)
        if refusal:
            return None, refusal
        leaders = (partition.leader_id for partition in quorum_partitions(quorum))
        controller_id = next((leader_id for leader_id in leaders if leader_id >= 0), None)
    return controller_id, NO_CONTROLLER if controller_id is None else None


def describe_cluster(cluster: Cluster, deadline: Deadline) -> DescribeClusterResponse | Failure:
    """The description from any broker, with fenced brokers where brokers list them."""
    for versions, fenced in ((WITH_FENCED, True), (None, False)):
        request = DescribeClusterRequest(include_cluster_authorized_operations=True, include_fenced_brokers=fenced)
        answer = ask_two(cluster, DESCRIBE_CLUSTER, request, Scope.cluster(), deadline, versions, _OWN_FIELDS)
        if not isinstance(answer, Failure):
            return _checked(cluster, answer)
        if not answer.is_too_old:
            break
    return answer


def _checked(cluster: Cluster, described: DescribeClusterResponse) -> DescribeClusterResponse | Failure:
    """The description without brokers whose address is refused, if it is of the cluster that Metadata named."""
    if cluster.cluster_id and described.cluster_id and described.cluster_id != cluster.cluster_id:
        what = f"another cluster id than Metadata, which has {cluster.cluster_id}"
        return own_failure(DESCRIBE_CLUSTER, Scope.cluster(), CONTRADICTION, what)
    brokers: dict[int, DescribeClusterBroker] = {}
    for broker in described.brokers:
        fault = host_fault(broker.host) if broker.host else None  # fenced brokers have none
        if fault is None and brokers.setdefault(broker.broker_id, broker) != broker:
            fault = "the answer has it twice, and not alike"
        if fault:
            cluster.refusals[own_failure(DESCRIBE_CLUSTER, Scope.broker(broker.broker_id), CONTRADICTION, fault)] = None
    return replace(described, brokers=tuple(brokers.values()))
