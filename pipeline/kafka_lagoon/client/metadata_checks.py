"""Checks a Metadata response before anything is learned from it: names, addresses, and items that nobody asked for.

A refused item becomes a failure and is left out, so that it hides no other item. Of two items that contradict each other
the first is kept, and a failure tells it, because nobody can know which of them is true.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.identity import host_fault, topic_fault
from kafka_lagoon.protocol.error_codes import UNKNOWN_SERVER_ERROR
from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    MetadataBroker,
    MetadataPartition,
    MetadataResponse,
    MetadataTopic,
)
from kafka_lagoon.text import printable

T = TypeVar("T")

REFUSED_NAME, REFUSED_ADDRESS, CONTRADICTION = "NAME_REFUSED", "ADDRESS_REFUSED", "CONTRADICTORY_ANSWER"
NOT_RETURNED = "NOT_RETURNED"
_HIGHEST_PORT = 65_535
_SHOWN = 60  # characters of a name that is refused


def checked_metadata(
    response: MetadataResponse, requested: Collection[str] | None
) -> tuple[MetadataResponse, list[Failure]]:
    """The response without the refused items, and the failures.

    It has every topic that was `requested` by name once; a topic that the answer leaves out has the error code -1.
    """
    failures: list[Failure] = []
    requested = None if requested is None else frozenset(requested)
    brokers = _each_once(
        _brokers(response.brokers, failures), _node_id, lambda broker: Scope.broker(broker.node_id), failures
    )
    topics = _each_once(_topics(response.topics, requested, failures), _name, _scope, failures)
    topics = [_with_partitions(topic, failures) for topic in topics]
    if requested is not None:
        topics += _left_out(requested - {topic.name for topic in topics}, failures)
    return replace(response, brokers=tuple(brokers), topics=tuple(topics)), failures


def _node_id(broker: MetadataBroker) -> int:
    return broker.node_id


def _name(topic: MetadataTopic) -> str | None:
    return topic.name


def _scope(topic: MetadataTopic) -> Scope:
    return Scope.of_topic(topic.name)


def _brokers(brokers: Iterable[MetadataBroker], failures: list[Failure]) -> Iterable[MetadataBroker]:
    for broker in brokers:
        fault = host_fault(broker.host)
        if broker.node_id < 0:
            fault = f"{broker.node_id} is not the id of a broker"
        elif not 0 < broker.port <= _HIGHEST_PORT:
            fault = f"{broker.port} is not a port"
        if fault:
            failures.append(own_failure(METADATA, Scope.broker(broker.node_id), REFUSED_ADDRESS, fault))
        else:
            yield broker


def _topics(
    topics: Iterable[MetadataTopic], requested: Collection[str] | None, failures: list[Failure]
) -> Iterable[MetadataTopic]:
    """The topics that were requested; of all topics those with a possible name."""
    for topic in topics:
        if requested is not None:
            if topic.name in requested:
                yield topic  # the name is from our request, and the broker's error code judges it
            continue
        fault = "a topic without a name" if topic.name is None else topic_fault(topic.name)
        if fault:
            scope = Scope.of_topic(printable((topic.name or "")[:_SHOWN]))
            failures.append(own_failure(METADATA, scope, REFUSED_NAME, fault))
        else:
            yield topic


def _each_once(
    items: Iterable[T], key: Callable[[T], Hashable], scope: Callable[[T], Scope], failures: list[Failure]
) -> list[T]:
    kept: dict[Hashable, T] = {}
    for item in items:
        first = kept.setdefault(key(item), item)
        if first is not item and first != item:
            failures.append(own_failure(METADATA, scope(item), CONTRADICTION, "the answer has it twice, and not alike"))
    return list(kept.values())


# Hot: 100,000 partitions. A topic without faults, as Kafka always sends it, costs one pass over the indexes.
def _with_partitions(topic: MetadataTopic, failures: list[Failure]) -> MetadataTopic:
    """The topic with each partition once, and without partitions of negative numbers."""
    partitions = topic.partitions
    lists = {one.replica_nodes for one in partitions}.union(one.isr_nodes for one in partitions)
    if repeated := {nodes for nodes in lists if len(set(nodes)) < len(nodes)}:
        several = [
            one.partition_index for one in partitions if not repeated.isdisjoint((one.replica_nodes, one.isr_nodes))
        ]
        scope_of = partial(Scope.of_partition, topic.name or "")
        failures += [
            own_failure(METADATA, scope_of(index), CONTRADICTION, "a replica is listed twice") for index in several
        ]
    indexes = {one.partition_index for one in partitions}
    if len(indexes) == len(partitions) and (not indexes or min(indexes) >= 0):
        return topic

    def scope(partition: MetadataPartition) -> Scope:
        return Scope.of_partition(topic.name or "", partition.partition_index)

    odd = [one for one in partitions if one.partition_index < 0]
    failures += [own_failure(METADATA, scope(one), REFUSED_NAME, "partitions begin at 0") for one in odd]
    numbered = (one for one in partitions if one.partition_index >= 0)
    return replace(
        topic, partitions=tuple(_each_once(numbered, lambda partition: partition.partition_index, scope, failures))
    )


def _left_out(names: Collection[str], failures: list[Failure]) -> Sequence[MetadataTopic]:
    message = "it was asked for, and the answer leaves it out"
    failures += [own_failure(METADATA, Scope.of_topic(name), NOT_RETURNED, message) for name in sorted(names)]
    return [MetadataTopic(error_code=UNKNOWN_SERVER_ERROR, name=name, partitions=()) for name in sorted(names)]
