"""The SASL exchange with a broker, without the broker."""

import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.client.authentication import FRAMED_HANDSHAKE, authenticate
from kafka_lagoon.client.connection import choose_version
from kafka_lagoon.errors import AuthenticationFailed, UnsupportedVersion
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE, SaslAuthenticateResponse
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse
from kafka_lagoon.sasl.conversation import Login, MechanismFailed, Tokens
from kafka_lagoon.sasl.oauthbearer import OAuthBearer
from kafka_lagoon.sasl.plain import Plain
from kafka_lagoon.sasl.scram import Scram
from kafka_lagoon.sasl.token import Token
from kafka_lagoon.wire.schema import Versions

_SECRET = "s3cr3t"  # noqa: S105
_WELCOME = SaslHandshakeResponse(error_code=0, mechanisms=())


def mechanisms() -> list[Login]:
    """Make the mechanisms that need only a secret."""
    return [
        Plain(username="alice", password=_SECRET),
        Scram(name="SCRAM-SHA-512", username="alice", password=_SECRET),
        OAuthBearer(token=Token(_SECRET)),
    ]


def answer(token: bytes = b"", error_code: int = 0, message: str | None = None, lifetime_ms: int = 0) -> Any:
    """A broker's response to a token."""
    return SaslAuthenticateResponse(
        error_code=error_code, error_message=message, auth_bytes=token, session_lifetime_ms=lifetime_ms
    )


def lifetime_ms(mechanism: Login, *responses: Any) -> int:
    """Return the session's lifetime after an exchange with these responses."""
    exchange = authenticate(mechanism, "broker:9092")
    next(exchange)
    try:
        for response in responses:
            exchange.send(response)
    except StopIteration as end:
        lifetime: int = end.value
        return lifetime
    raise AssertionError("the exchange is not over")


def refusal(mechanism: Login, *responses: Any) -> str:
    """Return the message of a failed exchange, and check that it does not contain the secret."""
    with pytest.raises(AuthenticationFailed) as failure:
        lifetime_ms(mechanism, *responses)
    shown = "".join(traceback.format_exception(failure.value)) + repr(failure.value) + repr(mechanism)
    assert _SECRET not in shown
    assert str(failure.value).isprintable()
    assert failure.value.address == "broker:9092"
    return failure.value.reason


def test_the_requests() -> None:
    """A handshake that names the mechanism, then tokens; the last response has the session's lifetime."""
    exchange = authenticate(mechanisms()[0], "broker:9092")
    assert next(exchange) == (FRAMED_HANDSHAKE, SaslHandshakeRequest(mechanism="PLAIN"))
    api, request = exchange.send(_WELCOME)
    assert api is SASL_AUTHENTICATE
    assert request.auth_bytes == b"\0alice\0s3cr3t"
    with pytest.raises(StopIteration) as end:
        exchange.send(answer(lifetime_ms=3_600_000))
    assert end.value.value == 3_600_000


def test_tokens_without_a_header_are_not_spoken() -> None:
    """A broker that knows only the first handshake is detected before anything is sent."""
    with pytest.raises(UnsupportedVersion, match=r"SaslHandshake needs Kafka 1\.0 or newer; broker 7 is older"):
        choose_version(FRAMED_HANDSHAKE, {SASL_HANDSHAKE.key: Versions(0, 0)}, "broker 7")
    assert choose_version(FRAMED_HANDSHAKE, {SASL_HANDSHAKE.key: Versions(0, 1)}, "broker 7") == 1


@pytest.mark.parametrize(
    ("error_code", "offered", "reason"),
    [
        (33, ("PLAIN", "SCRAM-SHA-256"), "SCRAM-SHA-512: broker offers PLAIN, SCRAM-SHA-256; see sasl_mechanism"),
        (33, (), "SCRAM-SHA-512: broker offers no mechanism; see sasl_mechanism"),
        (34, (), "SCRAM-SHA-512: this listener does not authenticate; see security_protocol"),
        (35, (), "SCRAM-SHA-512: the broker answered UNSUPPORTED_VERSION"),
        (-7, (), "SCRAM-SHA-512: the broker answered UNKNOWN_CODE_-7"),
    ],
)
def test_a_handshake_that_fails(error_code: int, offered: tuple[str, ...], reason: str) -> None:
    """The message names the mechanisms that the broker offers, and the setting to change."""
    mechanism = mechanisms()[1]
    assert refusal(mechanism, SaslHandshakeResponse(error_code=error_code, mechanisms=offered)) == reason


@pytest.mark.parametrize("mechanism", mechanisms(), ids=lambda mechanism: mechanism.name)
def test_a_refusal(mechanism: Login) -> None:
    """The broker's message is shown without control characters, shortened, and not if it contains our secret."""
    reason = refusal(mechanism, _WELCOME, answer(error_code=58, message="go away\x1b[2J\udcff"))
    assert reason == f"{mechanism.name}: SASL_AUTHENTICATION_FAILED: go away\\u001b[2J\\udcff"
    assert refusal(mechanism, _WELCOME, answer(error_code=58)).endswith("SASL_AUTHENTICATION_FAILED")
    assert len(refusal(mechanism, _WELCOME, answer(error_code=58, message="a" * 100_000))) < 600
    echo = refusal(mechanism, _WELCOME, answer(error_code=58, message=f"{_SECRET} is wrong"))
    assert "not repeated" in echo


def test_a_broker_that_never_ends() -> None:
    """The exchange ends, also if the mechanism would continue."""

    class Endless:
        name, secrets = "ENDLESS", ()

        def tokens(self) -> Tokens:
            while True:
                yield b""

    assert "goes on after 16 messages" in refusal(Endless(), _WELCOME, *[answer()] * 50)


def test_a_broker_that_ends_early() -> None:
    """An empty response before the broker's proof does not make SCRAM succeed."""
    assert "challenge cannot be read" in refusal(mechanisms()[1], _WELCOME, answer())


def test_a_mechanism_that_cannot_begin() -> None:
    """The reason of a mechanism is raised like that of a broker."""

    class Broken:
        name, secrets = "BROKEN", ()

        def tokens(self) -> Tokens:
            raise MechanismFailed("no ticket")
            yield

    assert refusal(Broken(), _WELCOME) == "BROKEN: no ticket"


_responses = st.builds(
    answer,
    token=st.binary(max_size=60) | st.just(b"") | st.just(b'{"status": "invalid_token"}'),
    error_code=st.just(0) | st.integers(-(1 << 15), (1 << 15) - 1),
    message=st.none() | st.text(max_size=60),
    lifetime_ms=st.integers(-(1 << 63), (1 << 63) - 1),
)
_handshakes = st.builds(
    SaslHandshakeResponse,
    error_code=st.sampled_from([0, 0, 0, 33, 34, 99]),
    mechanisms=st.lists(st.text(max_size=20), max_size=3).map(tuple),
)


@pytest.mark.parametrize("mechanism", mechanisms(), ids=lambda mechanism: mechanism.name)
@given(handshake=_handshakes, responses=st.lists(_responses, min_size=20, max_size=20))
def test_hostile_brokers(mechanism: Login, handshake: Any, responses: list[Any]) -> None:
    """With any responses of a broker the exchange ends with success, or with AuthenticationFailed in one line."""
    try:
        lifetime_ms(mechanism, handshake, *responses)
    except AuthenticationFailed as failure:
        outcome = str(failure)
    else:
        outcome = "" if isinstance(mechanism, Scram) else "welcome"
    assert outcome
    assert outcome.isprintable()
