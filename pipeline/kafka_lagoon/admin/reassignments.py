"""Lists partitions that are being moved to other brokers (ListPartitionReassignments, KIP-455).

Needs DESCRIBE on the cluster. The controller answers; under KRaft any broker passes the request on.
"""

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

_ALL = "all reassignments"


class _ByControllerIfThereIsOne(ByController):
    """Nothing waits for the election of a controller: a snapshot goes on without the reassignments."""

    unroutable_rounds = 3


def list_reassignments(cluster: Cluster, deadline: Deadline) -> ListPartitionReassignmentsResponse | Failure:
    """All moves under way, or why they are not known."""
    sharded: ShardedRequest[str, ListPartitionReassignmentsResponse] = ShardedRequest(
        api=LIST_PARTITION_REASSIGNMENTS,
        items=[_ALL],
        build=lambda _: ListPartitionReassignmentsRequest(timeout_ms=cluster.settings.request_timeout_ms),
        read=lambda response, items: [(items[0], response.error_code, response)],
    )
    gathered = gather(cluster, _ByControllerIfThereIsOne(cluster), [sharded], deadline)[0]
    return gathered.answers.get(_ALL) or gathered.failures[_ALL]
