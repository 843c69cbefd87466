"""Makes rows of configs. A source or type that has no name here becomes UNKNOWN_n and is never dropped."""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from kafka_lagoon.admin.configs import (
    ALL_BROKERS,
    TYPE_NAMES,
    Configs,
    describe_broker_configs,
    describe_configs,
    have_group_configs,
    resources_with_configs,
)
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    CLIENT_METRICS,
    CONFIG_SOURCES,
    CONFIG_TYPES,
    DESCRIBE_CONFIGS,
    GROUP,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafka_lagoon.protocol.messages.list_config_resources import LIST_CONFIG_RESOURCES
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.snapshot.topology import TOPIC_DELETED, Topology
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import ConfigRow, ConfigSynonym
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.tables.row_columns import Chosen, Columns, Runs
from kafka_lagoon.tables.table_states import marshalled

OF_GROUP = "GROUP_CONFIG"
_DEFAULT = "DEFAULT_CONFIG"
_OF_ALL_BROKERS = ""  # the empty resource name that stands for all brokers in requests
_OF_RESOURCE = ("resource_type", "resource_name")
_UNNAMED = DescribeConfigsResult(error_code=0, error_message=None, resource_type=TOPIC, resource_name="", configs=())
# Equal configs are decoded once and are one object, as long as they are among the last few; here they are recognized by that.
# 100k topics: 0.1 s; by what the configs are it would be seconds.
_RECENT = 32


class ConfigColumns(Columns[ConfigRow]):
    """Rows of configs. Resources that have the same configs, as most topics do, share them.

    `resources` have a type, a name, and an index into `same`, whose `contents` are bytes to compare.
    """

    row = ConfigRow

    def __init__(
        self, resources: Sequence[tuple[str, str, int]], same: Sequence[Sequence[ConfigRow]], contents: Sequence[bytes]
    ) -> None:
        self._resources, self._same, self._contents = resources, same, contents
        self._rows = list(chain.from_iterable(same))
        starts = accumulate(map(len, same), initial=0)
        ranges = [array("i", range(start, start + len(rows))) for start, rows in zip(starts, same, strict=False)]
        self._places = array("i")
        for _, _, place in resources:
            self._places.extend(ranges[place])

    def __len__(self) -> int:
        return len(self._places)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Chosen:
        """The values of a field in the rows from `start` to `stop`."""
        if name in _OF_RESOURCE:
            counts = (len(self._same[place]) for _, _, place in self._resources)
            return Runs(counts, [resource[_OF_RESOURCE.index(name)] for resource in self._resources])[start:stop]
        return Chosen(self._places[start:stop], [getattr(row, name) for row in self._rows])

    def content(self) -> Iterable[object]:
        """Values that are equal for equal rows only."""
        yield list(self._resources)
        yield list(self._contents)


def config_columns(parts: Iterable[Sequence[DescribeConfigsResult]]) -> ConfigColumns:
    """Rows of several lists of resources in their order, each list ordered by name."""
    resources: list[tuple[str, str, int]] = []
    same: list[list[ConfigRow]] = []
    by_content: dict[bytes, int] = {}
    recent: deque[tuple[object, int]] = deque(maxlen=_RECENT)
    for result in chain.from_iterable(sorted(part, key=_name_of) for part in parts):
        place = _place_of(result.configs, recent)
        if place is None:
            rows = [_config_row(_UNNAMED, config) for config in sorted(result.configs, key=lambda entry: entry.name)]
            place = by_content.setdefault(marshalled(rows), len(same))
            same += [rows] if place == len(same) else []
            recent.appendleft((result.configs, place))
        resources.append((_type_name(result), _resource_name(result), place))
    return ConfigColumns(resources, same, list(by_content))


def _place_of(configs: object, recent: Iterable[tuple[object, int]]) -> int | None:
    """The place of this object among those that were seen last."""
    for seen, place in recent:
        if seen is configs:
            return place
    return None


def config_rows(results: Iterable[DescribeConfigsResult]) -> Iterator[ConfigRow]:
    """One row per resource and config, ordered by name."""
    for result in sorted(results, key=_name_of):
        for config in sorted(result.configs, key=lambda entry: entry.name):
            yield _config_row(result, config)


def _config_row(result: DescribeConfigsResult, config: DescribeConfigsEntry) -> ConfigRow:
    source = None if config.config_source < 0 else named(CONFIG_SOURCES, config.config_source)
    return ConfigRow(
        resource_type=_type_name(result),
        resource_name=_resource_name(result),
        name=config.name,
        value=None if config.is_sensitive else config.value,
        source=source,
        config_type=named(CONFIG_TYPES, config.config_type) if config.config_type else None,
        is_default=config.is_default if source is None else source == _DEFAULT,
        is_sensitive=config.is_sensitive,
        is_read_only=config.read_only,
        synonyms=tuple(_synonym(synonym, is_sensitive=config.is_sensitive) for synonym in config.synonyms),
    )


def _name_of(result: DescribeConfigsResult) -> str:
    return result.resource_name


def _type_name(result: DescribeConfigsResult) -> str:
    return TYPE_NAMES.get(result.resource_type, str(result.resource_type))


def _resource_name(result: DescribeConfigsResult) -> str:
    shared = result.resource_type == BROKER and result.resource_name == _OF_ALL_BROKERS
    return ALL_BROKERS if shared else result.resource_name


def _synonym(synonym: DescribeConfigsSynonym, *, is_sensitive: bool) -> ConfigSynonym:
    value = None if is_sensitive else synonym.value
    return ConfigSynonym(name=synonym.name, value=value, source=named(CONFIG_SOURCES, synonym.source))


def _collect(collection: Collection) -> Collected:
    """Read configs of topics, of each broker, of all brokers together, of client metrics and of groups."""
    cluster, deadline = collection.cluster, collection.deadline
    parts = [
        describe_configs(cluster, TOPIC, list(_existing_topics(collection.topology)), deadline),
        describe_configs(cluster, BROKER, [_OF_ALL_BROKERS], deadline),
        describe_broker_configs(cluster, BROKER, collection.topology.broker_ids(), deadline),
    ]
    listed = resources_with_configs(cluster, deadline)
    failures = []
    if isinstance(listed, Failure):
        failures.append(listed)
    else:
        parts.append(describe_configs(cluster, CLIENT_METRICS, listed[CLIENT_METRICS], deadline))
        groups = listed[GROUP] if GROUP in listed else _newer_groups(cluster, collection.of(ConsumerGroupRow))
        parts.append(_configured(describe_configs(cluster, GROUP, groups, deadline)))
    rows = config_columns(part.results for part in parts)
    return Collected(rows, [*failures, *(failure for part in parts for failure in part.failures)])


def _existing_topics(topology: Topology) -> Iterator[str]:
    return (topic for topic in topology.partitions if topology.changed.get(topic) != TOPIC_DELETED)


def _newer_groups(cluster: Cluster, groups: Iterable[ConsumerGroupRow]) -> Sequence[str]:
    """Groups that may have configs of their own, for brokers that cannot list them."""
    if not have_group_configs(cluster):
        return ()
    return [group.group_id for group in groups if group.group_type not in {None, "classic"}]


def _configured(groups: Configs) -> Configs:
    """Leave out groups that have only defaults, as brokers that can list groups with configs do."""
    own = (
        result
        for result in groups.results
        if any(CONFIG_SOURCES.get(config.config_source) == OF_GROUP for config in result.configs)
    )
    return replace(groups, results=list(own))


CONFIGS = Collector(
    table=state_tables.CONFIGS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_CONFIGS, LIST_CONFIG_RESOURCES),
    permissions=(
        Permission(acls.DESCRIBE_CONFIGS, acls.TOPIC, "configs of topics are refused"),
        Permission(acls.DESCRIBE_CONFIGS, acls.CLUSTER, "configs of brokers and client metrics are refused"),
        Permission(acls.DESCRIBE_CONFIGS, acls.GROUP, "configs of groups are refused"),
    ),
    required=False,
    may_be_skipped=True,
)
