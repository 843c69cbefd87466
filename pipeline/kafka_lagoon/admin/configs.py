"""Describes the configs of topics, brokers, groups and other resources (DescribeConfigs, KIP-133).

A value that Kafka calls sensitive is removed here, whatever the broker sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope
from kafka_lagoon.client.routes import ByAny, ByBroker
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DESCRIBE_CONFIGS,
    GROUP,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_lagoon.protocol.messages.list_config_resources import LIST_CONFIG_RESOURCES, ListConfigResourcesRequest
from kafka_lagoon.wire.schema import LATEST, Versions

# By the names that kafka-configs.sh gives them.
RESOURCE_TYPES: Mapping[str, int] = {
    "topic": TOPIC,
    "broker": BROKER,
    "broker-logger": BROKER_LOGGER,
    "client-metrics": CLIENT_METRICS,
    "group": GROUP,
}
TYPE_NAMES: Mapping[int, str] = {number: name for name, number in RESOURCE_TYPES.items()}
ALL_BROKERS = "<default>"  # as kafka-configs.sh calls what all brokers share; requests have the empty name for it
PER_BROKER = frozenset({BROKER, BROKER_LOGGER})  # only the broker itself answers for them
_CHUNK, _CHUNK_OF_ONE_KEY = 200, 1_000  # resources in one request: a topic has some 30 configs
_WITH_SYNONYMS, _WITHOUT_SYNONYMS = Versions(1, LATEST), Versions(0, 0)  # KIP-226
# KIP-1142; before, ListConfigResources listed client metrics only.
_ANY_TYPE, _CLIENT_METRICS_ONLY = Versions(1, LATEST), Versions(0, 0)
_WITH_GROUP_CONFIGS = 1  # version of ConsumerGroupDescribe since Kafka 4.0
# The first releases that know these types of resources, and the API with the version that they offered first.
_SINCE = {
    GROUP: ("4.0", CONSUMER_GROUP_DESCRIBE.key, _WITH_GROUP_CONFIGS),
    CLIENT_METRICS: ("3.7", LIST_CONFIG_RESOURCES.key, 0),
}


@frozen
class Configs:
    """Configs by resource, and the failures of requests and of single resources."""

    results: Sequence[DescribeConfigsResult]
    failures: Sequence[Failure]


def list_config_resources(cluster: Cluster, resource_type: int, deadline: Deadline) -> list[str] | Failure:
    """Names of the resources of a type that have configs of their own."""
    # Without types the answer is about client metrics in v0, and about everything later.
    types, versions = ((), None) if resource_type == CLIENT_METRICS else ((resource_type,), _ANY_TYPE)
    request = ListConfigResourcesRequest(resource_types=types)
    scope = Scope.list(f"every {TYPE_NAMES[resource_type]}")
    answer = ask_two(cluster, LIST_CONFIG_RESOURCES, request, scope, deadline, versions)
    if isinstance(answer, Failure):
        return answer
    listed = (one.resource_name for one in answer.config_resources if one.resource_type == resource_type)
    return sorted(listed)


def resources_with_configs(cluster: Cluster, deadline: Deadline) -> Mapping[int, Sequence[str]] | Failure:
    """Names of the groups and client metrics that have configs of their own, by type; without groups before Kafka 4.1."""
    scope = Scope.list("groups and client metrics with settings")
    request = ListConfigResourcesRequest(resource_types=(GROUP, CLIENT_METRICS))
    answer = ask_two(cluster, LIST_CONFIG_RESOURCES, request, scope, deadline, _ANY_TYPE)
    types = {GROUP, CLIENT_METRICS}
    if isinstance(answer, Failure) and answer.is_too_old:
        request, types = ListConfigResourcesRequest(resource_types=()), {CLIENT_METRICS}
        answer = ask_two(cluster, LIST_CONFIG_RESOURCES, request, scope, deadline, _CLIENT_METRICS_ONLY)
    if isinstance(answer, Failure):
        return answer
    listed = [(one.resource_type, one.resource_name) for one in answer.config_resources]
    return {wanted: sorted(name for resource_type, name in listed if resource_type == wanted) for wanted in types}


def have_group_configs(cluster: Cluster) -> bool:
    """True if groups can have configs of their own; older brokers refuse to describe them."""
    return _some_offer(cluster, CONSUMER_GROUP_DESCRIBE.key, _WITH_GROUP_CONFIGS)


def _some_offer(cluster: Cluster, api_key: int, version: int) -> bool:
    versions = (api for answer in cluster.api_versions() for api in answer.api_keys)
    return any(api.api_key == api_key and api.max_version >= version for api in versions)


def describe_configs(
    cluster: Cluster,
    resource_type: int,
    names: Sequence[str],
    deadline: Deadline,
    keys: Sequence[str] | None = None,
) -> Configs:
    """Configs of these topics, groups or client metrics, from any broker: all with their synonyms, or these `keys` only."""
    if keys is not None:
        gathered = _describe(cluster, resource_type, names, deadline, None, keys)
        return Configs(results=_in_order(names, gathered.answers), failures=list(gathered.failures.values()))
    gathered = _describe(cluster, resource_type, names, deadline, _WITH_SYNONYMS)
    too_old = [name for name, failure in gathered.failures.items() if failure.is_too_old]
    older = _describe(cluster, resource_type, too_old, deadline, _WITHOUT_SYNONYMS)
    failures = {**gathered.failures, **older.failures}
    answers = {**gathered.answers, **older.answers}
    return Configs(
        results=_in_order(names, answers),
        failures=[
            _explained(cluster, resource_type, failure) for name, failure in failures.items() if name not in answers
        ],
    )


def _explained(cluster: Cluster, resource_type: int, failure: Failure) -> Failure:
    """Explain the INVALID_REQUEST of brokers that do not know this type of resource; others refuse an empty name by it."""
    if failure.name != "INVALID_REQUEST" or resource_type not in _SINCE:
        return failure
    release, api_key, version = _SINCE[resource_type]
    if _some_offer(cluster, api_key, version):
        return failure
    return replace(failure, name=UNSUPPORTED, code=None, message=f"needs Kafka {release} or newer")


def _in_order(names: Sequence[str], answers: Mapping[str, DescribeConfigsResult]) -> list[DescribeConfigsResult]:
    return [_without_secrets(answers[name]) for name in dict.fromkeys(names) if name in answers]


def _describe(
    cluster: Cluster,
    resource_type: int,
    names: Sequence[str],
    deadline: Deadline,
    within: Versions | None,
    keys: Sequence[str] | None = None,
) -> Gathered[str, DescribeConfigsResult]:
    """The answer about each resource. After a transient error a resource is requested again, alone."""

    def read(
        response: DescribeConfigsResponse, _: Sequence[str]
    ) -> Iterator[tuple[str, int | Contradiction, DescribeConfigsResult, str | None]]:
        for result in response.results:
            if result.resource_type == resource_type:
                yield result.resource_name, _code(result), result, result.error_message

    sharded = ShardedRequest(
        api=DESCRIBE_CONFIGS,
        items=names,
        build=lambda some: _request(resource_type, some, synonyms=within is _WITH_SYNONYMS, keys=keys),
        read=read,
        chunk=_CHUNK if keys is None else _CHUNK_OF_ONE_KEY,
        within=within,
    )
    return gather(cluster, ByAny(cluster, partial(_scope, resource_type)), [sharded], deadline)[0]


def _code(result: DescribeConfigsResult) -> int | Contradiction:
    """The error code of a result; a contradiction if it has a config, or a synonym of one source, twice."""
    are_distinct = len({config.name for config in result.configs}) == len(result.configs) and all(
        len({(synonym.name, synonym.source) for synonym in config.synonyms}) == len(config.synonyms)
        for config in result.configs
    )
    return result.error_code if are_distinct else Contradiction()


def _scope(resource_type: int, name: str) -> Scope:
    if resource_type == TOPIC:
        return Scope.of_topic(name)
    if resource_type == GROUP:
        return Scope.group(name)
    return Scope.config(f"{TYPE_NAMES[resource_type]} {name or ALL_BROKERS}")


def describe_broker_configs(
    cluster: Cluster, resource_type: int, broker_ids: Sequence[int], deadline: Deadline
) -> Configs:
    """Configs or log levels of these brokers, each from the broker itself."""
    gathered = _describe_brokers(cluster, resource_type, broker_ids, deadline, synonyms=True)
    too_old = [broker_id for broker_id, failure in gathered.failures.items() if failure.is_too_old]
    older = _describe_brokers(cluster, resource_type, too_old, deadline, synonyms=False)
    answers = {**gathered.answers, **older.answers}
    failures = {**gathered.failures, **older.failures}
    return Configs(
        results=[_without_secrets(result) for _, result in sorted(answers.items())],
        failures=[failure for broker_id, failure in failures.items() if broker_id not in answers],
    )


def _describe_brokers(
    cluster: Cluster, resource_type: int, broker_ids: Sequence[int], deadline: Deadline, *, synonyms: bool
) -> Gathered[int, DescribeConfigsResult]:
    sharded = ShardedRequest(
        api=DESCRIBE_CONFIGS,
        items=broker_ids,
        build=lambda items: _request(resource_type, [str(items[0])], synonyms=synonyms),
        read=partial(_read_broker, resource_type),
        chunk=1,
        within=_WITH_SYNONYMS if synonyms else _WITHOUT_SYNONYMS,
    )
    return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]


def _read_broker(
    resource_type: int, response: DescribeConfigsResponse, items: Sequence[int]
) -> Iterator[tuple[int, int | Contradiction, DescribeConfigsResult]]:
    for result in response.results:
        if (result.resource_type, result.resource_name) == (resource_type, str(items[0])):
            yield items[0], _code(result), result


def _request(
    resource_type: int, names: Sequence[str], *, synonyms: bool, keys: Sequence[str] | None = None
) -> DescribeConfigsRequest:
    chosen = None if keys is None else tuple(keys)
    resources = (
        DescribeConfigsResource(resource_type=resource_type, resource_name=name, configuration_keys=chosen)
        for name in names
    )
    return DescribeConfigsRequest(resources=tuple(resources), include_synonyms=synonyms)


def _without_secrets(result: DescribeConfigsResult) -> DescribeConfigsResult:
    if not any(config.is_sensitive for config in result.configs):
        return result
    return replace(
        result, configs=tuple(_masked(config) if config.is_sensitive else config for config in result.configs)
    )


def _masked(config: DescribeConfigsEntry) -> DescribeConfigsEntry:
    synonyms = tuple(replace(synonym, value=None) for synonym in config.synonyms)
    return replace(config, value=None, synonyms=synonyms)
