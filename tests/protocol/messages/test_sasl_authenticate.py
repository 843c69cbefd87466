"""SaslAuthenticate, byte by byte."""

from kafka_lagoon.protocol.messages.sasl_authenticate import (
    UNLIMITED,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_tokens() -> None:
    """A token is bytes after their length; an empty token is valid."""
    assert encode(SaslAuthenticateRequest(auth_bytes=b"\0u\0p"), 1, False) == bytes.fromhex("00000004 00750070")
    assert encode(SaslAuthenticateRequest(), 2, True) == bytes.fromhex("01 00")


def test_lifetime() -> None:
    """v1 has the lifetime of the session (KIP-368); sessions of v0 do not expire."""
    old = decode(SaslAuthenticateResponse, 0, False, bytes.fromhex("0000 ffff 00000000"))
    new = decode(SaslAuthenticateResponse, 1, False, bytes.fromhex("0000 ffff 00000000 000000000000ea60"))
    assert (old.session_lifetime_ms, new.session_lifetime_ms) == (UNLIMITED, 60_000)
