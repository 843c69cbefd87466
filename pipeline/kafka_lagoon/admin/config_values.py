"""Reads the values that configs have before an alteration: the resource's own, and the inherited ones."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_lagoon.admin.configs import (
    ALL_BROKERS,
    PER_BROKER,
    TYPE_NAMES,
    Configs,
    describe_broker_configs,
    describe_configs,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DESCRIBE_CONFIGS,
    GROUP,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsSynonym,
)

SENSITIVE = "(sensitive)"  # stands for a value that is set and that nobody can read
_OF_ALL_BROKERS = 3  # sources, see CONFIG_SOURCES
_OWN_SOURCES: Mapping[int, int] = {TOPIC: 1, BROKER: 2, BROKER_LOGGER: 6, CLIENT_METRICS: 7, GROUP: 8}
# Kafka's configs of type PASSWORD end so, and secrets of plugins. Brokers do not list such a config that is not set under the
# prefix of a listener, or that they do not know; once it is set, they list it as sensitive.
_SECRET_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "jaas.config",
    ".key",
    "access_key",
    "accesskey",
    "apikey",
    "certificate.chain",
    "certificates",
)
# The prefix of a listener, and of its JAAS configs also a mechanism: listener.name.inside.scram-sha-256.sasl.jaas.config.
_OF_LISTENER = re.compile(r"^listener\.name\.[^.]+\.(?:[^.]+\.(?=sasl\.jaas\.config$))?")
_MILLISECONDS = {".hours": 3_600_000, ".minutes": 60_000, ".ms": 1}


class ConfigResource(NamedTuple):
    """A resource that has configs: a type of DescribeConfigs, and a name. The empty name stands for all brokers."""

    resource_type: int
    name: str

    @property
    def is_one_broker(self) -> bool:
        """True if only the broker itself describes and alters it."""
        return self.resource_type in PER_BROKER and self.name != ""

    def scope(self) -> Scope:
        """The scope of a failure about the resource."""
        if self.resource_type == TOPIC:
            return Scope.of_topic(self.name)
        return Scope.group(self.name) if self.resource_type == GROUP else Scope.config(f"{self}")

    def __str__(self) -> str:
        return f"{TYPE_NAMES[self.resource_type]} {self.name or ALL_BROKERS}"


@frozen(kw_only=False)
class ConfigValue:
    """A config of a resource.

    `own` is set on the resource itself, None if it is not; SENSITIVE stands for a value that nobody can read. `inherited` is
    the value in force without it: None if there is none, or if the broker does not return it.
    """

    own: str | None
    inherited: str | None
    is_sensitive: bool
    is_read_only: bool
    config_type: int

    @property
    def effective(self) -> str | None:
        """The value in force."""
        return self.inherited if self.own is None else self.own


Values = Mapping[str, ConfigValue]


def is_sensitive(values: Values, name: str) -> bool:
    """True if a config holds a secret: as the broker says, or by its name if the broker does not list it."""
    return values[name].is_sensitive if name in values else name.lower().endswith(_SECRET_ENDINGS)


def without_listener(name: str) -> str:
    """The name of a config without the prefix of a listener: its value applies where the listener's own is not set."""
    return _OF_LISTENER.sub("", name)


def config_values(
    cluster: Cluster, resources: Sequence[ConfigResource], deadline: Deadline
) -> Mapping[ConfigResource, Values | Failure]:
    """All configs of these resources by name, or the failure."""
    known: dict[ConfigResource, Values | Failure] = {}
    for resource_type in dict.fromkeys(resource.resource_type for resource in resources):
        of_type = [one for one in resources if one.resource_type == resource_type]
        shared = [one for one in of_type if not one.is_one_broker]
        brokers = [one for one in of_type if one.is_one_broker]
        if shared:
            names = [one.name for one in shared]
            known |= _by_resource(shared, describe_configs(cluster, resource_type, names, deadline))
        if brokers:
            ids = [int(one.name) for one in brokers]
            known |= _by_resource(brokers, describe_broker_configs(cluster, resource_type, ids, deadline))
    return known


def _by_resource(resources: Sequence[ConfigResource], configs: Configs) -> Mapping[ConfigResource, Values | Failure]:
    """The answers, and for each other resource its own failure, or the failure of a request about many resources."""
    answered = {ConfigResource(result.resource_type, result.resource_name): result for result in configs.results}
    failures = {failure.scope: failure for failure in configs.failures}
    left_out = own_failure(DESCRIBE_CONFIGS, Scope.config("settings"), "PROTOCOL_ERROR", "the answer leaves it out")
    of_many = next((failure for failure in configs.failures if failure.scope.items > 1), left_out)
    known: dict[ConfigResource, Values | Failure] = {}
    for resource in resources:
        if resource in answered:
            known[resource] = {entry.name: _value(resource, entry) for entry in answered[resource].configs}
        else:
            known[resource] = next((failures[scope] for scope in _scopes(resource) if scope in failures), of_many)
    return known


def _scopes(resource: ConfigResource) -> Sequence[Scope]:
    """The scopes that a failure about the resource alone may have."""
    broker = [Scope.broker(int(resource.name))] if resource.is_one_broker else []
    return [resource.scope(), *broker]


def _value(resource: ConfigResource, entry: DescribeConfigsEntry) -> ConfigValue:
    own_source = _OF_ALL_BROKERS if resource == (BROKER, "") else _OWN_SOURCES[resource.resource_type]
    is_own = entry.config_source == own_source
    if entry.config_source < 0 and resource.resource_type == TOPIC:
        # Kafka 0.11 and 1.0 return no sources: a value is set on the topic, or it is a default.
        is_own = not entry.is_default
    own = entry.value if is_own else None
    if is_own and entry.is_sensitive:
        own = SENSITIVE
    others = [one for one in entry.synonyms if one.source != own_source]
    return ConfigValue(
        own=own,
        inherited=_inherited(entry.name, others) if is_own or entry.value is None else entry.value,
        is_sensitive=entry.is_sensitive,
        is_read_only=entry.read_only,
        config_type=entry.config_type,
    )


def _inherited(name: str, synonyms: Sequence[DescribeConfigsSynonym]) -> str | None:
    """The first value of another source, in the unit of the config: log.retention.hours is one of retention.ms."""
    for synonym in synonyms:
        if synonym.value is not None:
            return _in_unit_of(name, synonym.name, synonym.value)
    return None


def _in_unit_of(name: str, synonym: str, value: str) -> str:
    units = {suffix: factor for suffix, factor in _MILLISECONDS.items() if synonym.endswith(suffix)}
    if not name.endswith(".ms") or not units or value.startswith("-"):
        return value
    return str(int(value) * next(iter(units.values())))
