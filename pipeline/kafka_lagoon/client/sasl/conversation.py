"""What a mechanism is: a conversation in which we speak first.

Guards one rule: a conversation ends well only when the broker has proved whatever the mechanism lets it prove, and what
is told of one that ends otherwise holds no secret.
"""

from collections.abc import Generator, Iterable
from typing import Protocol, TypeAlias

from kafka_lagoon.text import printable

# Yields what to send, is sent what the broker answers, and returns once both sides are satisfied.
Tokens: TypeAlias = Generator[bytes, bytes, None]

_LONGEST = 500  # characters of somebody else's words in a message of ours


class Mechanism(Protocol):
    """One way to authenticate, ready for one connection. Made anew for each: credentials are renewed and rotated."""

    @property
    def name(self) -> str:
        """Kafka's name of the mechanism."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What the broker may know and repeat, and nobody else must see."""
        ...

    def tokens(self) -> Tokens:
        """The conversation. Raises MechanismFailed, also when one was thrown into it because the broker refused."""
        ...


class MechanismFailed(Exception):
    """Why a conversation cannot go on, without secrets; authentication.py adds who and where."""


def utf8(text: str, what: str) -> bytes:
    """The bytes of a user name or password, which is not part of the complaint when it has none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MechanismFailed(f"{what} holds characters that UTF-8 does not have") from None


def quoted(words: str, secrets: Iterable[str]) -> str:
    """Somebody else's words as they can be shown: without control characters and undue length, or not at all.

    Words that hold a secret are not repeated: stars in words that can be guessed would tell what they stand for.
    """
    if any(secret in words for secret in secrets if secret):
        return "(words that hold a secret, and are not repeated)"
    return printable(words[:_LONGEST])
