"""Answers of brokers and token endpoints while we log in."""

from collections.abc import Iterator
from contextlib import suppress
from unittest.mock import patch

from kafka_lagoon.client.token_endpoint import TokenEndpoint
from kafka_lagoon.errors import ConfigError, ConnectionFailed
from kafka_lagoon.sasl import scram as scram_module
from kafka_lagoon.sasl.conversation import Login, MechanismFailed
from kafka_lagoon.sasl.oauthbearer import OAuthBearer, read_extensions
from kafka_lagoon.sasl.scram import Scram
from kafka_lagoon.sasl.token import Token
from tests.sasl.speaking import begun

_NONCE = "rOprNGfwEbeRWgbNEkqO"  # of the example in RFC 7677
_BETWEEN = b"\0\0"  # messages of the broker
_MOST_ITERATIONS = 5_000  # more take the time that a broker asks for: a second at the limit
_SECRET = "pencil"  # noqa: S105  of the same example


def scram(data: bytes) -> None:
    """The first byte chooses the mechanism."""
    name = "SCRAM-SHA-512" if data[:1] == b"\1" else "SCRAM-SHA-256"
    login = Scram(name=name, username="user", password=_SECRET)
    with (
        patch.object(scram_module, "token_urlsafe", lambda _: _NONCE),
        patch.object(scram_module, "MOST_ITERATIONS", _MOST_ITERATIONS),
    ):
        _exchange(login, data[1:])


def _exchange(login: Login, data: bytes) -> None:
    """Send the broker's messages until the login ends; its error never repeats the secret."""
    tokens, _ = begun(login)
    try:
        with suppress(StopIteration):
            for message in data.split(_BETWEEN):
                tokens.send(message)
            tokens.throw(MechanismFailed("the broker refuses"))
    except MechanismFailed as error:
        _check(str(error))


def _check(line: str) -> None:
    assert _SECRET not in line
    assert line.isprintable()


def scram_seeds() -> Iterator[bytes]:
    challenge = b"r=" + _NONCE.encode() + b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    yield b"\0" + challenge + _BETWEEN + b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    yield b"\1" + challenge + _BETWEEN + b"e=unknown-user,x=1"
    yield b"\0" + challenge.replace(b"4096", b"999999999999999999") + b",m=ext"


def oauthbearer(data: bytes) -> None:
    _exchange(OAuthBearer(token=Token(_SECRET)), data)
    with suppress(ConfigError):
        read_extensions(data.decode(errors="replace"))


def oauthbearer_seeds() -> Iterator[bytes]:
    yield from (b"", b'{"status":"invalid_token","scope":"s","openid-configuration":"https://h"}', b"[" * 2_000)
    yield from (b'{"status":"no pencil"}', b'{"status":7}', b"name=value, other = v w", b"auth=x", b"a=\x01")


def token_endpoint(data: bytes) -> None:
    endpoint = TokenEndpoint(url="https://h/token", client_id="c", client_secret=_SECRET, scope=None, certificates=None)
    try:
        endpoint._token(data, "h:443", 0)
    except ConnectionFailed as error:
        _check(str(error))


def token_endpoint_seeds() -> Iterator[bytes]:
    body = b'{"access_token":"a.b.c","expires_in":"3600"}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    yield head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    yield head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    yield head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body
    yield b'HTTP/1.0 401 no\r\n\r\n{"error":"invalid_client","error_description":"\x1b[2J"}'
    yield b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: https://other\r\n\r\n"
    yield b"HTTP/1.1 503 busy\r\nContent-Length: 99999999999999999999\r\n\r\n"
