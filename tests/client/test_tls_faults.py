"""Reasons of failed TLS connections: one line each, from real servers of both versions of TLS."""

import re
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from kafka_lagoon.client.tls_faults import first_words, other
from kafka_lagoon.errors import ConnectionLost
from kafka_lagoon.sandbox.certificates import Certificate, authority, issue
from tests.certificates import BELOW, OTHER_ROOT, ROOT, YESTERDAY, server_context
from tests.client.streams import VERSIONS, refused
from tests.fake.secure_peer import secure_peer

SELF_SIGNED = authority("alone")
FIVE = ", ".join(f"broker-{i}.example" for i in range(5))
MANY = issue(ROOT, "many", [f"broker-{i}.example" for i in range(9)])
TRUST = "which is not trusted: put that authority's certificate into ssl_truststore_location"
CARE = "if it is the right one"
RENAME = "advertise a name that it has, or add this one"
INCOMPLETE = Certificate(key=BELOW.key, chain=BELOW.chain[:1])  # without the intermediate CA


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (
            issue(ROOT, "server", ["127.0.0.1"], valid_until=YESTERDAY),
            f"the certificate of 'server' expired on {YESTERDAY:%b %e %H:%M:%S %Y} GMT: renew it at the broker",
        ),
        (
            MANY,
            f"the certificate is for {FIVE} and 4 more, not for 127.0.0.1: {RENAME}",
        ),
        (
            issue(ROOT, "nameless"),
            f"the certificate is for 'nameless' and names no host, not for 127.0.0.1: {RENAME}",
        ),
        (
            issue(OTHER_ROOT, "server", ["127.0.0.1"]),
            f"the certificate is signed by 'other root', {TRUST}",
        ),
        (
            INCOMPLETE,
            f"the certificate is signed by 'middle', {TRUST}",
        ),
        (
            SELF_SIGNED,
            f"the certificate of 'alone' is signed by itself: put it into ssl_truststore_location {CARE}",
        ),
        (
            issue(authority("evil\x1b[2J\u202e"), "server", ["127.0.0.1"]),
            rf"the certificate is signed by 'evil\u001b[2J\u202e', {TRUST}",
        ),
    ],
    ids=["expired", "other-names", "nameless", "stranger", "incomplete", "self-signed", "control-characters"],
)
def test_certificates_that_are_not_accepted(version: ssl.TLSVersion, certificate: Certificate, reason: str) -> None:
    """A fault of a broker's certificate is one line, with the certificate's content and the remedy."""
    with secure_peer(server_context(certificate, maximum_version=version)) as server:
        refusal = refused(server.port)
    assert (refusal.phase, refusal.reason) == ("tls", reason)
    assert not isinstance(refusal, ConnectionLost)


def test_a_date_that_is_none(tmp_path: Path) -> None:
    """A certificate with a date that cannot be read, beside the expired one, does not hide which certificate expired."""
    odd = OTHER_ROOT.chain[0].public_bytes(Encoding.DER)
    month = odd.rindex(b"\x17\x0d") + 4  # of the end: tag and length of a UTCTime, and two digits of the year
    odd = odd[:month] + b"13" + odd[month + 2 :]
    expired = issue(ROOT, "server", ["127.0.0.1"], valid_until=YESTERDAY)
    chain = tmp_path / "chain.pem"
    chain.write_text(expired.chain_pem() + ssl.DER_cert_to_PEM_cert(odd) + expired.key_pem())
    context = server_context()
    context.load_cert_chain(chain)
    with secure_peer(context) as server:
        assert refused(server.port).reason.startswith("the certificate of 'server' expired on")


def test_a_certificate_of_the_future() -> None:
    """The message says that the certificate is not valid yet, and suggests to check the clock."""
    future = issue(ROOT, "server", ["127.0.0.1"], valid_until=YESTERDAY.replace(year=YESTERDAY.year + 1))
    with secure_peer(server_context(future)) as server:
        assert re.fullmatch(
            r"the certificate begins on \w+ .\d \S+ \d+ GMT: is the clock of this machine right\?",
            refused(server.port).reason,
        )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("shown", "reasons"),
    [
        (
            None,
            {
                "the broker wants a certificate from clients: set ssl_keystore_location",
                "the broker shares no cipher with us, or wants a certificate from clients: see ssl_keystore_location",
            },
        ),
        (
            issue(OTHER_ROOT, "stranger"),
            {"the broker does not trust the authority of our certificate: see ssl_keystore_location"},
        ),
        (
            issue(ROOT, "late", valid_until=YESTERDAY),
            {"the broker says that our certificate is expired: renew it in ssl_keystore_location"},
        ),
    ],
)
def test_clients_that_are_not_accepted(version: ssl.TLSVersion, shown: Certificate | None, reasons: set[str]) -> None:
    """A broker's refusal is detected, also in TLS 1.3, where it is sent only after the handshake."""
    given = {"ssl_keystore_certificate_chain": shown.chain_pem(), "ssl_keystore_key": shown.key_pem()} if shown else {}
    with secure_peer(server_context(clients_of=ROOT, maximum_version=version)) as server:
        refusal = refused(server.port, **given)
    assert refusal.phase == "tls"
    assert refusal.reason in reasons
    assert not isinstance(refusal, ConnectionLost)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_refusal_that_comes_with_the_close(version: ssl.TLSVersion) -> None:
    """A refusal from a peer that closes before it has read our request is not taken for a lost connection."""
    with secure_peer(server_context(clients_of=ROOT, maximum_version=version)) as server:
        reasons = {refused(server.port, pause_s=0.02, said=bytes(100_000)).reason for _ in range(5)}
    assert all("certificate from clients" in reason for reason in reasons)


def garbage(stream: ssl.SSLSocket) -> None:
    """Send a record that cannot be decrypted, bypassing TLS."""
    socket.socket.sendall(stream, b"\x17\x03\x03\0\x20" + bytes(32))


def word_and_garbage(stream: ssl.SSLSocket) -> None:
    """Send an answer and garbage, once."""
    stream.sendall(stream.recv(1))
    garbage(stream)


def test_garbage_from_a_broker() -> None:
    """As the first answer it is how Kafka 2.8 refuses a certificate; later it is a lost connection."""
    with secure_peer(server_context(), garbage) as server:
        refusal = refused(server.port)
    assert not isinstance(refusal, ConnectionLost)
    assert refusal.phase == "tls"
    assert refusal.reason.startswith("the broker broke off, as old ones do that do not accept our certificate or want")
    with secure_peer(server_context(), word_and_garbage) as server:
        lost = refused(server.port)
    assert isinstance(lost, ConnectionLost)
    assert lost.reason in {"TLS: decryption failed or bad record mac", "TLS: record layer failure"}  # since OpenSSL 3.2


def test_a_name_that_python_does_not_know() -> None:
    """An error that is newer than Python's names is reported with OpenSSL's text."""
    error = ssl.SSLError(1, "[SSL] record layer failure (_ssl.c:1028)")
    assert first_words(error) == first_words(ssl.SSLError(1, "unexpected message"))
    assert other(error) == "TLS: record layer failure"


def old(context: ssl.SSLContext) -> ssl.SSLContext:
    """Run a server that knows no TLS after 1.1."""
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def foreign(context: ssl.SSLContext) -> ssl.SSLContext:
    """Run a server whose ciphers need another type of key than it has."""
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
    return context


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (old, "the broker speaks no TLS from version 1.2 on"),
        (
            foreign,
            "the broker shares no cipher with us, or wants a certificate from clients: see ssl_keystore_location",
        ),
    ],
)
def test_nothing_in_common(limit: Callable[[ssl.SSLContext], ssl.SSLContext], reason: str) -> None:
    """Versions and ciphers that only one side supports are named."""
    with secure_peer(limit(server_context())) as server:
        assert refused(server.port).reason == reason
