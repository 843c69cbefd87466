"""Tells whether groups or transactions are in no broker's list because partitions of their coordinators have no leader.

The leader of a partition of __consumer_offsets or __transaction_state coordinates what is stored in it. Without a leader no
broker lists those groups or transactions, and none reports an error.
"""

from dataclasses import replace
from typing import Any

from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure, refusal_name
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConnectionFailed, WireError
from kafka_lagoon.protocol.error_codes import COORDINATOR_NOT_AVAILABLE, error_code
from kafka_lagoon.wire.schema import Api

OF_GROUPS, OF_TRANSACTIONS = "__consumer_offsets", "__transaction_state"


def offline_coordinators(cluster: Cluster, api: Api[Any, Any], topic: str, deadline: Deadline) -> Failure | None:
    """A failure of the API that lists what `topic` stores, if partitions of the topic have no leader; brokers agree on that.

    Must be called before the list is requested: a leader that fails afterwards gives no list, and that is a failure, too.
    """
    try:
        metadata = agreed_metadata(cluster, (topic,), deadline)
    except (ConnectionFailed, WireError, BrokerError) as error:
        return _failure(cluster, api, refusal_name(error), f"the leaders of {topic} are unknown: {error}")
    # Until the first group or transaction there is no such topic. Where we may not describe it, brokers answer
    # TOPIC_AUTHORIZATION_FAILED without partitions: then the list is believed.
    partitions = [partition for one in metadata.topics for partition in one.partitions]
    node_ids = {broker.node_id for broker in metadata.brokers}
    offline = sum(partition.leader_id not in node_ids for partition in partitions)
    if not offline:
        return None
    message = (
        f"{offline} of {len(partitions)} partitions of {topic} have no leader: no broker lists what is stored in them"
    )
    return _failure(cluster, api, error_code(COORDINATOR_NOT_AVAILABLE).name, message)


def _failure(cluster: Cluster, api: Api[Any, Any], name: str, message: str) -> Failure:
    """Make the failure, and count it as an item of the API that no broker answered."""
    cluster.request_stats.item_counts[api.name, None].failed += 1
    failure = own_failure(api, Scope.list("the whole list"), name, message)
    return replace(failure, is_required=True)
