"""SCRAM follows RFC 5802 and 7677; tests/oracle/test_sasl.py shows that brokers accept it."""

import hashlib
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.sasl import scram
from kafka_lagoon.sasl.conversation import MechanismFailed
from kafka_lagoon.sasl.scram import FEWEST_ITERATIONS, MOST_ITERATIONS, Scram
from tests.sasl.speaking import answered, begun, ended

_PASSWORD = "pencil"  # noqa: S105  of the RFC's example


def us(user: str = "user", **given: Any) -> Scram:
    """Log in as in the examples."""
    return Scram(**{"name": "SCRAM-SHA-256", "username": user, "password": _PASSWORD} | given)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the nonce of RFC 7677's example."""
    monkeypatch.setattr(scram, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")


_CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
_SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.usefixtures("example")
def test_the_example_of_the_rfc() -> None:
    """Every message equals that of RFC 7677, section 3."""
    tokens, first = begun(us())
    assert first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert tokens.send(_CHALLENGE) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert ended(tokens, _SIGNATURE)


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "did not prove"),
        (b"ok", "did not prove"),
        (b"v=", "did not prove"),
        (b"v=AAAA", "signature is wrong"),
        (b"v=!", "signature is wrong"),
        (_SIGNATURE[:-3] + b"5G==", "signature is wrong"),
        (_SIGNATURE.replace(b"v=6", b"v=7"), "signature is wrong"),
        (b"e=other-error", "the broker says other-error"),
        (b"e=", "the broker says $"),
        (b"e=\x1b[2J\xff", r"the broker says \\u001b\[2J"),
        (b"e=it is " + _PASSWORD.encode(), "not repeated"),
        (_SIGNATURE + b"x" * 5000, "did not prove"),
    ],
)
def test_a_broker_that_proves_nothing(answer: bytes, reason: str) -> None:
    """A broker that does not send the right signature may not know the password, so it is refused."""
    tokens, _ = begun(us())
    tokens.send(_CHALLENGE)
    with pytest.raises(MechanismFailed, match=reason):
        tokens.send(answer)


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b"", "cannot be read"),
        (b"e=unknown-user", "cannot be read"),
        (b"m=x," + _CHALLENGE, "cannot be read"),
        (_CHALLENGE.replace(b",i=4096", b""), "cannot be read"),
        (_CHALLENGE.replace(b"s=W22Z", b"s=!"), "cannot be read"),
        (_CHALLENGE.replace(b"W22ZaJ0SNY7soEsUEjb6gQ==", b""), "cannot be read"),
        (_CHALLENGE.replace(b"4096", b"-4096"), "cannot be read"),
        (_CHALLENGE.replace(b"4096", b"9" * 40), "cannot be read"),
        (_CHALLENGE + b",x=" + b"y" * 5000, "cannot be read"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        (b"r=xOprNGfwEbeRWgbNEkqO%hvYDpWUa2,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        (_CHALLENGE.replace(b"4096", b"4095"), "4095 iterations; from 4096 to 1000000"),
        (_CHALLENGE.replace(b"4096", b"1000001"), "1000001 iterations"),
        (_CHALLENGE.replace(b"4096", b"9" * 18), "iterations"),
    ],
)
def test_a_challenge_that_is_refused(challenge: bytes, reason: str) -> None:
    """A challenge with another nonce, too few iterations, or so many that it is an attack, is refused."""
    tokens, _ = begun(us())
    with pytest.raises(MechanismFailed, match=reason):
        tokens.send(challenge)


@pytest.mark.usefixtures("example")
def test_extensions_of_the_broker_are_left_alone() -> None:
    """Optional attributes at the end of its messages are ignored, but are part of what is signed."""
    tokens, _ = begun(us())
    assert tokens.send(_CHALLENGE + b",x=y").startswith(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="
    )


def test_names_are_escaped() -> None:
    """Commas are escaped, because they separate attributes; a delegation token has an extension."""
    first = begun(us("a,b=2C=c", delegation_token=True))[1]
    assert re.fullmatch(rb"n,,n=a=2Cb=3D2C=3Dc,r=[\w-]{24,},tokenauth=true", first)


def test_nonces_do_not_repeat() -> None:
    """Each exchange has a new nonce, so that an old answer cannot be replayed."""
    assert len({begun(us())[1] for _ in range(50)}) == 50


@pytest.mark.usefixtures("example")
def test_the_password_is_salted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are derived once for all brokers with the same salt, which takes most of the time; another password has its own."""
    salted: list[object] = []
    pbkdf2 = hashlib.pbkdf2_hmac
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", lambda *given: salted.append(given) or pbkdf2(*given))
    scram._salted.cache_clear()
    for password in ("one", "one", "two", "one"):
        begun(us(password=password))[0].send(_CHALLENGE)
    assert len(salted) == 2


def test_the_most_work_that_a_broker_gets() -> None:
    """The largest number of iterations that is accepted takes seconds at most."""
    began = time.monotonic()
    scram._salted("sha512", b"word", b"salt", MOST_ITERATIONS // 10)
    assert (time.monotonic() - began) * 10 < 10
    assert FEWEST_ITERATIONS == 4096


_text = st.sampled_from(
    [b"r=", b"rOprNGfwEbeRWgbNEkqO", b",", b"s=", b"AAAA", b"i=", b"4096", b"v=", b"e=", b"m=", b"\0", b"=", b"\xff"]
)
_messages = st.lists(_text, max_size=12).map(b"".join) | st.binary(max_size=50) | st.just(_CHALLENGE)


@given(answers=st.lists(_messages, min_size=2, max_size=2))
def test_hostile_brokers(answers: list[bytes]) -> None:
    """Any answer of a broker without the password raises MechanismFailed."""
    tokens, first = begun(us())
    answers[0] = answers[0].replace(b"rOprNGfwEbeRWgbNEkqO", first.rpartition(b"=")[2])
    with pytest.raises(MechanismFailed):
        answered(tokens, *answers)


def test_the_password_is_not_shown() -> None:
    """`repr` does not show the password."""
    assert _PASSWORD not in repr(us())
