"""Makes live states, as `read_live` returns them, and desired states, for tests of pure functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.config_values import ConfigValue
from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.desired.reading import desired_state, toml_document
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.live import Live, LivePartition, LiveTopic
from kafka_lagoon.protocol.messages.metadata import MetadataPartition, MetadataTopic

LONG, LIST, STRING, PASSWORD = 5, 7, 2, 9
KNOWN: Mapping[str, Mapping[str, int]] = {
    "topic": {"retention.ms": LONG, "cleanup.policy": LIST, "min.insync.replicas": 3, "compression.type": STRING},
    "broker": {"log.cleaner.threads": 3, "ssl.keystore.password": PASSWORD, "broker.id": 3, "min.insync.replicas": 3},
    "group": {"consumer.session.timeout.ms": 3},
    "client_metrics": {"interval.ms": 3, "metrics": LIST, "match": LIST},
}


def desired(text: str) -> DesiredState:
    """Parse a desired state of cluster `c` from TOML."""
    return desired_state(toml_document("x.toml", f'cluster_id = "c"\n{text}'), 0)


def values(resource_type: str, own: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Make all configs of a resource; the configs in `own` are set explicitly."""
    return {
        key: ConfigValue(
            own=own.get(key),
            inherited=None,
            is_sensitive=kind == PASSWORD,
            is_read_only=key == "broker.id",
            config_type=kind,
        )
        for key, kind in KNOWN[resource_type].items()
    }


def topic(name: str, replicas: Sequence[Sequence[int]], *, internal: bool = False) -> LiveTopic:
    """Make a topic with these replicas, all in sync; the first replica leads."""
    partitions = [
        MetadataPartition(
            error_code=0,
            partition_index=number,
            leader_id=brokers[0],
            leader_epoch=0,
            replica_nodes=tuple(brokers),
            isr_nodes=tuple(brokers),
            offline_replicas=(),
        )
        for number, brokers in enumerate(replicas)
    ]
    metadata = MetadataTopic(
        error_code=0, name=name, topic_id=b"\x01" * 16, is_internal=internal, partitions=tuple(partitions)
    )
    return LiveTopic(
        metadata=metadata,
        partitions={
            number: LivePartition(replicas=tuple(brokers), isr=tuple(brokers), leader_id=brokers[0])
            for number, brokers in enumerate(replicas)
        },
    )


def live(
    topics: Mapping[str, LiveTopic] | None = None,
    configs: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
    brokers: int = 3,
    **other: Any,
) -> Live:
    """Make the live state of cluster `c`; `configs` are explicitly set configs by resource type and name."""
    set_on = {"topic": {name: {} for name in topics or {}}, "broker": {"1": {}, "<default>": {}}, "group": {}}
    for resource_type, by_name in (configs or {}).items():
        set_on[resource_type] = {**set_on.get(resource_type, {}), **by_name}
    facts: dict[str, Any] = {
        "cluster_id": "c",
        "racks": {broker_id: "abc"[broker_id % 3] for broker_id in range(1, brokers + 1)},
        "down": frozenset(),
        "topics": topics or {},
        "hidden_topics": frozenset(),
        "configs": {
            resource_type: {name: values(resource_type, own) for name, own in by_name.items()}
            for resource_type, by_name in set_on.items()
        },
        "known_configs": {resource_type: values(resource_type, {}) for resource_type in KNOWN},
        "acls": frozenset(),
        "quotas": {},
        "scram_users": {},
        "features": {"metadata.version": FeatureLevels(25, 7, 30)},
        "failures": [],
    }
    return Live(**{**facts, **other})
