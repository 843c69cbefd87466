"""Decides whether to connect to an address that a broker advertises.

Metadata decide where credentials go, so we never connect to an address that cannot be meant (loopback, link-local), or that
is not verified while the mechanism would show it our password. Bootstrap servers are trusted: the settings name them.
"""

from fnmatch import fnmatchcase
from ipaddress import ip_address

from kafka_lagoon.errors import AddressRefused
from kafka_lagoon.kafka_settings import KafkaSettings, is_loopback


def admit(settings: KafkaSettings, host: str, port: int) -> None:
    """Check an advertised address; AddressRefused says why we do not connect to it, and which setting allows it."""
    if (host, port) in settings.addresses():
        return
    if settings.allowed_brokers:
        reason = _not_allowed(settings.allowed_brokers, host, port)
    else:
        reason = _not_meant(settings, host) or _not_proven(settings, host)
    if reason:
        raise AddressRefused(f"{host}:{port}", "connect", f"advertised by a broker, and {reason}")


def vet(settings: KafkaSettings, number: str) -> str | None:
    """Why not to connect to the numeric address that an advertised name resolved to; None if it may be used.

    Names are resolved again for each connection, so whoever controls a name could lead us anywhere.
    """
    reason = None if settings.allowed_brokers else _not_meant(settings, number)
    return f"leads to {number}, which is {reason}" if reason else None


def _not_allowed(allowed: str, host: str, port: int) -> str | None:
    patterns = [pattern.strip().lower() for pattern in allowed.split(",")]
    name = host.lower().rstrip(".")
    if any(fnmatchcase(name, pattern) or fnmatchcase(f"{name}:{port}", pattern) for pattern in patterns):
        return None
    return "not among allowed_brokers"


def _not_meant(settings: KafkaSettings, host: str) -> str | None:
    if is_loopback(host) and not settings.is_local():
        return "this machine: change the broker's advertised.listeners, or set allowed_brokers"
    if _is_link_local(host):
        return "a link-local address: name it in allowed_brokers if it is meant"
    return None


def _not_proven(settings: KafkaSettings, host: str) -> str | None:
    if not settings.shows_secrets() or host in {name for name, _ in settings.addresses()}:
        return None
    return f"not verified, and {settings.sasl_mechanism} would show it our credentials: name it in allowed_brokers"


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False
