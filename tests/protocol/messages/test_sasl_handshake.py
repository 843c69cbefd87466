"""SaslHandshake, byte by byte."""

from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_never_flexible() -> None:
    """Both versions have the same bytes, and neither is flexible."""
    request = SaslHandshakeRequest(mechanism="PLAIN")
    assert {encode(request, version, False) for version in SASL_HANDSHAKE.versions} == {b"\0\5PLAIN"}
    assert SASL_HANDSHAKE.flexible is None


def test_what_is_enabled() -> None:
    """A refusal lists the mechanisms that the listener has enabled."""
    spelled = bytes.fromhex("0021 00000001") + b"\0\5PLAIN"
    decoded = decode(SaslHandshakeResponse, 1, False, spelled)
    assert decoded == SaslHandshakeResponse(error_code=33, mechanisms=("PLAIN",))
