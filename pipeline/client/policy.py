"""Addresses that brokers advertise in, admission or a refusal out.

Guards one rule: metadata decide where credentials go, so an address that nobody can mean, or that our settings do not
name, is never connected to. Bootstrap servers are named by the settings themselves.
"""

from fnmatch import fnmatchcase
from ipaddress import ip_address

from pipeline.errors import AddressRefused
from pipeline.kafka_settings import KafkaSettings, is_loopback


def admit(settings: KafkaSettings, host: str, port: int) -> None:
    """Return if we may connect to an advertised address; AddressRefused says why not, and which setting allows it."""
    if (host, port) in settings.addresses():
        return
    reason = _not_allowed(settings, host, port) if settings.allowed_brokers else _not_meant(settings, host)
    if reason:
        raise AddressRefused(f"{host}:{port}", "connect", reason)


def _not_allowed(settings: KafkaSettings, host: str, port: int) -> str | None:
    patterns = [pattern.strip().lower() for pattern in (settings.allowed_brokers or "").split(",")]
    name = host.lower().rstrip(".")
    if any(fnmatchcase(name, pattern) or fnmatchcase(f"{name}:{port}", pattern) for pattern in patterns):
        return None
    return "advertised by a broker, and not among allowed_brokers"


def _not_meant(settings: KafkaSettings, host: str) -> str | None:
    if is_loopback(host) and not settings.is_local():
        return "advertised by a broker, and is this machine: change its advertised.listeners, or set allowed_brokers"
    if _is_link_local(host):
        return "advertised by a broker, and is a link-local address: name it in allowed_brokers if it is meant"
    if settings.shows_secrets() and host not in {name for name, _ in settings.addresses()}:
        return (
            f"advertised by a broker whose identity is not verified, and {settings.sasl_mechanism} would show it our "
            f"credentials: name it in allowed_brokers"
        )
    return None


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False
