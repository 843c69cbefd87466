"""Says which topics, and which numbers of partitions, need a guard."""

import re
from collections.abc import Iterator, Sequence

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.text import counted

MIN_ISR = "min.insync.replicas"

# Brokers keep their own data in these topics: commits, transactions, state of share groups, metadata of the cluster and of
# tiered storage.
_INTERNAL = frozenset(
    {
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
    }
)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_MANY_PARTITIONS, MOST_PARTITIONS = 2_000, 10_000  # the controller refuses more partitions in one request


def is_internal_name(topic: str) -> bool:
    """Return True for a topic in which brokers keep their own data; they do not call all of these internal."""
    return topic in _INTERNAL


def internal_guards(topic: str) -> frozenset[Guard]:
    """Guards for destroying something of a topic, beside those of every topic."""
    return frozenset({Guard.INTERNAL_TOPICS}) if is_internal_name(topic) else frozenset()


def partition_guards(added: int) -> frozenset[Guard]:
    """Guards for a topic with this many partitions."""
    return frozenset({Guard.MANY_PARTITIONS}) if added > MOST_PARTITIONS else frozenset()


def partition_notes(actions: Sequence[Action]) -> Iterator[str]:
    """Warnings about topics with several thousand partitions: each costs files, memory and time of elections."""
    for action in actions:
        if action.kind not in ("create_topic", "create_partitions"):
            continue
        after = action.after or {}
        total = after.get("partitions") or len(after.get("assignments", ()))
        added = total - ((action.before or {}).get("partitions") or 0)
        if added > _MANY_PARTITIONS:
            yield f"topic {action.resource.name}: {added:,} new partitions, each of which is files and memory of its brokers"


def min_isr_note(topic: str, value: str, replicas: int) -> str | None:
    """A warning about min.insync.replicas above the number of replicas, which brokers accept."""
    if not _WHOLE.fullmatch(value) or int(value) <= replicas:
        return None
    has = f"{MIN_ISR}={value}, and it has {counted(replicas, 'replica')}"
    return f"topic {topic}: {has}: acks=all needs all of them in sync, and brokers before Kafka 3.7 refuse it"
