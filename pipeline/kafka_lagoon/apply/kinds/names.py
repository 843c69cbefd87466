"""Spells names of resources that have several parts, so that they can be read back: partitions, groups' partitions, ACLs.

The last part never has the separator before it: a topic has no space, so that a group's id may have some; a partition is a
number, so that a topic's name may have dashes. Words of which that is not known are quoted as in JSON where they need it.
"""

import json
import re

from kafka_lagoon.client.cluster import TopicPartition

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})", re.DOTALL)
_PLAIN = re.compile(r"[^\s\"]+")
_WORD = re.compile(r'\s*(?P<word>"(?:[^"\\]|\\.)*"|[^\s"]+)(?=\s|$)')


def partition_name(partition: TopicPartition) -> str:
    """`orders-0`."""
    return f"{partition.topic}-{partition.partition}"


def parse_partition(name: str) -> TopicPartition:
    """The partition of a name; ValueError if it is none."""
    match = _PARTITION.fullmatch(name)
    if not match:
        raise ValueError(f"{name!r} is not TOPIC-PARTITION")
    return TopicPartition(match["topic"], int(match["partition"]))


def quoted(text: str, separators: str = "") -> str:
    """A word as it is, or as a JSON string if it has blanks, quotes or separators, or is empty."""
    is_plain = _PLAIN.fullmatch(text) and not any(separator in text for separator in separators)
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def words(line: str) -> list[str]:
    """The words of a line, as `quoted` was given them; ValueError if quotes are not closed."""
    line, position, found_words = line.rstrip(), 0, list[str]()
    while position < len(line):
        match = _WORD.match(line, position)
        if not match:
            raise ValueError(f"{line!r} has quotes that do not match")
        word = match["word"]
        found_words.append(json.loads(word) if word.startswith('"') else word)
        position = match.end()
    return found_words
