"""Spells names of resources that have several parts, so that they can be read back: partitions, ACLs, quotas, listeners.

The last part never has the separator before it: a topic has no space, so that a group's id may have some; a partition is a
number, so that a topic's name may have dashes. Words of which that is not known are quoted as in JSON where they need it.
"""

import json
import re
from collections.abc import Mapping

from kafka_lagoon.protocol.messages.describe_client_quotas import CLIENT_ID, IP, USER, QuotaEntity
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_bytes, uuid_text

DEFAULT = "<default>"  # as Kafka's tools print it
_MOST_PORT, _ID_LENGTH = 65_535, 22
_ENTITY_TYPES = (USER, CLIENT_ID, IP)

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})", re.DOTALL)
_QUOTA_PART = re.compile(r'\s*(?P<kind>[a-z-]+)=(?P<name>"(?:[^"\\]|\\.)*"|[^\s",=]+)\s*(?:,|$)')
_PLAIN = re.compile(r"[^\s\"]+")


def parse_partition(name: str) -> TopicPartition:
    """The partition with this name, as `str` spells it; ValueError for anything else."""
    match = _PARTITION.fullmatch(name)
    if not match:
        raise ValueError(f"{name!r} is not TOPIC-PARTITION")
    return TopicPartition(match["topic"], int(match["partition"]))


def quota_name(entity: QuotaEntity) -> str:
    """The name of an entity: the user before the client. A default is <default>; a name that looks like it is quoted."""
    parts = sorted(entity, key=lambda part: _ENTITY_TYPES.index(part[0]) if part[0] in _ENTITY_TYPES else 9)
    return ", ".join(f"{kind}={DEFAULT if name is None else quoted(name, '=,<>')}" for kind, name in parts)


def parse_quota_name(text: str) -> QuotaEntity:
    """The entity with this name; ValueError for anything else."""
    parts: dict[str, str | None] = {}
    position = 0
    while position < len(text):
        match = _QUOTA_PART.match(text, position)
        if not match or match["kind"] not in _ENTITY_TYPES or match["kind"] in parts:
            raise ValueError(f"{text!r} is not like `user=alice, client-id={DEFAULT}`")
        name = match["name"]
        parts[match["kind"]] = None if name == DEFAULT else json.loads(name) if name.startswith('"') else name
        position = match.end()
    return quota_entity(parts)


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    """The entity with these parts; ValueError for combinations that Kafka does not have."""
    if not parts or (IP in parts and len(parts) > 1):
        raise ValueError("a quota is about a user, a client-id, both, or an ip alone")
    return tuple(sorted(parts.items(), key=lambda part: part[0]))


def parse_listener(text: str) -> tuple[str, str, int]:
    """Name, host and port of a listener as brokers' settings have it, NAME://host:port; ValueError for anything else."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    is_port = port.isdecimal() and len(port) <= len(str(_MOST_PORT)) and 0 < int(port) <= _MOST_PORT
    if not (name and separator and host and colon and is_port):
        raise ValueError(f"{text!r} is not NAME://host:port")
    return name, host.strip("[]"), int(port)


def parse_directory_id(text: str) -> str:
    """The id of a log directory as Kafka spells it; ValueError for anything else.

    Other spellings of the same bytes are refused too: they would differ from the id that brokers return.
    """
    try:
        is_id = len(text) == _ID_LENGTH and uuid_text(uuid_bytes(text)) == text
    except ValueError:
        is_id = False
    if not is_id:
        raise ValueError(f"{text!r} is not the id of a directory, {_ID_LENGTH} characters as in its meta.properties")
    return text


def quoted(text: str, separators: str = "") -> str:
    """A word as it is, or as a JSON string if it has blanks, quotes or separators, or is empty."""
    is_plain = _PLAIN.fullmatch(text) and not any(separator in text for separator in separators)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
