"""Describes the delegation tokens that we may see (DescribeDelegationToken, KIP-48), without their secrets.

The answer has the secret of each token (`hmac`); it is removed here, so that nothing above this module can keep it.
"""

from collections.abc import Sequence
from dataclasses import replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
)


def describe_delegation_tokens(cluster: Cluster, deadline: Deadline) -> Sequence[DescribedDelegationToken] | Failure:
    """Tokens of all owners, from any broker; brokers leave out those that we may not see."""
    everybodys = DescribeDelegationTokenRequest(owners=None)
    answer = ask_cluster(cluster, DESCRIBE_DELEGATION_TOKEN, everybodys, Scope.list("delegation tokens"), deadline)
    return answer if isinstance(answer, Failure) else [replace(token, hmac=b"") for token in answer.tokens]
