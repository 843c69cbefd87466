"""PLAIN follows RFC 4616; tests/oracle/test_sasl.py shows that brokers accept it."""

import pytest

from kafka_lagoon.sasl.conversation import MechanismFailed
from kafka_lagoon.sasl.plain import Plain
from tests.sasl.speaking import begun, ended


def us(user: str, password: str) -> Plain:
    """Log in with a password."""
    return Plain(username=user, password=password)


def test_one_message() -> None:
    """The message has an empty authorization identity, user and password in UTF-8; the answer's content does not matter."""
    for answer in (b"", b"welcome"):
        tokens, message = begun(us("tim", "tanstaaftanstaaf"))
        assert message == b"\0tim\0tanstaaftanstaaf"
        assert ended(tokens, answer)
    assert begun(us("Ünï", "pässwörd, = \n"))[1] == "\0Ünï\0pässwörd, = \n".encode()


@pytest.mark.parametrize(("user", "password"), [("a\0b", "word"), ("a", "wo\0rd"), ("a", "wo\udcffrd")])
def test_what_cannot_be_sent(user: str, password: str) -> None:
    """NUL would end a part of the message; the error does not show the password."""
    with pytest.raises(MechanismFailed, match=r"NUL|UTF-8") as failure:
        begun(us(user, password))
    assert "wo" not in str(failure.value).replace("password", "")


def test_the_password_is_not_shown() -> None:
    """`repr` does not show the password."""
    assert "word" not in repr(us("alice", "word")).replace("password", "")
