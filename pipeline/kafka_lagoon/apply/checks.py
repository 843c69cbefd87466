"""Finds the faults of a desired state that depend on the cluster, all of them before anything is planned; and warnings."""

import re
from collections.abc import Iterator

from kafka_lagoon.admin.brokers import no_broker
from kafka_lagoon.apply.config_texts import type_fault
from kafka_lagoon.apply.desired.document import Path
from kafka_lagoon.apply.desired.model import DesiredTopic
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.diff import differs, written_configs
from kafka_lagoon.apply.kinds.names import DEFAULT
from kafka_lagoon.apply.kinds.topic_guards import MIN_ISR, min_isr_note
from kafka_lagoon.apply.live import Live, LiveTopic
from kafka_lagoon.text import did_you_mean

_DEFAULTS: Path = ("defaults", "topics")
_REFERENCE = re.compile(r"(?:env|file):.+", re.DOTALL)


def wrong_cluster(desired: DesiredState, live: Live) -> str | None:
    """The fault of a file that is about another cluster; other faults would mean nothing then."""
    if desired.cluster_id == live.cluster_id:
        return None
    return desired.fault(("cluster_id",), f"is {desired.cluster_id}, and the cluster's is {live.cluster_id}")


def faults_of(desired: DesiredState, live: Live) -> list[str]:
    """All faults, with the places where they are written."""
    return [
        *_topic_faults(desired, live),
        *_config_faults(desired, live),
        *_scram_faults(desired, live),
        *_feature_faults(desired, live),
    ]


def _topic_faults(desired: DesiredState, live: Live) -> Iterator[str]:
    for name, topic in desired.topics.items():
        if name in live.hidden_topics:
            continue  # the plan has the failure, and is not carried out
        known = live.topics.get(name)
        before = len(known.partitions) if known else 0
        if topic.partitions is not None and topic.partitions < before:
            reason = f"{topic.partitions} are fewer than the {before} that topic {name} has"
            yield desired.fault(_number_path(desired, name, topic, "partitions"), reason)
        factor = topic.replication_factor
        if factor is not None and factor > len(live.racks) and (known is None or factor != known.replication_factor):
            reason = f"{factor} is more than the {len(live.racks)} brokers of the cluster"
            yield desired.fault(_number_path(desired, name, topic, "replication_factor"), reason)
        yield from _assignment_faults(desired, live, name, topic, known)


def _number_path(desired: DesiredState, name: str, topic: DesiredTopic, key: str) -> Path:
    """The path of a number of a topic: its own, that of its assignments, or that of the defaults."""
    path = ("topics", name, key)
    if path in desired.document.places:
        return path
    return ("topics", name, "assignments") if topic.assignments else (*_DEFAULTS, key)


def _assignment_faults(
    desired: DesiredState, live: Live, name: str, topic: DesiredTopic, known: LiveTopic | None
) -> Iterator[str]:
    for number, brokers in (topic.assignments or {}).items():
        there = known.partitions[number].replicas if known and number in known.partitions else ()
        for broker_id in brokers:
            if broker_id not in there and (reason := broker_fault(live, broker_id)):
                yield desired.fault(("topics", name, "assignments"), f"partition {number}: {reason}")


def broker_fault(live: Live, broker_id: int) -> str | None:
    """The reason why a broker can have nothing new; None if it runs, or if that is not known: then the plan has the failure."""
    if broker_id in live.racks:
        return None
    if broker_id in live.down:
        return f"broker {broker_id} does not run"
    return no_broker(broker_id, live.racks) if live.knows_brokers else None


def min_isr_notes(desired: DesiredState, live: Live) -> Iterator[str]:
    """Warnings about topics that get fewer replicas than min.insync.replicas."""
    for name, topic in desired.topics.items():
        known = live.topics.get(name)
        factor = topic.replication_factor or (known.replication_factor if known else None)
        value = topic.configs.get(MIN_ISR, "")
        if known and factor == known.replication_factor and live.own_configs("topic", name).get(MIN_ISR) == value:
            continue  # the topic has the desired value already
        if factor is not None and (note := min_isr_note(name, value, factor)):
            yield note


def _config_faults(desired: DesiredState, live: Live) -> Iterator[str]:
    for resource_type, name, configs, path in written_configs(desired):
        if resource_type == "broker" and name != DEFAULT and int(name) not in live.racks:
            if reason := broker_fault(live, int(name)):
                advice = ", so its configs cannot be read or altered: start it, or leave them out"
                yield desired.fault(path, reason + (advice if int(name) in live.down else ""))
            continue
        for key, text in configs.items():
            if reason := _config_fault(live, resource_type, key, text):
                yield desired.fault(config_path(desired, path, key), reason)


def config_path(desired: DesiredState, path: Path, key: str) -> Path:
    """The path of a config, or that of the defaults. In TOML, a config's name without quotes is a path of several keys."""
    tables = [path, (*_DEFAULTS, "configs")] if path[0] == "topics" else [path]
    paths = [(*table, *keys) for table in tables for keys in (key.split("."), [key])]
    return next((one for one in paths if one in desired.document.places), (*path, key))


def _config_fault(live: Live, resource_type: str, key: str, text: str) -> str | None:
    """The fault of a config, or None; also None if the brokers list no configs."""
    value, known = live.known(resource_type, key), live.known_configs.get(resource_type)
    if not known:
        return None
    if value is None:
        return f"is not a config of a {resource_type.replace('_', ' ')}{did_you_mean(key, known)}"
    if value.is_read_only:
        return "is read-only: it is set in the file server.properties of each broker"
    if value.is_sensitive and not _REFERENCE.fullmatch(text):
        return "is sensitive: it must be a reference, env:NAME or file:/path, and not the value itself"
    return None if value.is_sensitive else type_fault(value.config_type, text)


def _scram_faults(desired: DesiredState, live: Live) -> Iterator[str]:
    if live.scram_users is None:
        return
    for user, credential in desired.scram_users.items():
        if credential.password is None and differs(user, credential, live.scram_users):
            yield desired.fault(
                ("scram_users", *user), "password is missing: it is needed to create or change the user"
            )


def _feature_faults(desired: DesiredState, live: Live) -> Iterator[str]:
    if live.features is None:
        return
    for name, level in desired.features.items():
        known = live.features.get(name)
        if known is None:
            yield desired.fault(
                ("features", name), f"is not a feature of the cluster{did_you_mean(name, live.features)}"
            )
        elif level not in (known.level, 0) and not known.lowest <= level <= known.highest:
            reason = f"{level} is not a level that all brokers can run ({known.lowest} to {known.highest})"
            yield desired.fault(("features", name), reason)
