"""Reads min.insync.replicas of topics and eligible leader replicas (KIP-966), which partition rows need beside metadata.

A config that the principal may not read is unknown, with a reason; the default is not assumed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_lagoon.admin.configs import Configs, describe_configs
from kafka_lagoon.client.agreement import ask_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.describe_topic_partitions import (
    DESCRIBE_TOPIC_PARTITIONS,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_lagoon.snapshot.topology import ELIGIBLE_NOT_RETURNED, Durability, EligibleLeaders

MIN_INSYNC_REPLICAS = "min.insync.replicas"
MIN_ISR_NOT_RETURNED = "MIN_INSYNC_REPLICAS_NOT_RETURNED"
ELIGIBLE_LEADERS_FEATURE = "eligible.leader.replicas.version"

Eligible = dict[str, dict[int, EligibleLeaders]]  # by topic and partition


def read_durability(cluster: Cluster, topics: Sequence[str], deadline: Deadline) -> tuple[Durability, list[Failure]]:
    """Read min.insync.replicas and eligible leaders; failures stand beside them."""
    configs = describe_configs(cluster, TOPIC, topics, deadline, keys=(MIN_INSYNC_REPLICAS,))
    needed = dict(_needed(configs))
    problems = {one.scope.topic: one.name for one in configs.failures if one.scope.topic is not None}
    failures = [
        one for one in configs.failures if one.code != UNKNOWN_TOPIC_OR_PARTITION
    ]  # deleted since the metadata was read
    missing = dict.fromkeys(topic for topic in topics if topic not in needed)
    problems = {**dict.fromkeys(missing, MIN_ISR_NOT_RETURNED), **problems}
    eligible: Eligible = {}
    eligible_problem = None
    if any(map(_keeps_eligible_leaders, cluster.api_versions())):
        unread = list(_read_eligible(cluster, eligible, deadline))
        eligible_problem = unread[0].name if unread else ELIGIBLE_NOT_RETURNED
        failures += unread
    durability = Durability(
        min_insync_replicas=needed, eligible=eligible, problems=problems, eligible_problem=eligible_problem
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


def _read_eligible(cluster: Cluster, eligible: Eligible, deadline: Deadline) -> Iterator[Failure]:
    """Read all pages of DescribeTopicPartitions; each ends with a cursor to the next."""
    cursor, seen = None, set[tuple[str, int]]()
    while True:
        request = DescribeTopicPartitionsRequest(topics=(), cursor=cursor)
        page = ask_cluster(cluster, DESCRIBE_TOPIC_PARTITIONS, request, Scope.list("all topics"), deadline)
        if isinstance(page, Failure):
            yield page
            return
        _take_page(page, eligible)
        cursor = page.next_cursor
        if cursor is None:
            return
        place = cursor.topic_name, cursor.partition_index
        if place in seen:
            yield own_failure(
                DESCRIBE_TOPIC_PARTITIONS, Scope.list("all topics"), CONTRADICTION, "its pages have no end"
            )
            return
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
