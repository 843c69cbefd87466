"""Spells names of resources that have several parts, so that they can be read back: partitions, groups' partitions, ACLs.

Says also which names of topics, and which numbers of partitions, need a guard.

The last part never has the separator before it: a topic has no space, so that a group's id may have some; a partition is a
number, so that a topic's name may have dashes. Words of which that is not known are quoted as in JSON where they need it.
"""

import json
import re
from collections.abc import Iterator, Sequence

from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.client.cluster import TopicPartition

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})", re.DOTALL)
_PLAIN = re.compile(r"[^\s\"]+")
_WORD = re.compile(r'\s*(?P<word>"(?:[^"\\]|\\.)*"|[^\s"]+)(?=\s|$)')


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
_MANY_PARTITIONS, MOST_PARTITIONS = 2_000, 10_000  # the controller refuses more partitions in one request


def internal_guards(topic: str) -> frozenset[Guard]:
    """Guards for destroying something of a topic, beside those of every topic."""
    return frozenset({Guard.INTERNAL_TOPICS}) if topic in _INTERNAL else frozenset()


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


def partition_name(partition: TopicPartition) -> str:
    """The name of a partition, such as `orders-0`."""
    return f"{partition.topic}-{partition.partition}"


def parse_partition(name: str) -> TopicPartition:
    """The partition with this name; ValueError for anything else."""
    match = _PARTITION.fullmatch(name)
    if not match:
        raise ValueError(f"{name!r} is not TOPIC-PARTITION")
    return TopicPartition(match["topic"], int(match["partition"]))


def quoted(text: str, separators: str = "") -> str:
    """A word as it is, or as a JSON string if it has blanks, quotes or separators, or is empty."""
    is_plain = _PLAIN.fullmatch(text) and not any(separator in text for separator in separators)
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def words(line: str) -> list[str]:
    """The words of a line, before `quoted`; ValueError if quotes are not closed."""
    line, position, found_words = line.rstrip(), 0, list[str]()
    while position < len(line):
        match = _WORD.match(line, position)
        if not match:
            raise ValueError(f"{line!r} has quotes that do not match")
        word = match["word"]
        found_words.append(json.loads(word) if word.startswith('"') else word)
        position = match.end()
    return found_words
