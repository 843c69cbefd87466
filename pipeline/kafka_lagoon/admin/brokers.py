"""Lists registered brokers, and unregisters brokers that will not return (UnregisterBroker, KIP-500), KRaft only."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.client.agreement import ask_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER, WITH_FENCED, DescribeClusterRequest
from kafka_lagoon.protocol.messages.unregister_broker import (
    UNREGISTER_BROKER,
    UnregisterBrokerRequest,
)


def registered_brokers(cluster: Cluster, deadline: Deadline) -> Mapping[int, bool] | Failure | None:
    """Brokers by id, and whether they are fenced, such as those that are down; None before Kafka 4.0, which does not tell."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    answer = ask_cluster(cluster, DESCRIBE_CLUSTER, request, Scope.cluster(), deadline, WITH_FENCED)
    if isinstance(answer, Failure):
        return None if answer.is_too_old else answer
    return {broker.broker_id: broker.is_fenced for broker in answer.brokers}


def no_broker(broker_id: int, there: Iterable[int]) -> str:
    """Say that a cluster has no such broker, and which it has."""
    return f"there is no broker {broker_id} (there are {', '.join(map(str, sorted(there)))})"


def unregister_brokers(cluster: Cluster, broker_ids: Sequence[int], deadline: Deadline) -> Mapping[int, Failure]:
    """Unregister these brokers, and return the failures."""
    sharded: ShardedRequest[int, None] = ShardedRequest(
        api=UNREGISTER_BROKER,
        items=broker_ids,
        build=lambda items: UnregisterBrokerRequest(broker_id=items[0]),
        read=lambda response, items: [(items[0], response.error_code, None, response.error_message)],
        chunk=1,
        once=True,  # repeated, it would unregister a broker that came back in between
    )
    return gather(cluster, ByController(cluster, Scope.broker), [sharded], deadline)[0].failures
