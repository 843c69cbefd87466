"""Asks brokers about the state that all of them keep, and believes what two of them say.

A broker may be behind, or wrong. Where two differ a third one decides, or the first one again if there are only two: it may
have been behind. Of answers that brokers pass on from the active controller, two only show that the brokers changed nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConnectionFailed, WireError
from kafka_lagoon.wire.schema import Api, Versions

R = TypeVar("R")

_OF_ANSWERS = frozenset({"throttle_time_ms"})  # fields that are about the answer, and not about the cluster


def ask_two(
    cluster: Cluster,
    api: Api[Any, R],
    request: object,
    scope: Scope,
    deadline: Deadline,
    within: Versions | None = None,
    own_fields: frozenset[str] = frozenset(),
) -> R | Failure:
    """The response that two brokers give, in whatever order they list things; or the failure.

    Each broker has its own values in `own_fields`.
    """
    own_fields |= _OF_ANSWERS
    first = ask_cluster(cluster, api, request, scope, deadline, within)
    if isinstance(first, Failure) or len(cluster.brokers) == 1:
        return first
    answered = {cluster.answered_by}
    second = ask_cluster(cluster, api, request, scope, deadline, within, answered)
    if isinstance(second, Failure) or content(first, own_fields) == content(second, own_fields):
        return first
    third = ask_cluster(cluster, api, request, scope, deadline, within, answered | {cluster.answered_by})
    if not isinstance(third, Failure):
        for other in (first, second):
            if content(third, own_fields) == content(other, own_fields):
                return third
    return own_failure(api, scope, CONTRADICTION, "brokers answer it differently")


def agree_on_brokers(cluster: Cluster, deadline: Deadline) -> None:
    """Ask another broker for the brokers, and a third one if it names others. A group is known by the id of its coordinator."""
    known, answered = _addresses(cluster), {cluster.answered_by}
    if len(known) == 1:
        return
    try:
        cluster.refresh((), deadline, answered)
        if _addresses(cluster) != known:
            cluster.refresh((), deadline, answered | {cluster.answered_by})
    except (ConnectionFailed, WireError, BrokerError):
        return  # requests to these brokers will fail, and tell


def _addresses(cluster: Cluster) -> dict[int, str]:
    return {node_id: broker.address for node_id, broker in cluster.brokers.items()}


def content(value: Any, left_out: frozenset[str] = _OF_ANSWERS) -> Any:
    """The content of a message without some fields and without the order of its lists, to be compared."""
    if hasattr(type(value), "__wire__"):
        return tuple(content(getattr(value, one.name), left_out) for one in fields(value) if one.name not in left_out)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return frozenset(Counter(content(one, left_out) for one in value).items())
    return value
