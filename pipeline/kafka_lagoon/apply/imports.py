"""Reads a whole cluster as a desired state. A plan that is made of it at once is empty.

Left out is what a file cannot say: sensitive values, passwords, topics in which brokers keep their own state, and delegation
tokens. Groups, their offsets, and records are no desired state.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from kafka_lagoon.admin.config_values import SENSITIVE
from kafka_lagoon.apply.desired.resources import (
    CONFIG_SECTIONS,
    Acl,
    can_be_written,
    limits_to_write,
    types_to_announce,
)
from kafka_lagoon.apply.kinds.names import DEFAULT, parse_quota_name
from kafka_lagoon.apply.kinds.quotas import number
from kafka_lagoon.apply.kinds.users import MECHANISMS
from kafka_lagoon.apply.live import Live, LiveTopic
from kafka_lagoon.apply.live_reading import Wanted, read_live
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import FEWEST_ITERATIONS, MOST_ITERATIONS

# A feature that a cluster does not offer is no failure.
_NOT_OFFERED = frozenset({UNSUPPORTED, "SECURITY_DISABLED"})
_PARTS = {"user": "user", "client-id": "client_id", "ip": "ip"}


@frozen
class Imported:
    """A desired state as plain values, a description of what was left out, and failures."""

    state: Mapping[str, Any]
    notes: Sequence[str]
    failures: Sequence[Failure]


def import_state(cluster: Cluster, deadline: Deadline, *, with_assignments: bool = False) -> Imported:
    """Read a cluster's state; with the brokers of each partition if `with_assignments`."""
    everything = Wanted(
        configs=dict.fromkeys(("topic", *CONFIG_SECTIONS)),
        acls=True,
        quotas=True,
        scram_users=True,
        features=True,
        reassignments=lambda _: True,
    )
    live = read_live(cluster, everything, deadline)
    missing = [failure for failure in live.failures if failure.name in _NOT_OFFERED]
    return Imported(
        state=state_of(live, with_assignments=with_assignments),
        notes=[*(f"left out, {one.name}: {one.scope}" for one in missing), *left_out(live)],
        failures=[*(failure for failure in live.failures if failure not in missing), *cluster.refusals],
    )


def state_of(live: Live, *, with_assignments: bool) -> dict[str, Any]:
    """A desired state as in a file, without empty sections."""
    sections = {
        "features": {name: one.level for name, one in sorted((live.features or {}).items()) if one.level},
        "topics": {
            name: _topic(live, name, topic, with_assignments=with_assignments)
            for name, topic in sorted(live.topics.items())
            if not topic.is_internal
        },
        **{section: _configs(live, resource_type) for resource_type, section in CONFIG_SECTIONS.items()},
        "principal_types": types_to_announce(filter(can_be_written, live.acls or ())),
        "acls": _acls(live),
        "quotas": _quotas(live),
        "scram_users": _scram_users(live),
    }
    return {"cluster_id": live.cluster_id or "", **{name: section for name, section in sections.items() if section}}


def _topic(live: Live, name: str, topic: LiveTopic, *, with_assignments: bool) -> dict[str, Any]:
    factor, configs = topic.replication_factor, _own(live, "topic", name)
    entry: dict[str, Any] = {"partitions": len(topic.partitions)}
    entry |= {"replication_factor": factor} if factor is not None else {}
    if with_assignments and factor is not None:
        entry["assignments"] = [list(partition.target) for partition in topic.partitions.values()]
    return entry | ({"configs": configs} if configs else {})


def _own(live: Live, resource_type: str, name: str) -> dict[str, str]:
    own = live.own_configs(resource_type, name)
    return {key: value for key, value in own.items() if value != SENSITIVE}


def _configs(live: Live, resource_type: str) -> dict[str, dict[str, str]]:
    names = sorted(live.configs.get(resource_type, {}), key=lambda name: (name != DEFAULT, len(name), name))
    configs = {name: _own(live, resource_type, name) for name in names}
    return {name: own for name, own in configs.items() if own}


def _acls(live: Live) -> list[dict[str, Any]]:
    """Rules that differ only in their operations become one entry."""

    def beside_operation(rule: Acl) -> Acl:
        return rule._replace(operation="")

    rules = sorted(
        (rule for rule in live.acls or () if can_be_written(rule)), key=lambda rule: (beside_operation(rule), rule)
    )
    return [
        {
            "permission": rule.permission,
            "principal": rule.principal,
            "operations": sorted(one.operation for one in some),
            "resource_type": rule.resource_type,
            "resource_name": rule.resource_name,
            "pattern_type": rule.pattern_type,
            "host": rule.host,
        }
        for rule, some in groupby(rules, beside_operation)
    ]


def _quotas(live: Live) -> list[dict[str, Any]]:
    entries = []
    for name, limits in sorted((live.quotas or {}).items()):
        kept = limits_to_write(name, limits)
        if kept:
            entity = {_PARTS[kind]: DEFAULT if part is None else part for kind, part in parse_quota_name(name)}
            entries.append({**entity, **{key: number(kept[key]) for key in sorted(kept)}})
    return entries


def _scram_users(live: Live) -> dict[str, dict[str, dict[str, int]]]:
    users: dict[str, dict[str, dict[str, int]]] = {}
    for user, iterations in sorted((live.scram_users or {}).items()):
        if user.mechanism in MECHANISMS:
            is_limited = FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS
            users.setdefault(user.name, {})[user.mechanism] = {"iterations": iterations} if is_limited else {}
    return users


def left_out(live: Live) -> list[str]:
    """A description of what `state_of` leaves out."""
    notes = [
        f"left out, its value is sensitive: {key} of {resource_type} {name}"
        for resource_type, by_name in live.configs.items()
        for name in by_name
        for key, value in live.own_configs(resource_type, name).items()
        if value == SENSITIVE
    ]
    uneven = [name for name, topic in live.topics.items() if topic.replication_factor is None and not topic.is_internal]
    notes += [f"partitions of topic {name} have different numbers of replicas: left as they are" for name in uneven]
    unknown = sum(not can_be_written(rule) for rule in live.acls or ())
    notes += [f"left out, no file can say them: {unknown} ACLs"] if unknown else []
    return notes + _left_out_limits(live) + _left_out_users(live)


def _left_out_limits(live: Live) -> list[str]:
    notes = []
    for name, limits in (live.quotas or {}).items():
        kept = limits_to_write(name, limits)
        notes += [f"left out, no file can say it: {key} of quota {name}" for key in limits if key not in kept]
    return notes


def _left_out_users(live: Live) -> list[str]:
    return [
        f"left out, no file can say it: the iterations or the mechanism of {user}"
        for user, iterations in (live.scram_users or {}).items()
        if user.mechanism not in MECHANISMS or not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS
    ]
