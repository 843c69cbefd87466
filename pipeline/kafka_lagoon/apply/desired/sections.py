"""Reads the sections of a desired state that describe resources: topics, configs, ACLs, quotas, users, features."""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.scram import FEWEST_ITERATIONS, MOST_ITERATIONS
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.fields import Fields, brokers_fault, is_number
from kafka_lagoon.apply.desired.state import (
    CONFIG_SECTIONS,
    DEFAULT,
    Acl,
    Credential,
    DesiredTopic,
    ScramUser,
)
from kafka_lagoon.apply.kinds.quotas import entity as quota_entity
from kafka_lagoon.apply.kinds.quotas import quota_name
from kafka_lagoon.apply.kinds.users import MECHANISMS
from kafka_lagoon.protocol import acls
from kafka_lagoon.secret import Secret

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)
_BROKER = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)
_PRINCIPAL = re.compile(r"([^:]+):(.+)", re.DOTALL)
_REFERENCE = re.compile(r"(?:env|file):.+", re.DOTALL)
_MOST_INT16 = 2**15 - 1
_USER = "User"  # principals of other types must be announced, because most are typing errors
_BY_CLIENT = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
_BY_ADDRESS = ("connection_creation_rate",)
ENTITY_PARTS: Mapping[str, str] = {"user": "user", "client_id": "client-id", "ip": "ip"}  # our field, Kafka's type

PATTERN_TYPES, PERMISSIONS = ("LITERAL", "PREFIXED"), ("ALLOW", "DENY")
RESOURCE_TYPES = [name for number, name in acls.RESOURCE_TYPES.items() if number > acls.ANY]
OPERATIONS = [name for number, name in acls.OPERATIONS.items() if number > acls.ANY]


def read_topics(root: Fields) -> dict[str, DesiredTopic]:
    """Every entry of `topics`, completed by `defaults.topics`."""
    defaults = root.table("defaults")
    defaults.only("topics")
    fields = defaults.table("topics")
    fields.only("partitions", "replication_factor", "configs")
    others = DesiredTopic(
        partitions=fields.number("partitions", 1),
        replication_factor=fields.number("replication_factor", 1, _MOST_INT16),
        assignments=None,
        configs=fields.configs("configs"),
    )
    section = root.table("topics")
    return {name: _topic(section, name, others) for name in section}


def _topic(section: Fields, name: str, others: DesiredTopic) -> DesiredTopic:
    if not _TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        section.fault("is no name of a topic: 1 to 249 letters, digits, dots, dashes and underscores", name)
    fields = section.table(name)
    fields.only("partitions", "replication_factor", "assignments", "configs")
    partitions = fields.number("partitions", 1)
    factor = fields.number("replication_factor", 1, _MOST_INT16)
    assignments = _assignments(fields)
    if assignments:
        partitions = _agreed(fields, "partitions", partitions, len(assignments), "assignments has {} partitions")
        factors = {len(brokers) for brokers in assignments.values()}
        if len(factors) > 1:
            fields.fault("partitions have different numbers of brokers", "assignments")
        factor = _agreed(fields, "replication_factor", factor, min(factors), "assignments has {} brokers each")
    return DesiredTopic(
        partitions=others.partitions if partitions is None else partitions,
        replication_factor=others.replication_factor if factor is None else factor,
        assignments=assignments,
        configs={**others.configs, **fields.configs("configs")},
    )


def _agreed(fields: Fields, key: str, written: int | None, assigned: int, reason: str) -> int:
    if written is not None and written != assigned:
        fields.fault(reason.format(assigned), key)
    return assigned


def _assignments(fields: Fields) -> dict[int, tuple[int, ...]] | None:
    """A list of lists, or a table by partition: `{ 0 = [1, 2], 1 = [2, 3] }`."""
    given = fields.raw("assignments")
    if given is None:
        return None
    entries = list(enumerate(given)) if isinstance(given, list) else _by_partition(given)
    if not entries:
        fields.fault("must be a list of the brokers of each partition, or a table of them by partition", "assignments")
        return None
    faults = {key: fault for key, brokers in entries if (fault := brokers_fault(brokers))}
    for key, fault in faults.items():
        fields.fault(fault, "assignments", key if isinstance(given, list) else str(key))
    if sorted(key for key, _ in entries) != list(range(len(entries))):
        fields.fault("must have every partition from 0 on", "assignments")
        return None
    return None if faults else {key: tuple(brokers) for key, brokers in sorted(entries)}


def _by_partition(given: Any) -> list[tuple[int, Any]]:
    if not isinstance(given, dict) or not all(_BROKER.fullmatch(key) for key in given):
        return []
    return [(int(key), brokers) for key, brokers in given.items()]


def read_configs(root: Fields) -> dict[str, dict[str, dict[str, str]]]:
    """Configs of brokers, groups and client metrics, by resource type and name."""
    configs: dict[str, dict[str, dict[str, str]]] = {}
    for resource_type, key in CONFIG_SECTIONS.items():
        section = root.table(key)
        configs[resource_type] = {name: section.table(name).configs() for name in section}
        for name in section:
            if resource_type == "broker" and name != DEFAULT and not _BROKER.fullmatch(name):
                section.fault(f"must be the id of a broker, or {DEFAULT} for all of them", name)
    return configs


def read_acls(root: Fields) -> dict[Acl, Path]:
    """Every rule of `acls`, one for each operation, and its place."""
    rules: dict[Acl, Path] = {}
    types = [_USER, *(root.texts("principal_types") or ())]
    for fields in root.tables("acls"):
        for rule in _rules(fields, types):
            if rule in rules:
                first = root.document.place(rules[rule])
                fields.fault(f"{rule.operation} is written a second time, first at {first}")
            rules.setdefault(rule, fields.path)
    return rules


def can_be_written(rule: Acl) -> bool:
    """True if a file can describe the rule: later releases may have more operations, and brokers accept empty names."""
    is_cluster = rule.resource_type == "CLUSTER"
    return (
        rule.resource_type in RESOURCE_TYPES
        and rule.operation in OPERATIONS
        and rule.pattern_type in PATTERN_TYPES
        and rule.permission in PERMISSIONS
        and bool(_PRINCIPAL.fullmatch(rule.principal))
        and bool(rule.host)
        and (rule.resource_name == acls.CLUSTER_NAME if is_cluster else bool(rule.resource_name))
    )


def types_to_announce(rules: Iterable[Acl]) -> list[str]:
    """The values that `principal_types` needs so that a file may have these rules."""
    return sorted({rule.principal.partition(":")[0] for rule in rules} - {_USER})


def _rules(fields: Fields, principal_types: Sequence[str]) -> list[Acl]:
    fields.only(
        "permission", "principal", "operation", "operations", "resource_type", "resource_name", "pattern_type", "host"
    )
    permission = fields.choice("permission", PERMISSIONS, "ALLOW")
    principal = fields.text("principal", needed=True)
    _check_principal(fields, principal, principal_types)
    resource_type = fields.choice("resource_type", RESOURCE_TYPES)
    is_cluster = resource_type == "CLUSTER"
    name = fields.text("resource_name", needed=not is_cluster)
    if is_cluster and name not in (None, acls.CLUSTER_NAME):
        fields.fault(f"a cluster has the one name {acls.CLUSTER_NAME}", "resource_name")
    name = acls.CLUSTER_NAME if is_cluster else name
    pattern_type = fields.choice("pattern_type", PATTERN_TYPES, "LITERAL")
    host = fields.text("host") if "host" in fields else acls.WILDCARD
    operations = _operations(fields)
    if not (permission and principal and resource_type and name and pattern_type and host):
        return []
    return [Acl(resource_type, name, pattern_type, principal, host, operation, permission) for operation in operations]


def _check_principal(fields: Fields, principal: str | None, types: Sequence[str]) -> None:
    if principal is None:
        return
    match = _PRINCIPAL.fullmatch(principal)
    if not match:
        fields.fault("must be TYPE:NAME, such as User:alice", "principal")
    elif match[1] not in types:
        known = ", ".join(types)
        reason = f"{match[1]!r} is not a type of principals that this cluster has ({known}; others: principal_types)"
        fields.fault(reason, "principal")


def _operations(fields: Fields) -> list[str]:
    if "operations" not in fields:
        operation = fields.choice("operation", OPERATIONS)
        return [operation] if operation else []
    if "operation" in fields:
        fields.fault("either operation or operations", "operation")
    several = fields.texts("operations") or []
    known = [name for name in several if name in OPERATIONS]
    for index, name in enumerate(several):
        if name not in OPERATIONS:
            fields.fault(f"{name!r} is not one of {', '.join(OPERATIONS)}", "operations", index)
    return known


def read_quotas(root: Fields) -> tuple[dict[str, dict[str, float]], dict[str, Path]]:
    """Limits by entity, and the place of each."""
    quotas: dict[str, dict[str, float]] = {}
    paths: dict[str, Path] = {}
    for fields in root.tables("quotas"):
        parts = {kind: name for key, kind in ENTITY_PARTS.items() if key in fields and (name := fields.text(key))}
        if not parts or ("ip" in parts and len(parts) > 1):
            fields.fault("needs user, client_id, or both, or ip alone")
            continue
        known = quota_keys(parts)
        fields.only(*ENTITY_PARTS, *known)
        entity = quota_name(quota_entity({kind: None if name == DEFAULT else name for kind, name in parts.items()}))
        if entity in quotas:
            fields.fault(f"{entity} is written a second time, first at {root.document.place(paths[entity])}")
            continue
        quotas[entity] = {key: limit for key in known if key in fields and (limit := _limit(fields, key)) is not None}
        paths[entity] = fields.path
    return quotas, paths


def quota_keys(parts: Collection[str]) -> Sequence[str]:
    """The limits, by Kafka's names, that an entity with these parts can have."""
    return _BY_ADDRESS if "ip" in parts else _BY_CLIENT


def limit_fault(key: str, value: Any) -> str | None:
    """The reason why a value is no limit. 0 is refused: brokers accept it, and nothing could be sent."""
    if not (is_number(value) or isinstance(value, float)) or not 0 <= value <= sys.float_info.max:
        return "must be a number from 0 on"
    return "must be a whole number of bytes" if key.endswith("byte_rate") and value != int(value) else None


def _limit(fields: Fields, key: str) -> float | None:
    value = fields.raw(key)
    if fault := limit_fault(key, value):
        fields.fault(fault, key)
        return None
    return float(value)


def read_scram_users(root: Fields) -> dict[ScramUser, Credential]:
    """Every user and mechanism of `scram_users`."""
    section = root.table("scram_users")
    users: dict[ScramUser, Credential] = {}
    for name in section:
        mechanisms = section.table(name)
        mechanisms.only(*MECHANISMS)
        for mechanism in filter(MECHANISMS.__contains__, mechanisms):
            fields = mechanisms.table(mechanism)
            fields.only("iterations", "password")
            users[ScramUser(name, mechanism)] = Credential(
                iterations=fields.number("iterations", FEWEST_ITERATIONS, MOST_ITERATIONS),
                password=_password(fields),
            )
    return users


def _password(fields: Fields) -> Secret | None:
    """A reference, because these files are kept in version control; the text itself is never part of a message."""
    text = fields.text("password")
    if text is None:
        return None
    if not _REFERENCE.fullmatch(text):
        fields.fault("must be a reference, env:NAME or file:/path, and not the password itself", "password")
        return None
    return Secret(text)


def read_features(root: Fields) -> dict[str, int]:
    """Levels by feature."""
    section = root.table("features")
    levels = {name: section.number(name, 0, _MOST_INT16) for name in section}
    return {name: level for name, level in levels.items() if level is not None}
