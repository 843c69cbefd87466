"""Makes rows of configs. A source that has no name here becomes UNKNOWN_n and is never dropped."""

from collections.abc import Iterable, Iterator

from kafka_lagoon.admin.configs import TYPE_NAMES
from kafka_lagoon.protocol.messages.describe_configs import (
    CONFIG_SOURCES,
    DescribeConfigsEntry,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafka_lagoon.row_classes import ALWAYS, before, column, row

_DEFAULT = "DEFAULT_CONFIG"


@row
class ConfigSynonym:
    """A value that a config has, or would have, from another source."""

    name: str = column("Name of the config there.")
    value: str | None = column("Its value there; null if it is sensitive, or has none.", null_if=ALWAYS)
    source: str = column("The source, as Kafka names it.")


@row
class ConfigRow:
    """Configs of resources, one row per resource and config."""

    resource_type: str = column("topic, broker, broker-logger, client-metrics or group.")
    resource_name: str = column("Name of the topic or group, id of the broker.")
    name: str = column("Name of the config.")
    value: str | None = column("Its value; null if it is sensitive, or has none.", null_if=ALWAYS)
    source: str | None = column(
        "Where the value comes from, as Kafka names it; null if the broker does not return it.",
        null_if=before("DescribeConfigs", 1),
    )
    is_default: bool = column("Whether nobody has set it.")
    is_sensitive: bool = column("Whether its value is never returned.")
    is_read_only: bool = column("Whether it cannot be changed while the broker runs.")
    synonyms: tuple[ConfigSynonym, ...] = column("Values that it has, or would have, from other sources.")


def config_rows(results: Iterable[DescribeConfigsResult]) -> Iterator[ConfigRow]:
    """One row per resource and config, ordered by name."""
    for result in sorted(results, key=lambda result: result.resource_name):
        for config in sorted(result.configs, key=lambda entry: entry.name):
            yield _config_row(result, config)


def _config_row(result: DescribeConfigsResult, config: DescribeConfigsEntry) -> ConfigRow:
    source = None if config.config_source < 0 else _source(config.config_source)
    return ConfigRow(
        resource_type=TYPE_NAMES.get(result.resource_type, str(result.resource_type)),
        resource_name=result.resource_name,
        name=config.name,
        value=None if config.is_sensitive else config.value,
        source=source,
        is_default=config.is_default if source is None else source == _DEFAULT,
        is_sensitive=config.is_sensitive,
        is_read_only=config.read_only,
        synonyms=tuple(_synonym(synonym, is_sensitive=config.is_sensitive) for synonym in config.synonyms),
    )


def _synonym(synonym: DescribeConfigsSynonym, *, is_sensitive: bool) -> ConfigSynonym:
    value = None if is_sensitive else synonym.value
    return ConfigSynonym(name=synonym.name, value=value, source=_source(synonym.source))


def _source(number: int) -> str:
    return CONFIG_SOURCES.get(number, f"UNKNOWN_{number}")
