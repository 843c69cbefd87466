"""OAUTHBEARER follows RFC 7628; tests/oracle/test_sasl.py shows that brokers accept it."""

import json
from base64 import urlsafe_b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.client.logins import login_for
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.sasl.conversation import MechanismFailed
from kafka_lagoon.sasl.oauthbearer import OAuthBearer, read_extensions, unsecured
from kafka_lagoon.sasl.token import Token
from tests.clock import CLOCK
from tests.sasl.speaking import answered, begun, ended


def us(value: str = "abc.def", extensions: str | None = None) -> OAuthBearer:
    """Log in with a token."""
    return OAuthBearer(token=Token(value), extensions=read_extensions(extensions))


def test_one_message() -> None:
    """The message has the token and the extensions, in their order; an empty answer is success."""
    tokens, message = begun(us(extensions="logicalCluster=lkc-1, identityPoolId=a=b"))
    assert message == b"n,,\x01auth=Bearer abc.def\x01logicalCluster=lkc-1\x01identityPoolId=a=b\x01\x01"
    assert ended(tokens, b"")
    assert begun(us())[1] == b"n,,\x01auth=Bearer abc.def\x01\x01"


@pytest.mark.parametrize("token", ["", "a b", "a\x01auth=Bearer b", "a\n", "ü", "=a"])
def test_what_is_no_token(token: str) -> None:
    """Text that is not a token is refused, because it could become another part of the message."""
    with pytest.raises(MechanismFailed, match="token holds characters") as failure:
        begun(us(token))
    assert not token or token not in str(failure.value)


@pytest.mark.parametrize("text", ["auth=x", "a", "=b", "a1=b", "a=", "a=b\x01c=d", "a=ü"])
def test_extensions_that_cannot_be_sent(text: str) -> None:
    """It is a fault of the named setting."""
    with pytest.raises(ConfigError, match="sasl_oauthbearer_extensions"):
        read_extensions(text)


def test_a_refusal_is_acknowledged() -> None:
    """The broker's JSON is answered with one byte; when the broker ends the exchange, its reason is raised."""
    reasons = {"status": "invalid_token", "scope": "kafka", "openid-configuration": "https://idp.example"}
    for ending in (lambda tokens: tokens.send(b""), lambda tokens: tokens.throw(MechanismFailed("SASL_..."))):
        tokens, _ = begun(us())
        assert tokens.send(json.dumps(reasons).encode()) == b"\x01"
        with pytest.raises(MechanismFailed) as failure:
            ending(tokens)
        reason = "status invalid_token, scope kafka, openid-configuration https://idp.example"
        assert str(failure.value) == f"the broker refuses the token: {reason}"


def test_a_refused_token_is_forgotten() -> None:
    """The cache learns it, whether the broker gives a reason or an error; not if the token is accepted."""
    forgotten: list[str] = []
    login = OAuthBearer(token=Token("abc.def"), forget=lambda: forgotten.append("abc.def"))
    tokens, _ = begun(login)
    with pytest.raises(MechanismFailed):
        tokens.throw(MechanismFailed("SASL_AUTHENTICATION_FAILED"))
    tokens, _ = begun(login)
    tokens.send(b"{}")
    with pytest.raises(MechanismFailed):
        tokens.send(b"")
    assert len(forgotten) == 2
    tokens, _ = begun(login)
    assert ended(tokens, b"")
    assert len(forgotten) == 2


PROVIDED: list[str] = []


def provide(_host: str) -> Token:
    """Return a token with a number, which is valid for long."""
    PROVIDED.append(f"token-{len(PROVIDED)}")
    return Token(PROVIDED[-1], CLOCK.now_ms() + 3_600_000)


def test_the_next_login_has_another_token_than_the_refused_one() -> None:
    """The token of a function is kept until it expires, or until a broker refuses it."""
    settings = checked(
        {
            "bootstrap_servers": "127.0.0.1:9092",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "allow_plaintext_credentials": True,
            "sasl_oauthbearer_token_provider": f"{__name__}:provide",
        }
    )

    def again() -> OAuthBearer:
        return login_for(settings, "refusing", CLOCK)  # type: ignore[return-value]

    assert again().token == again().token
    tokens, _ = begun(again())
    with pytest.raises(MechanismFailed):
        tokens.throw(MechanismFailed("SASL_AUTHENTICATION_FAILED"))
    assert again().token.value == PROVIDED[1]


@pytest.mark.parametrize("answer", [b"x", b"[1]", b'{"status": 5}', b"\xff", b"[" * 100_000])
def test_a_refusal_without_a_reason(answer: bytes) -> None:
    """If the reason cannot be read, the message of the error is raised."""
    tokens, _ = begun(us())
    tokens.send(answer)
    with pytest.raises(MechanismFailed, match="in its own words"):
        tokens.throw(MechanismFailed("in its own words"))


def test_a_broker_that_repeats_the_token() -> None:
    """A reason that contains the token is not repeated."""
    tokens, _ = begun(us())
    tokens.send(b'{"status": "abc.def has expired"}')
    with pytest.raises(MechanismFailed, match="not repeated") as failure:
        tokens.send(b"")
    assert "abc.def" not in str(failure.value)


@given(answers=st.lists(st.binary(min_size=1, max_size=50), min_size=2, max_size=2))
def test_hostile_brokers(answers: list[bytes]) -> None:
    """Every answer that is not empty is a refusal."""
    tokens, _ = begun(us())
    with pytest.raises(MechanismFailed):
        answered(tokens, *answers)


def test_an_unsecured_token() -> None:
    """The token is unsigned, for one principal, and valid for an hour."""
    token = unsecured("alice", CLOCK)
    header, claims, signature = (urlsafe_b64decode(part + "==") for part in token.value.split("."))
    assert json.loads(header) == {"alg": "none"}
    assert json.loads(claims)["sub"] == "alice"
    assert json.loads(claims)["exp"] - json.loads(claims)["iat"] == 3600
    assert signature == b""


def test_the_token_is_not_shown() -> None:
    """No object that holds the token shows it."""
    assert "abc.def" not in repr(us())
