"""Reads partitions and replica lists from arguments of verbs, and finds the partitions in the live cluster.

TOPIC stands for all of its partitions, TOPIC:0,1 for two of them. Names of topics cannot have colons.
"""

import re
from argparse import ArgumentTypeError
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.client.agreement import agreed_metadata, refused_topics
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataPartition, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition

SELECTION = re.compile(r"([a-zA-Z0-9._-]{1,249})(?::(\d{1,10}(?:,\d{1,10})*))?", re.ASCII)
_PLACED = re.compile(r"(\d+)=(\d+(?:,\d+)*)", re.ASCII)
_MOVED = re.compile(r"([a-zA-Z0-9._-]{1,249}):(\d+)=(\d+(?:,\d+)*)", re.ASCII)
SPELLING = "TOPIC[:0,1]"
_MOST_DIGITS = 10


@frozen(kw_only=False)
class Selected:
    """A topic and its selected partitions; None selects all."""

    topic: str
    partitions: frozenset[int] | None


@frozen(kw_only=False)
class Partitions:
    """Metadata of the selected partitions that exist, and failures of the others."""

    described: Mapping[TopicPartition, MetadataPartition] = field(default_factory=dict)
    failures: Sequence[Failure] = ()


def selected(text: str) -> Selected:
    """Parse a selection of partitions."""
    match = SELECTION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not {SPELLING}")
    return Selected(match[1], frozenset(map(int, match[2].split(","))) if match[2] else None)


def merged(wanted: Iterable[Selected]) -> dict[str, frozenset[int] | None]:
    """Unite the selections of each topic; a selection of all partitions includes the others."""
    by_topic: dict[str, set[int]] = {}
    whole: set[str] = set()
    for selection in wanted:
        by_topic.setdefault(selection.topic, set()).update(selection.partitions or ())
        if selection.partitions is None:
            whole.add(selection.topic)
    return {topic: None if topic in whole else frozenset(partitions) for topic, partitions in by_topic.items()}


def placed(text: str) -> tuple[int, list[int]]:
    """Parse a partition and its brokers, the preferred leader first."""
    match = _PLACED.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not PARTITION=BROKER,BROKER")
    return _number(text, match[1]), _brokers(text, match[2])


def moved(text: str) -> tuple[TopicPartition, list[int]]:
    """Parse a topic, a partition and its brokers."""
    match = _MOVED.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not TOPIC:PARTITION=BROKER,BROKER")
    return TopicPartition(match[1], _number(text, match[2])), _brokers(text, match[3])


def _number(text: str, digits: str) -> int:
    """The number of a partition or a broker, at most int32 as in requests."""
    if len(digits) > _MOST_DIGITS or int(digits) > MOST_INT32:
        raise ArgumentTypeError(f"{text!r} has a number above {MOST_INT32}")
    return int(digits)


def _brokers(text: str, listed: str) -> list[int]:
    brokers = [_number(text, part) for part in listed.split(",")]
    if len(set(brokers)) < len(brokers):
        raise ArgumentTypeError(f"{text!r} names a broker twice")
    return brokers


def find(context: ClusterContext, wanted: Sequence[Selected]) -> Partitions:
    """Find the selected partitions; without a selection those of all topics."""
    if not wanted:
        topics = agreed_metadata(context.cluster, None, context.deadline).topics
        listed = _partitions([topic for topic in topics if not topic.error_code], {})
        return Partitions(listed.described, [*refused_topics(topics), *listed.failures])
    by_topic = merged(wanted)
    described = describe_topics(context.cluster, list(by_topic), context.deadline)
    failures = [_missing(topic) for topic, known in described.items() if known is None]
    failures += [known for known in described.values() if isinstance(known, Failure)]
    selection = _partitions([known for known in described.values() if isinstance(known, MetadataTopic)], by_topic)
    return Partitions(selection.described, [*failures, *selection.failures])


def _partitions(topics: Sequence[MetadataTopic], wanted: Mapping[str, frozenset[int] | None]) -> Partitions:
    described: dict[TopicPartition, MetadataPartition] = {}
    failures = []
    for topic in topics:
        numbered = {one.partition_index: one for one in topic.partitions}
        numbers = wanted.get(topic.name or "")
        for number in sorted(numbered if numbers is None else numbers):
            if number in numbered:
                described[TopicPartition(topic.name or "", number)] = numbered[number]
            else:
                failures.append(_missing(topic.name or "", number))
    return Partitions(described, failures)


def _missing(topic: str, partition: int | None = None) -> Failure:
    scope = Scope.of_topic(topic) if partition is None else Scope.of_partition(topic, partition)
    return failure_of(METADATA, scope, UNKNOWN_TOPIC_OR_PARTITION)
