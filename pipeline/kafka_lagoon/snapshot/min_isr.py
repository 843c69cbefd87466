"""Reads min.insync.replicas of topics and eligible leader replicas (KIP-966), which partition rows need beside metadata.

A config that the principal may not read is unknown, with a reason; the default is not assumed.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Any

from kafka_lagoon.admin.configs import Configs, describe_configs
from kafka_lagoon.client.agreement import ask_cluster, by_item, majority
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.describe_topic_partitions import (
    DESCRIBE_TOPIC_PARTITIONS,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsTopicRequest,
)
from kafka_lagoon.snapshot.topology import ELIGIBLE_NOT_RETURNED, Durability, EligibleLeaders
from kafka_lagoon.topic_partition import TopicPartition

MIN_INSYNC_REPLICAS = "min.insync.replicas"
MIN_ISR_NOT_RETURNED = "MIN_INSYNC_REPLICAS_NOT_RETURNED"
ELIGIBLE_LEADERS_FEATURE = "eligible.leader.replicas.version"

Eligible = dict[str, dict[int, EligibleLeaders]]  # by topic and partition


@frozen
class EligibleAnswers:
    """Eligible leaders on which brokers agree, and `disputed` partitions, for which each broker returned others."""

    eligible: Eligible = field(default_factory=dict)
    disputed: frozenset[TopicPartition] = frozenset()
    failure: Failure | None = None


def read_durability(cluster: Cluster, topics: Sequence[str], deadline: Deadline) -> tuple[Durability, list[Failure]]:
    """Read min.insync.replicas and eligible leaders; failures stand beside them."""
    configs = describe_configs(cluster, TOPIC, topics, deadline, keys=(MIN_INSYNC_REPLICAS,))
    needed = dict(_needed(configs))
    problems = {one.scope.topic: one.name for one in configs.failures if one.scope.topic is not None}
    # Deleted since the metadata was read.
    failures = [one for one in configs.failures if one.code != UNKNOWN_TOPIC_OR_PARTITION]
    missing = dict.fromkeys(topic for topic in topics if topic not in needed)
    problems = {**dict.fromkeys(missing, MIN_ISR_NOT_RETURNED), **problems}
    answers, eligible_problem = EligibleAnswers(), None
    if any(map(_keeps_eligible_leaders, cluster.api_versions())):
        answers = read_eligible_leaders(cluster, deadline)
        eligible_problem = answers.failure.name if answers.failure else ELIGIBLE_NOT_RETURNED
        failures += filter(None, [answers.failure])
    durability = Durability(
        min_insync_replicas=needed,
        eligible=answers.eligible,
        problems=problems,
        eligible_problem=eligible_problem,
        disputed=answers.disputed,
    )
    return durability, failures


def _needed(configs: Configs) -> Iterator[tuple[str, int]]:
    """min.insync.replicas by topic; a value that is not a number is left out."""
    for resource in configs.results:
        for config in resource.configs:
            if config.name == MIN_INSYNC_REPLICAS and config.value is not None and config.value.isdecimal():
                yield resource.resource_name, int(config.value)


def _keeps_eligible_leaders(versions: ApiVersionsResponse) -> bool:
    """True if the cluster keeps eligible leader replicas (KIP-966); otherwise the lists would be empty and mean nothing."""
    return any(
        feature.name == ELIGIBLE_LEADERS_FEATURE and feature.max_version_level > 0
        for feature in versions.finalized_features
    )


def read_eligible_leaders(cluster: Cluster, deadline: Deadline) -> EligibleAnswers:
    """Ask two brokers for the eligible leaders of all partitions, and a third one about topics for which they differ.

    As in `ask_two`, the first broker is believed if no other broker answers. Leaders, leader epochs and ISRs are not compared,
    because brokers may differ in these for a moment.
    """
    first, addresses = _read_pages(cluster, (), deadline)
    if isinstance(first, Failure):
        return EligibleAnswers(failure=first)
    if len(cluster.brokers) == 1:
        return EligibleAnswers(eligible=first)
    second, others = _read_pages(cluster, (), deadline, addresses)
    if isinstance(second, Failure) or first == second:
        return EligibleAnswers(eligible=first)
    topics = sorted(topic for topic in first.keys() | second.keys() if first.get(topic) != second.get(topic))
    third, _ = _read_pages(cluster, topics, deadline, addresses | others)
    return _agreed(first, second, {} if isinstance(third, Failure) else third, topics)


def _agreed(first: Eligible, second: Eligible, third: Eligible, topics: Sequence[str]) -> EligibleAnswers:
    """The first answer, with the eligible leaders that two of three answers have for partitions of these topics."""
    eligible, disputed = dict(first), set[TopicPartition]()
    for topic in topics:
        known = eligible[topic] = dict[int, EligibleLeaders]()
        for partition, several in by_item([answer.get(topic, {}) for answer in (first, second, third)]).items():
            leaders = majority(several)
            if several.count(leaders) == 1:
                disputed.add(TopicPartition(topic, partition))
            elif leaders is not None:
                known[partition] = leaders
    return EligibleAnswers(eligible=eligible, disputed=frozenset(disputed))


def _read_pages(
    cluster: Cluster, topics: Sequence[str], deadline: Deadline, other_than: Collection[str] = ()
) -> tuple[Eligible | Failure, set[str]]:
    """Read all pages of DescribeTopicPartitions about these topics, or about all topics if `topics` is empty.

    Addresses in `other_than` are asked last; the second value has the addresses that were asked.
    """
    named = tuple(DescribeTopicPartitionsTopicRequest(name=name) for name in topics)
    eligible, addresses = Eligible(), set[str]()
    cursor, seen = None, set[tuple[str, int]]()
    scope = Scope.list("all topics")
    while True:
        request = DescribeTopicPartitionsRequest(topics=named, cursor=cursor)
        page = ask_cluster(cluster, DESCRIBE_TOPIC_PARTITIONS, request, scope, deadline, other_than=other_than)
        addresses.add(cluster.answered_by)
        if isinstance(page, Failure):
            return page, addresses
        _take_page(page, eligible)
        cursor = page.next_cursor
        if cursor is None:
            return eligible, addresses
        place = cursor.topic_name, cursor.partition_index
        if place in seen:
            return own_failure(DESCRIBE_TOPIC_PARTITIONS, scope, CONTRADICTION, "its pages have no end"), addresses
        seen.add(place)


def _take_page(page: DescribeTopicPartitionsResponse, eligible: Eligible) -> None:
    """Keep the lists alone, equal ones once: nearly all partitions have none."""
    distinct: dict[tuple[Any, Any], EligibleLeaders] = {}
    for topic in page.topics:
        known = eligible.setdefault(topic.name or "", {})
        for partition in topic.partitions:
            lists = partition.eligible_leader_replicas, partition.last_known_elr
            leaders = distinct.get(lists)
            if leaders is None:
                leaders = distinct[lists] = EligibleLeaders(*lists)
            known[partition.partition_index] = leaders
