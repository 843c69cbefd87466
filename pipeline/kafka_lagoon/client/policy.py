"""Decides whether to connect to an address that a broker advertises.

Metadata decide where credentials go, so we never connect to an address that no broker can have (loopback, link-local,
multicast), or that is not verified while the mechanism would show it our password. The address that a connection leads to is
checked, however it is written. Bootstrap servers are trusted: the settings name them.
"""

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address

from kafka_lagoon.addresses import is_loopback, reached_address
from kafka_lagoon.errors import AddressRefused
from kafka_lagoon.kafka_settings import KafkaSettings

# A connection to the unspecified address reaches this machine.
_NEVER_MEANT: Mapping[str, Callable[[IPv4Address | IPv6Address], bool]] = {
    "a link-local address": lambda address: address.is_link_local,
    "an unspecified address": lambda address: address.is_unspecified,
    "a multicast address": lambda address: address.is_multicast,
    "a reserved address": lambda address: address.is_reserved,
}
# The bracket before an IPv6 address, as in bootstrap_servers. Other brackets are a set of characters of the pattern.
_BRACKET = re.compile(r"\[(?=[^\]]*:)")


def admit(settings: KafkaSettings, host: str, port: int) -> None:
    """Check an advertised address; AddressRefused gives the reason against it, and the setting that allows it."""
    if (host, port) in settings.addresses():
        return
    if settings.allowed_brokers:
        reason = _not_allowed(settings.allowed_brokers, host, port)
    else:
        reason = _not_meant(settings, host) or _not_proven(settings, host)
    if reason:
        raise AddressRefused(f"{host}:{port}", "connect", f"advertised by a broker, and {reason}")


def vet(settings: KafkaSettings, number: str) -> str | None:
    """The reason against the numeric address that an advertised name resolved to; None if it may be used.

    Names are resolved again for each connection, so whoever controls a name could lead us anywhere.
    """
    reason = None if settings.allowed_brokers else _not_meant(settings, number)
    return f"leads to {number}, which is {reason}" if reason else None


def _not_allowed(allowed: str, host: str, port: int) -> str | None:
    patterns = [_BRACKET.sub("[[]", pattern.strip().lower()) for pattern in allowed.split(",")]
    name = host.lower().rstrip(".")
    names = [name, f"[{name}]"] if ":" in name else [name]
    spellings = [*names, *(f"{spelled}:{port}" for spelled in names)]
    if any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in patterns):
        return None
    return "not among allowed_brokers"


def _not_meant(settings: KafkaSettings, host: str) -> str | None:
    if is_loopback(host) and not settings.is_local():
        return "this machine: change the broker's advertised.listeners, or set allowed_brokers"
    address = reached_address(host)
    kind = next((kind for kind, is_one in _NEVER_MEANT.items() if address and is_one(address)), None)
    return f"{kind}: name it in allowed_brokers if it is meant" if kind else None


def _not_proven(settings: KafkaSettings, host: str) -> str | None:
    if not settings.shows_secrets() or host in {name for name, _ in settings.addresses()}:
        return None
    return f"not verified, and {settings.sasl_mechanism} would show it our credentials: name it in allowed_brokers"
