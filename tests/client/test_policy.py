"""Advertised addresses: some are refused before anything is sent, and settings allow some of them."""

import socket
from functools import partial
from typing import Any

import pytest

from kafka_lagoon.client.policy import admit, vet
from kafka_lagoon.client.transport import Transport
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import AddressRefused, ConnectionFailed
from kafka_lagoon.kafka_settings import KafkaSettings, checked
from tests.clock import CLOCK

ANYWHERE = "0.0.0.0"  # noqa: S104  nothing is bound to it
PLAIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "u",
    "sasl_password": "p",
    "allow_plaintext_credentials": True,
}


def configured(servers: str = "kafka.example.org:9092", **more: Any) -> KafkaSettings:
    return checked({"bootstrap_servers": servers, **more})


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        (configured(), "kafka-2.example.org"),
        (configured(), "10.0.0.7"),
        (configured(), "unrelated.example.net"),
        (configured("localhost:1"), "127.0.0.1"),
        (configured("[::1]:1"), "localhost"),
        (configured("127.0.0.1:1"), "kafka-2.example.org"),
        (configured("169.254.1.1:9092"), "169.254.1.1"),
        (configured(allowed_brokers="*.Example.org"), "kafka-2.example.org."),
        (configured(allowed_brokers="a.example.org:9093, b.example.org:9092"), "b.example.org"),
        (configured(allowed_brokers="localhost"), "localhost"),
        (configured(allowed_brokers="kafka-[12].example.org"), "kafka-2.example.org"),
        (configured(allowed_brokers="[2001:db8::1]:9092"), "2001:db8::1"),
        (configured(allowed_brokers="[2001:DB8::*]:9092"), "2001:db8::1"),
        (configured(allowed_brokers="[2001:db8::1]"), "2001:db8::1"),
        (configured(allowed_brokers="2001:db8::1"), "2001:db8::1"),
        (configured(**PLAIN), "kafka.example.org"),
        (configured(**PLAIN, allowed_brokers="*.example.org"), "kafka-2.example.org"),
        (configured(**PLAIN | {"security_protocol": "SASL_SSL"}), "kafka-2.example.org"),
        (configured(**PLAIN | {"sasl_mechanism": "SCRAM-SHA-512"}), "kafka-2.example.org"),
    ],
)
def test_admitted(settings: KafkaSettings, host: str) -> None:
    """Brokers may have any public address, bootstrap servers any address."""
    admit(settings, host, 9092)


@pytest.mark.parametrize(
    ("settings", "host", "reason"),
    [
        (configured(), "localhost", "and this machine: change the broker's advertised.listeners"),
        (configured(), "127.0.0.53", "this machine"),
        (configured(), "::1", "this machine"),
        (configured(), "169.254.169.254", "a link-local address"),
        (configured(), "fe80::1%eth0", "a link-local address"),
        (configured(), "::ffff:127.0.0.1", "this machine"),
        (configured(), "::ffff:169.254.169.254", "a link-local address"),
        (configured(), "64:ff9b::a9fe:a9fe", "a link-local address"),  # NAT64 of the same address
        (configured(), "64:ff9b::7f00:1", "this machine"),
        (configured(), "2002:7f00:1::", "this machine"),  # 6to4 of the same address
        (configured(), "2002:a9fe:a9fe::1", "a link-local address"),
        (configured(), "2001:0:4136:e378:8000:63bf:80ff:fffe", "this machine"),  # Teredo of 127.0.0.1
        (configured(), "::127.0.0.1", "this machine"),
        (configured(), ANYWHERE, "an unspecified address"),
        (configured(), "::", "an unspecified address"),
        (configured(), "::ffff:0.0.0.0", "an unspecified address"),
        (configured("localhost:1"), ANYWHERE, "an unspecified address"),
        (configured(), "224.0.0.1", "a multicast address"),
        (configured(), "ff02::1", "a multicast address"),
        (configured(), "ff0e::1", "a multicast address"),
        (configured(), "255.255.255.255", "a reserved address"),
        (configured("localhost:1"), "169.254.169.254", "a link-local address"),
        (configured(allowed_brokers="*.example.org"), "example.net", "not among allowed_brokers"),
        (configured(allowed_brokers="*.example.org:9093"), "a.example.org", "not among allowed_brokers"),
        (configured(allowed_brokers="[2001:db8::1]:9092"), "2", "not among allowed_brokers"),
        (configured(allowed_brokers="[2001:db8::1]:9093"), "2001:db8::1", "not among allowed_brokers"),
        (configured(**PLAIN), "kafka-2.example.org", "PLAIN would show it our credentials: name it in allowed_brokers"),
    ],
)
def test_refused(settings: KafkaSettings, host: str, reason: str) -> None:
    """Local and special addresses, unlisted addresses, and unverified ones that would get a password are refused."""
    with pytest.raises(AddressRefused, match=reason):
        admit(settings, host, 9092)


def test_names_are_looked_up_before_they_are_trusted() -> None:
    """A name that resolves to this machine, or to a link-local address, is refused like the address itself."""
    assert vet(configured(), "127.0.0.1") == (
        "leads to 127.0.0.1, which is this machine: change the broker's advertised.listeners, or set allowed_brokers"
    )
    assert str(vet(configured(), "169.254.169.254")).startswith(
        "leads to 169.254.169.254, which is a link-local address"
    )
    assert vet(configured(), "10.1.2.3") is None
    assert vet(configured("127.0.0.1:1"), "127.0.0.1") is None
    assert vet(configured(allowed_brokers="*"), "127.0.0.1") is None
    with pytest.raises(AddressRefused, match=r"localhost:9: resolve: leads to \S+, which is this machine"):
        Transport.connect("localhost", 9, Deadline.after(CLOCK, 1_000), vet=partial(vet, configured()))


def reach(host: str, port: int) -> None:
    """Connect to a broker's advertised address."""
    admit(configured(), host, port)
    Transport.connect(host, port, Deadline.after(CLOCK, 500), vet=partial(vet, configured()))


@pytest.mark.parametrize(
    "host", [ANYWHERE, "0", "127.1", "2130706433", "0x7f000001", "::ffff:127.0.0.1", "::ffff:7f00:1", "::"]
)
def test_no_spelling_of_this_machine_is_connected_to(host: str) -> None:
    """A broker that advertises such an address would make us connect to another service on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        with pytest.raises(ConnectionFailed):
            reach(host, port)
        with pytest.raises(TimeoutError):
            listener.accept()
