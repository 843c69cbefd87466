"""Describes which users can log in by SCRAM (DescribeUserScramCredentials, KIP-554); salts and keys are never returned."""

from collections.abc import Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
)


def describe_scram_users(
    cluster: Cluster, deadline: Deadline
) -> Sequence[DescribeUserScramCredentialsResult] | Failure:
    """Every user with SCRAM credentials, from any broker."""
    everybody = DescribeUserScramCredentialsRequest(users=())  # null, refused, is answered by no broker up to 4.3
    scope = Scope.list("SCRAM users")
    answer = ask_cluster(cluster, DESCRIBE_USER_SCRAM_CREDENTIALS, everybody, scope, deadline)
    return answer if isinstance(answer, Failure) else answer.results
