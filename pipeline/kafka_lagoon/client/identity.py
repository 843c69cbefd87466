"""Checks the names that brokers answer: cluster ids, topics, hosts. They become paths, lock names and lines on terminals.

Each check returns the reason to refuse a name, None if it may be used; the reason shows no control characters of the name.
Group ids, client ids and the like are chosen by clients and may be any text in Kafka, so they are kept, and are made
printable where they are written.
"""

import re
from ipaddress import ip_address

from kafka_lagoon.text import printable

# Kafka's own are base64url of a UUID, 22 characters, and may begin with a dash before 2.8. Redpanda's are `redpanda.` and a
# UUID, or what the operator sets; Confluent Cloud's `lkc-...`. Event Hubs and brokers before 0.10.1 have none (null).
# A dot at the beginning is refused: `.` and `..` are paths, others are hidden files.
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")  # Topic.validate of Kafka's clients, which refuses `.` and `..`, too
_HOST = re.compile(r"[A-Za-z0-9_.-]{1,255}")  # underscores are in names that Docker and Kubernetes give
_SHOWN = 60


def cluster_id_fault(cluster_id: str) -> str | None:
    """The reason why this cannot be a cluster's id."""
    if _CLUSTER_ID.fullmatch(cluster_id):
        return None
    return f"{printable_name(cluster_id)} is not a cluster id: 1 to 100 letters, digits, `-`, `_` and `.`, the first no `.`"


def topic_fault(topic: str) -> str | None:
    """The reason why no topic can have this name."""
    if _TOPIC.fullmatch(topic) and topic not in (".", ".."):
        return None
    return (
        f"{printable_name(topic)} is not a name of a topic: 1 to 249 letters, digits, `.`, `_` and `-`, not `.` or `..`"
    )


def host_fault(host: str) -> str | None:
    """The reason why no connection to this host is possible."""
    if _HOST.fullmatch(host) or _is_ipv6(host):
        return None
    return f"{printable_name(host)} is not a host: a name of letters, digits, `.`, `-` and `_`, or an IP address"


def _is_ipv6(host: str) -> bool:
    address, _, zone = host.partition("%")
    try:
        return ip_address(address).version == 6 and (not zone or bool(_HOST.fullmatch(zone)))  # noqa: PLR2004
    except ValueError:
        return False


def printable_name(name: str) -> str:
    """The beginning of a name, as it can be printed."""
    return f"`{printable(name[:_SHOWN])}{'...' if len(name) > _SHOWN else ''}`"
