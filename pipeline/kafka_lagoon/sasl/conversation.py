"""Defines a SASL login: a generator of tokens in which the client speaks first.

It ends without an error only after the broker has proved everything that the mechanism lets it prove. Errors contain no secret.
"""

from collections.abc import Generator, Iterable
from typing import Protocol, TypeAlias

from kafka_lagoon.text import printable

# Yields a token to send, is sent the broker's answer, and returns when both sides are authenticated.
Tokens: TypeAlias = Generator[bytes, bytes, None]

_LONGEST = 500  # characters of a broker's message that our messages repeat


class Login(Protocol):
    """The authentication of one connection by one mechanism."""

    @property
    def name(self) -> str:
        """Kafka's name of the mechanism."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that a broker may know. Its messages are not shown if they contain them."""
        ...

    def tokens(self) -> Tokens:
        """Run the exchange. Raises MechanismFailed, also when the caller throws it because the broker refused."""
        ...


class MechanismFailed(Exception):
    """A login failed. The message contains no secret; authentication.py adds mechanism and address."""


def utf8(text: str, what: str) -> bytes:
    """The bytes of a user name or password; the error does not repeat it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MechanismFailed(f"{what} holds characters that UTF-8 does not have") from None


def quoted(words: str, secrets: Iterable[str]) -> str:
    """A broker's message as it may be shown: without control characters, cut to a length, or not at all.

    A message that contains a secret is not repeated: stars in a text that can be guessed would show what they replace.
    """
    if any(secret in words for secret in secrets if secret):
        return "(words that hold a secret, and are not repeated)"
    return printable(words[:_LONGEST])
