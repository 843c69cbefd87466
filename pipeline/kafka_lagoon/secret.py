"""Passwords and keys: text or a reference in, the value out where it is used.

Guards one rule: a secret is never shown. What prints, logs or pickles it gets `***` or the reference, not the value.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_core import core_schema

from kafka_lagoon.errors import ConfigError

_FROM_ENVIRONMENT, _FROM_FILE = "env:", "file:"


class Secret:
    """A value told as text, as `env:NAME` or as `file:/path`; references are resolved anew by every `reveal`."""

    __slots__ = ("_told",)

    def __init__(self, told: str) -> None:
        self._told = told

    def reveal(self) -> str:
        """The value itself. ConfigError when a reference leads nowhere; it names the reference, which is no secret."""
        if self._told.startswith(_FROM_ENVIRONMENT):
            name = self._told.removeprefix(_FROM_ENVIRONMENT)
            if name not in os.environ:
                raise ConfigError([f"{self._told}: this environment variable is not set where it is needed"])
            return os.environ[name]
        if self._told.startswith(_FROM_FILE):
            try:
                return Path(self._told.removeprefix(_FROM_FILE)).read_text("utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not text"
                raise ConfigError([f"{self._told}: {reason}"]) from None
        return self._told

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._told == other._told

    def __hash__(self) -> int:
        return hash(self._told)

    def __reduce__(self) -> tuple[Callable[[str], "Secret"], tuple[str]]:
        return Secret, (self._told,)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        """How pydantic makes one of a string in a conf file; also how it keeps one that is there already."""
        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        return core_schema.union_schema([core_schema.is_instance_schema(cls), from_text])
