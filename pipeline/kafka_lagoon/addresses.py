"""Reads addresses of brokers, and tells where a connection to a numeric address ends up."""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_HIGHEST_PORT = 65_535
# Kafka's clients accept the name of a protocol before the host, and ignore it.
_ADDRESS = re.compile(r"(?:[0-9A-Za-z%._-]*://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\s/]+)):(?P<port>[0-9]{1,5})")
_NAT64, _COMPATIBLE = IPv6Network("64:ff9b::/96"), IPv6Network("::/96")


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `host:port` or `[ipv6]:port`, without a protocol such as `SASL_SSL://` before them.

    ValueError for anything else.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if not match or not 0 < int(match["port"]) <= _HIGHEST_PORT:
        raise ValueError(f"{text!r} is not host:port")
    return match["ipv6"] or match["host"], int(match["port"])


def reached_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a connection to a numeric address reaches; None for a name.

    An IPv6 address may contain an IPv4 address: mapped, through NAT64 (RFC 6052), 6to4, Teredo, and compatible (RFC 4291).
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):  # :: and ::1 contain no IPv4 address
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def is_loopback(host: str) -> bool:
    """True if a host name or address is this machine."""
    address = reached_address(host)
    return host.rstrip(".").lower() == "localhost" if address is None else address.is_loopback
