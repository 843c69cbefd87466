"""Names the resources of a desired state, and says which rules and limits of a cluster a file can describe.

Without pydantic, which takes longer to load than all else that a command imports: most commands read no desired state.
"""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_lagoon.apply.kinds.names import DEFAULT, parse_quota_name
from kafka_lagoon.protocol import acls

# Sections of configs, by the resource type of their actions.
CONFIG_SECTIONS: Mapping[str, str] = {
    "broker": "broker_configs",
    "group": "group_configs",
    "client_metrics": "client_metrics",
}
# Sections of `owns`, by the resource types of actions.
OWNED: Mapping[str, str] = {
    "topic": "topics",
    "acl": "principals",
    "scram_user": "principals",
    "group": "groups",
    "quota": "quotas",
    "broker": "brokers",
    "client_metrics": "client_metrics",
}

PATTERN_TYPES, PERMISSIONS = ("LITERAL", "PREFIXED"), ("ALLOW", "DENY")
RESOURCE_TYPES = [name for number, name in acls.RESOURCE_TYPES.items() if number > acls.ANY]
OPERATIONS = [name for number, name in acls.OPERATIONS.items() if number > acls.ANY]
PRINCIPAL = re.compile(r"([^:]+):(.+)", re.DOTALL)
USER = "User"  # principals of other types must be announced, because most are typing errors

_LIMITS_OF_CLIENTS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
_LIMITS_OF_ADDRESSES = ("connection_creation_rate",)


class Acl(NamedTuple):
    """An access rule, by the names of Kafka's tools."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class ScramUser(NamedTuple):
    """A user and a mechanism: each user has credentials by mechanism."""

    name: str
    mechanism: str

    def __str__(self) -> str:
        return f"{self.name} {self.mechanism}"


def can_be_written(rule: Acl) -> bool:
    """True if a file can describe the rule: later releases may have more operations, and brokers accept empty names."""
    is_cluster = rule.resource_type == "CLUSTER"
    return (
        rule.resource_type in RESOURCE_TYPES
        and rule.operation in OPERATIONS
        and rule.pattern_type in PATTERN_TYPES
        and rule.permission in PERMISSIONS
        and bool(PRINCIPAL.fullmatch(rule.principal))
        and bool(rule.host)
        and (rule.resource_name == acls.CLUSTER_NAME if is_cluster else bool(rule.resource_name))
    )


def types_to_announce(rules: Iterable[Acl]) -> list[str]:
    """The values that `principal_types` needs so that a file may have these rules."""
    return sorted({rule.principal.partition(":")[0] for rule in rules} - {USER})


def limits_of(parts: Collection[str]) -> Sequence[str]:
    """The limits, by Kafka's names, that an entity with these parts can have."""
    return _LIMITS_OF_ADDRESSES if "ip" in parts else _LIMITS_OF_CLIENTS


def can_be_limit(key: str, value: float) -> bool:
    """True if a file can describe the limit of a quota."""
    return 0 <= value <= sys.float_info.max and (not key.endswith("byte_rate") or value == int(value))


def limits_to_write(name: str, limits: Mapping[str, float]) -> Mapping[str, float]:
    """The limits of an entity that a file can describe; none if its name cannot be written, as of a later release."""
    try:
        parts = dict(parse_quota_name(name))
    except ValueError:
        return {}
    if any(part in ("", DEFAULT) for part in parts.values()):
        return {}
    return {key: limit for key, limit in limits.items() if key in limits_of(parts) and can_be_limit(key, limit)}
