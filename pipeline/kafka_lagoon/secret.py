"""Holds passwords and keys, as text or as a reference that is resolved where the value is used.

A secret is never shown: printing and logging give `***`, and a reference stays a reference when it is pickled.
"""

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import Any

from kafka_lagoon.errors import ConfigError

_FROM_ENVIRONMENT, _FROM_FILE = "env:", "file:"

# Values that were read from pipes, by path, because a second read of a pipe is empty. They are not passed to other processes.
_OF_PIPES: dict[str, str] = {}
_READING = Lock()


class Secret:
    """A value given as text, as `env:NAME` or as `file:/path`; `Secret.literal` takes any text as the value itself.

    Every `reveal` resolves the reference again, so that the secret can be renewed. Only a pipe is read once in a process.
    """

    __slots__ = ("_given", "_is_reference")

    def __init__(self, given: str) -> None:
        self._given = given
        self._is_reference = given.startswith((_FROM_ENVIRONMENT, _FROM_FILE))

    @classmethod
    def literal(cls, text: str) -> "Secret":
        """Make a secret whose value is the text itself, even if the text looks like a reference."""
        secret = cls(text)
        secret._is_reference = False
        return secret

    def reveal(self) -> str:
        """The value itself. ConfigError if a reference cannot be resolved or is empty; it names the reference, not a value."""
        if not self._is_reference:
            return self._given
        if value := self._resolved():
            return value
        raise ConfigError([f"{self._given}: it is empty"])

    def _resolved(self) -> str:
        if self._given.startswith(_FROM_ENVIRONMENT):
            name = self._given.removeprefix(_FROM_ENVIRONMENT)
            if name not in os.environ:
                raise ConfigError([f"{self._given}: this environment variable is not set where it is needed"])
            if not is_utf8(os.environ[name]):
                raise ConfigError([f"{self._given}: not text in UTF-8"])
            return os.environ[name]
        try:
            return _content(self._given.removeprefix(_FROM_FILE))
        except (OSError, ValueError) as error:  # ValueError: NUL in the path, or not UTF-8 in the file
            reason = error.strerror if isinstance(error, OSError) else "not a text file in UTF-8"
            raise ConfigError([f"{self._given}: {reason}"]) from None

    def is_text(self) -> bool:
        """True if the value itself was given, so that copies of the object contain it. An empty value does not count."""
        return bool(self) and not self._is_reference

    def __bool__(self) -> bool:
        """False for an empty text, which counts as not set: an environment variable may be empty."""
        return bool(self._given)

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._given, self._is_reference) == (other._given, other._is_reference)

    def __hash__(self) -> int:
        return hash(self._given)

    def __reduce__(self) -> tuple[Callable[[str], "Secret"], tuple[str]]:
        return Secret if self._is_reference else Secret.literal, (self._given,)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Tell pydantic to make a Secret of a string in a conf file, and to keep a Secret."""
        from pydantic_core import core_schema  # noqa: PLC0415  a verb without settings does without pydantic

        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        either = core_schema.union_schema([core_schema.is_instance_schema(cls), from_text])
        return core_schema.no_info_before_validator_function(_text_in_utf8, either)


def _text_in_utf8(value: Any) -> Any:
    if isinstance(value, str) and not is_utf8(value):
        raise ValueError("must be text in UTF-8")
    return value


def is_utf8(text: str) -> bool:
    """Return False if an environment variable had other bytes: Python keeps them as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _content(path: str) -> str:
    """Return the text of a file without a byte order mark and its last line break."""
    file = Path(path)
    if S_ISREG(file.stat().st_mode):
        return _text(file)
    with _READING:
        if path not in _OF_PIPES:
            _OF_PIPES[path] = _text(file)
        return _OF_PIPES[path]


def _text(file: Path) -> str:
    # Editors of Windows begin a file with a byte order mark, which nobody sees and brokers refuse.
    return file.read_text("utf-8-sig").rstrip("\r\n")
