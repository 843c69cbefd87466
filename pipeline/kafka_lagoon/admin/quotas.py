"""Describes the client quotas of a cluster: limits of users, clients and addresses (DescribeClientQuotas, KIP-546)."""

from collections.abc import Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS,
    ClientQuotas,
    DescribeClientQuotasRequest,
)


def describe_client_quotas(cluster: Cluster, deadline: Deadline) -> Sequence[ClientQuotas] | Failure:
    """Every entity that has quotas of its own, from any broker."""
    everything = DescribeClientQuotasRequest(components=(), strict=False)
    answer = ask_cluster(cluster, DESCRIBE_CLIENT_QUOTAS, everything, Scope.list("client quotas"), deadline)
    return answer if isinstance(answer, Failure) else answer.entries or ()
