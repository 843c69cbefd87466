"""Asks any broker, or asks about the state that all of them keep, and believes what two of them say.

A broker may be behind, or wrong. Where two differ a third one decides, or the first one again if there are only two: it may
have been behind. Of answers that brokers pass on from the active controller, two only show that the brokers changed nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import BrokerError, ConnectionFailed, PipelineError, WireError
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataBroker, MetadataResponse, MetadataTopic
from kafka_lagoon.wire.schema import Api, Versions

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")
T = TypeVar("T")

DIFFERENT = "brokers answer it differently"

# Some 2.5 s in all by default: controllers begin an election after 2 s without a leader.
_RETRIES = 5
_PARTITION_INDEX = attrgetter("partition_index")
_OF_ANSWERS = frozenset({"throttle_time_ms"})  # fields that are about the answer, and not about the cluster


def ask_cluster(
    cluster: Cluster,
    api: Api[Any, R],
    request: object,
    scope: Scope,
    deadline: Deadline,
    within: Versions | None = None,
    other_than: Collection[str] = (),
) -> R | Failure:
    """The response of any broker to a request that is not split, or the failure; addresses in `other_than` are asked last."""
    started = cluster.clock.monotonic()
    try:
        answer = cluster.ask_any(api, request, deadline, within, other_than=other_than)
    except PipelineError as error:
        elapsed_ms = int((cluster.clock.monotonic() - started) * 1000)
        return failure_of(api, scope, error, elapsed_ms=elapsed_ms)
    code = getattr(answer, "error_code", 0)
    return failure_of(api, scope, code) if code else answer


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

    def ask(other_than: Collection[str] = ()) -> R | Failure:
        return ask_cluster(cluster, api, request, scope, deadline, within, other_than)

    first = ask()
    if isinstance(first, Failure):
        return first
    known = partial(content, left_out=own_fields | _OF_ANSWERS)
    agreed = confirmed(cluster, first, cluster.answered_by, ask, known)
    return own_failure(api, scope, CONTRADICTION, DIFFERENT) if agreed is None else agreed


def confirmed(
    cluster: Cluster,
    first: R,
    answered_by: str,
    ask: Callable[[Collection[str]], R | Failure],
    compared: Callable[[R], object],
) -> R | None:
    """The response that the broker at `answered_by` gave, or the one that two others give; None if all three differ.

    `ask` asks any broker but those at some addresses. The first response is believed if there is no other broker, or if that
    has a failure.
    """
    if len(cluster.brokers) == 1:
        return first
    second = ask({answered_by})
    if isinstance(second, Failure) or compared(first) == compared(second):
        return first
    third = ask({answered_by, cluster.answered_by})
    if isinstance(third, Failure) or compared(third) not in (compared(first), compared(second)):
        return None
    return third


def asked_again(
    cluster: Cluster, ask: Callable[[], R | Failure], may_pass: Callable[[R | Failure], bool], deadline: Deadline
) -> R | Failure:
    """The first answer that `may_pass` does not take for one that changes in a moment, or the last of a few."""
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    for retries_left in range(_RETRIES, -1, -1):
        answer = ask()
        if not (retries_left and may_pass(answer) and deadline.pause(next(pauses))):
            break
    return answer


def is_contradicted(answer: object) -> bool:
    """True for the failure of brokers that answer differently, or of an answer that contradicts itself."""
    return isinstance(answer, Failure) and answer.name == CONTRADICTION


def agreed_metadata(cluster: Cluster, topics: Collection[str] | None, deadline: Deadline) -> MetadataResponse:
    """The brokers and these topics, or all (None): each as two of three brokers describe it, or else as the last one does."""
    first = cluster.refresh(topics, deadline)
    answered = {cluster.answered_by}
    if len(cluster.brokers) == 1:
        return first
    second = cluster.refresh(topics, deadline, answered, learned=first)
    if is_same_metadata(first, second):
        return replace(first, cluster_id=second.cluster_id)
    several = (first, second, cluster.refresh(topics, deadline, answered | {cluster.answered_by}))
    brokers = agreed_brokers(several)
    cluster.learn_brokers(brokers)
    described = (majority(some) for some in by_item([topics_by_name(one.topics) for one in several]).values())
    return replace(
        several[-1],
        brokers=brokers,
        topics=tuple(topic for topic in described if topic),
    )


def refused_topics(topics: Iterable[MetadataTopic]) -> list[Failure]:
    """The failures of topics that brokers do not describe."""
    return [failure_of(METADATA, Scope.of_topic(one.name), one.error_code) for one in topics if one.error_code]


def is_same_metadata(first: MetadataResponse, second: MetadataResponse) -> bool:
    """True if two answers describe the same brokers and topics alike, in whatever order."""
    if (first.brokers, first.topics) == (second.brokers, second.topics):
        return True
    have_same_brokers = brokers_by_id(first) == brokers_by_id(second)
    return have_same_brokers and topics_by_name(first.topics) == topics_by_name(second.topics)


def agreed_brokers(several: Sequence[MetadataResponse]) -> tuple[MetadataBroker, ...]:
    """The brokers that two of three answers name, as two of them describe each, or else as the last of these does."""
    named = by_item([brokers_by_id(one) for one in several]).values()
    return tuple(broker for some in named if (broker := majority(some)))


def brokers_by_id(metadata: MetadataResponse) -> Mapping[int, MetadataBroker]:
    """The brokers of an answer."""
    return {broker.node_id: broker for broker in metadata.brokers}


def topics_by_name(topics: Iterable[MetadataTopic]) -> Mapping[str, MetadataTopic]:
    """Topics with their partitions in order, to be compared."""
    return {
        topic.name or "": replace(topic, partitions=tuple(sorted(topic.partitions, key=_PARTITION_INDEX)))
        for topic in topics
    }


def by_item(several: Sequence[Mapping[K, T]]) -> Mapping[K, Sequence[T | None]]:
    """The descriptions of each item, one from each answer; None where an answer lacks the item."""
    return {key: [one.get(key) for one in several] for key in dict.fromkeys(key for one in several for key in one)}


def majority(answers: Sequence[T | None]) -> T | None:
    """The description that two of three answers have, or else the last one; None if two of them lack the item."""
    first, second, third = answers
    return first if first in (second, third) else second if third is None else third


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
        return  # requests to these brokers will fail, and report it


def _addresses(cluster: Cluster) -> dict[int, str]:
    return {node_id: broker.address for node_id, broker in cluster.brokers.items()}


def content(value: Any, left_out: frozenset[str] = _OF_ANSWERS) -> Any:
    """The content of a message without some fields and without the order of its lists, to be compared."""
    if hasattr(type(value), "__wire__"):
        return tuple(content(getattr(value, one.name), left_out) for one in fields(value) if one.name not in left_out)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return frozenset(Counter(content(one, left_out) for one in value).items())
    return value
