"""Holds passwords and keys, as text or as a reference that is resolved where the value is used.

A secret is never shown: printing and logging give `***`, and a reference stays a reference when it is pickled.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_lagoon.errors import ConfigError

_FROM_ENVIRONMENT, _FROM_FILE = "env:", "file:"


class Secret:
    """A value given as text, as `env:NAME` or as `file:/path`; every `reveal` resolves the reference again."""

    __slots__ = ("_given",)

    def __init__(self, given: str) -> None:
        self._given = given

    def reveal(self) -> str:
        """The value itself. ConfigError when a reference leads nowhere; it names the reference, which is no secret."""
        if self._given.startswith(_FROM_ENVIRONMENT):
            name = self._given.removeprefix(_FROM_ENVIRONMENT)
            if name not in os.environ:
                raise ConfigError([f"{self._given}: this environment variable is not set where it is needed"])
            return os.environ[name]
        if self._given.startswith(_FROM_FILE):
            try:
                return Path(self._given.removeprefix(_FROM_FILE)).read_text("utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not text"
                raise ConfigError([f"{self._given}: {reason}"]) from None
        return self._given

    def is_text(self) -> bool:
        """True if the value itself was given, and travels where the secret does. An empty value tells nothing."""
        return bool(self._given) and not self._given.startswith((_FROM_ENVIRONMENT, _FROM_FILE))

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._given == other._given

    def __hash__(self) -> int:
        return hash(self._given)

    def __reduce__(self) -> tuple[Callable[[str], "Secret"], tuple[str]]:
        return Secret, (self._given,)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Tell pydantic to make a Secret of a string in a conf file, and to keep a Secret."""
        from pydantic_core import core_schema  # noqa: PLC0415  a verb without settings does without pydantic

        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        return core_schema.union_schema([core_schema.is_instance_schema(cls), from_text])
