"""Addresses are parsed as brokers and users write them; client/test_policy.py tests which of them are allowed."""

import pytest

from kafka_lagoon.addresses import parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:1", ("a", 1)),
        ("10.0.0.1:9092", ("10.0.0.1", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        (" b.example:65535 ", ("b.example", 65535)),
        ("SASL_SSL://a:1", ("a", 1)),
        ("://a:1", ("a", 1)),
        ("x-y.z%1://[::1]:3", ("::1", 3)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    """A host may be a name, an IPv4 address or a bracketed IPv6 address."""
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["a", "a:", "a:0", "a:65536", "a:x", ":1", "a/b://c:1", "a:1/", "a:\u0663", "::1:9"])
def test_bad_addresses(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="is not host:port"):
        parse_address(text)
