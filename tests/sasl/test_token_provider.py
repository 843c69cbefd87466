"""Tokens from a function of the user."""

import traceback
from pathlib import Path

import pytest

from kafka_lagoon.errors import AuthenticationFailed, ConfigError
from kafka_lagoon.sasl.token import Token
from kafka_lagoon.sasl.token_provider import TokenProvider
from tests.clock import CLOCK


def as_pair(host: str) -> tuple[str, int]:
    """Return a pair, as libraries of cloud providers do."""
    return f"for-{host}", 5_000


def as_token(host: str) -> Token:
    """Return an object of our class."""
    return Token(f"for-{host}", 5_000)


def failing(_host: str) -> None:
    """Raise an error with a secret in its message."""
    raise PermissionError("s3cr3t")


def giving_nonsense(_host: str) -> str:
    """Return a token without an expiry time."""
    return "s3cr3t"


NOT_A_FUNCTION = "s3cr3t"


def fetched(name: str) -> Token:
    """Fetch the token of a function in this module."""
    return TokenProvider(function=f"{__name__}:{name}", host="broker-1").fetch(CLOCK)


@pytest.mark.parametrize("name", ["as_pair", "as_token"])
def test_a_function_that_gives_tokens(name: str) -> None:
    """The function is called with the broker's host."""
    assert fetched(name) == Token("for-broker-1", 5_000)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failing", "failing failed with builtins.PermissionError"),
        ("giving_nonsense", "returned neither"),
        ("NOT_A_FUNCTION", "failed with builtins.TypeError"),
    ],
)
def test_a_function_that_gives_none(name: str, reason: str) -> None:
    """One line names the function, without the message of its error, which may contain a secret."""
    with pytest.raises(AuthenticationFailed, match=reason) as failure:
        fetched(name)
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("no.such.module:token", "No module named"),
        (f"{__name__}:no_such_function", "has no no_such_function"),
        (__name__, "write module:function"),
        (":token", "sasl_oauthbearer_token_provider :token: write module:function"),
        (".token:token", "failed with builtins.TypeError"),
    ],
)
def test_no_function(function: str, reason: str) -> None:
    """A function that does not exist is a fault of the settings."""
    with pytest.raises(ConfigError, match=reason):
        TokenProvider(function=function, host="broker-1").fetch(CLOCK)


@pytest.mark.parametrize("raised", ["KeyError", "AttributeError", "ImportError", "SyntaxError", "OSError"])
def test_a_module_that_cannot_be_imported(raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the type of the error alone: its message may contain a secret."""
    name = f"provider_with_{raised.lower()}"
    (tmp_path / f"{name}.py").write_text(f"raise {raised}('s3cr3t')\ndef token(host): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    cause = f"{name}:token: the import of module {name} failed with builtins.{raised}"
    with pytest.raises(ConfigError, match=cause) as failure:
        TokenProvider(function=f"{name}:token", host="broker-1").fetch(CLOCK)
    assert "s3cr3t" not in "".join(traceback.format_exception(failure.value))
