"""Resources (topics, brokers, groups and others) in, their settings out.

Guards one rule: a value that Kafka calls sensitive never leaves this module, whatever the broker sent.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByBroker
from kafka_lagoon.client.routing import Gathered, ShardedRequest, ask_cluster, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    CONFIG_SOURCES,
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
from kafka_lagoon.row_classes import ALWAYS, before, column, row
from kafka_lagoon.wire.schema import LATEST, Versions

KINDS = {
    "topic": TOPIC,
    "broker": BROKER,
    "broker-logger": BROKER_LOGGER,
    "client-metrics": CLIENT_METRICS,
    "group": GROUP,
}
OF_ONE_BROKER = frozenset({BROKER, BROKER_LOGGER})  # only the broker itself can tell
_NAMES = {number: name for name, number in KINDS.items()}
_DEFAULT = "DEFAULT_CONFIG"
_CHUNK = 200  # resources in one request: a topic has some 30 settings
_WITH_SYNONYMS, _WITHOUT_SYNONYMS = Versions(1, LATEST), Versions(0, 0)  # KIP-226
_OF_TYPES = Versions(1, LATEST)  # KIP-1142; before, ListConfigResources told of client metrics only


@row
class ConfigSynonym:
    """A value that a setting has, or would have, from another source."""

    name: str = column("Name of the setting there.")
    value: str | None = column("Its value there; null if it is sensitive, or has none.", null_if=ALWAYS)
    source: str = column("Where that is.")


@row
class ConfigRow:
    """Settings of resources, one row per resource and setting."""

    resource_type: str = column("topic, broker, broker-logger, client-metrics or group.")
    resource_name: str = column("Name of the topic or group, id of the broker.")
    name: str = column("Name of the setting.")
    value: str | None = column("Its value; null if it is sensitive, or has none.", null_if=ALWAYS)
    source: str | None = column(
        "Where the value comes from, as Kafka names it; null if the broker is too old to tell.",
        null_if=before("DescribeConfigs", 1),
    )
    is_default: bool = column("Whether nobody has set it.")
    is_sensitive: bool = column("Whether its value is never told.")
    is_read_only: bool = column("Whether it cannot be changed while the broker runs.")
    synonyms: tuple[ConfigSynonym, ...] = column("Values that it has, or would have, from other sources.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """Settings of resources by name, and the resources that were refused."""

    results: Sequence[DescribeConfigsResult]
    failures: Sequence[Failure]


def list_resources(cluster: Cluster, kind: int, deadline: Deadline) -> list[str] | Failure:
    """Names of the resources of a kind that have settings of their own."""
    # Without types the answer is about client metrics in v0, and about everything later.
    types, within = ((), None) if kind == CLIENT_METRICS else ((kind,), _OF_TYPES)
    request = ListConfigResourcesRequest(resource_types=types)
    answer = ask_cluster(cluster, LIST_CONFIG_RESOURCES, request, Scope.list(f"every {_NAMES[kind]}"), deadline, within)
    if isinstance(answer, Failure):
        return answer
    return sorted(one.resource_name for one in answer.config_resources if one.resource_type == kind)


def read_configs(cluster: Cluster, kind: int, names: Sequence[str], deadline: Deadline) -> Configs:
    """Settings of these topics, groups or client metrics, from any broker."""
    results: list[DescribeConfigsResult] = []
    failures: list[Failure] = []
    for start in range(0, len(names), _CHUNK):
        some = names[start : start + _CHUNK]
        scope = _scope(kind, some)
        answer = ask_cluster(cluster, DESCRIBE_CONFIGS, _request(kind, some), scope, deadline, _WITH_SYNONYMS)
        if isinstance(answer, Failure) and answer.name == UNSUPPORTED:
            older = _request(kind, some, synonyms=False)
            answer = ask_cluster(cluster, DESCRIBE_CONFIGS, older, scope, deadline, _WITHOUT_SYNONYMS)
        if isinstance(answer, Failure):
            failures.append(answer)
        else:
            results += answer.results
    refused = (one for one in results if one.error_code)
    failures += [failure_of(DESCRIBE_CONFIGS, _scope(kind, [one.resource_name]), one.error_code) for one in refused]
    return Configs(results=[one for one in results if not one.error_code], failures=failures)


def _scope(kind: int, names: Sequence[str]) -> Scope:
    if len(names) > 1:
        return Scope.config(f"settings of {len(names)} {_NAMES[kind]}s", len(names))
    if kind == TOPIC:
        return Scope.of_topic(names[0])
    return Scope.group(names[0]) if kind == GROUP else Scope.config(f"{_NAMES[kind]} {names[0]}")


def read_broker_configs(cluster: Cluster, kind: int, broker_ids: Sequence[int], deadline: Deadline) -> Configs:
    """Settings or log levels of these brokers, each asked for its own."""

    def read(
        response: DescribeConfigsResponse, items: Sequence[int]
    ) -> Iterator[tuple[int, int, DescribeConfigsResult]]:
        for one in response.results:
            yield items[0], one.error_code, one

    def ask(items: Sequence[int], *, synonyms: bool) -> Gathered[int, DescribeConfigsResult]:
        sharded = ShardedRequest(
            api=DESCRIBE_CONFIGS,
            items=items,
            build=lambda items: _request(kind, [str(items[0])], synonyms=synonyms),
            read=read,
            chunk=1,
            within=_WITH_SYNONYMS if synonyms else _WITHOUT_SYNONYMS,
        )
        return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]

    found = ask(broker_ids, synonyms=True)
    older = ask([one for one, why in found.failures.items() if why.name == UNSUPPORTED], synonyms=False)
    answers = {**found.answers, **older.answers}
    failures = {**found.failures, **older.failures}
    return Configs(
        results=[one for _, one in sorted(answers.items())],
        failures=[failure for broker_id, failure in failures.items() if broker_id not in answers],
    )


def config_rows(results: Iterable[DescribeConfigsResult]) -> Iterator[ConfigRow]:
    """One row per resource and setting, by name."""
    for result in sorted(results, key=lambda one: one.resource_name):
        for one in sorted(result.configs, key=lambda entry: entry.name):
            yield _row(result, one)


def _request(kind: int, names: Sequence[str], *, synonyms: bool = True) -> DescribeConfigsRequest:
    resources = (
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None) for name in names
    )
    return DescribeConfigsRequest(resources=tuple(resources), include_synonyms=synonyms)


def _row(result: DescribeConfigsResult, one: DescribeConfigsEntry) -> ConfigRow:
    source = None if one.config_source < 0 else _source(one.config_source)
    return ConfigRow(
        resource_type=_NAMES.get(result.resource_type, str(result.resource_type)),
        resource_name=result.resource_name,
        name=one.name,
        value=None if one.is_sensitive else one.value,
        source=source,
        is_default=one.is_default if source is None else source == _DEFAULT,
        is_sensitive=one.is_sensitive,
        is_read_only=one.read_only,
        synonyms=tuple(
            ConfigSynonym(
                name=other.name,
                value=None if one.is_sensitive else other.value,
                source=_source(other.source),
            )
            for other in one.synonyms
        ),
    )


def _source(number: int) -> str:
    return CONFIG_SOURCES.get(number, f"UNKNOWN_{number}")
