"""Reads the fields of one table of a document with the types that they must have, and collects every fault with its place."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.text import did_you_mean

T = TypeVar("T")
MOST_INT32 = 2**31 - 1


class Fields:
    """The fields of a table. An absent value is None; a wrong value is a fault, and None, too."""

    def __init__(self, document: Document, faults: list[str], path: Path, value: Any) -> None:
        self.document, self.path, self._faults = document, path, faults
        self._values: Mapping[str, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.fault("must be a table with fields" if path else "must be a table of sections")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, reason: str, *keys: str | int) -> None:
        """Add a fault of this table, or of a value in it."""
        self._faults.append(self.document.fault((*self.path, *keys), reason))

    def only(self, *known: str) -> None:
        """Add a fault for every other key."""
        for key in self._values:
            if key not in known:
                self.fault(f"is not known here{did_you_mean(key, known)}; known are {', '.join(known)}", key)

    def table(self, key: str) -> "Fields":
        """The fields of a table in this one; none if it is absent."""
        return Fields(self.document, self._faults, (*self.path, key), self._values.get(key, {}))

    def tables(self, key: str) -> list["Fields"]:
        """The fields of each table of a list."""
        values = self._values.get(key, [])
        if not isinstance(values, list):
            self.fault("must be a list of tables", key)
            return []
        paths = [(*self.path, key, index) for index in range(len(values))]
        return [Fields(self.document, self._faults, path, value) for path, value in zip(paths, values, strict=True)]

    def raw(self, key: str) -> Any:
        """A value of any type."""
        return self._values.get(key)

    def text(self, key: str, *, needed: bool = False) -> str | None:
        """Text that is not empty; a whole number is taken as a name."""
        value = self._values.get(key)
        if value is None and key not in self._values:
            if needed:
                self.fault(f"{key} is missing")
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            self.fault("must be text that is not empty", key)
            return None
        return value

    def number(self, key: str, lowest: int, highest: int = MOST_INT32, *, needed: bool = False) -> int | None:
        """A whole number within limits."""
        value: Any = self._values.get(key)
        if value is None and key not in self._values:
            if needed:
                self.fault(f"{key} is missing")
            return None
        if not is_number(value) or not lowest <= value <= highest:
            upper = "on" if highest >= MOST_INT32 else f"to {highest}"
            self.fault(f"must be a whole number from {lowest} {upper}", key)
            return None
        return int(value)

    def texts(self, key: str) -> list[str] | None:
        """A list of text; None if it is absent."""
        value = self._values.get(key)
        if value is None and key not in self._values:
            return None
        if not isinstance(value, list) or not all(isinstance(part, str) and part for part in value):
            self.fault("must be a list of text", key)
            return None
        return list(value)

    def brokers(self, key: str) -> tuple[int, ...] | None:
        """A list of broker ids, the preferred leader first; None if it is absent or wrong."""
        if key not in self._values:
            return None
        if fault := brokers_fault(self._values[key]):
            self.fault(fault, key)
            return None
        return tuple(self._values[key])

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str | None:
        """One of several words."""
        value = self.text(key, needed=default is None) if key in self._values or default is None else default
        if value is not None and value not in choices:
            self.fault(f"{value!r} is not one of {', '.join(choices)}{did_you_mean(value, choices)}", key)
            return None
        return value

    def parsed(self, key: str, parse: Callable[[str], T]) -> T | None:
        """The result of `parse` for a text; its ValueError is a fault."""
        text = self.text(key)
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            self.fault(str(error), key)
            return None

    def patterns(self, key: str) -> list[re.Pattern[str]] | None:
        """A list of regular expressions; None if it is absent."""
        texts = self.texts(key)
        if texts is None:
            return None
        patterns = []
        for index, text in enumerate(texts):
            try:
                patterns.append(re.compile(text))
            except re.error as error:
                self.fault(f"{text!r} is not a regular expression: {error}", key, index)
        return patterns

    def configs(self, key: str | None = None) -> dict[str, str]:
        """Configs of a resource by name, as texts for Kafka; without a key the configs of the table itself."""
        path, value = ((*self.path, key), self._values.get(key, {})) if key else (self.path, dict(self._values))
        if not isinstance(value, dict):
            self.fault("must be a table of configs", *((key,) if key else ()))
            return {}
        flat: dict[str, str] = {}
        self._flatten(value, path, "", flat)
        return flat

    def _flatten(self, values: Mapping[str, Any], path: Path, prefix: str, flat: dict[str, str]) -> None:
        """Join the keys of nested tables: in TOML `retention.ms = 1` without quotes is a table `retention` with `ms`."""
        for key, value in values.items():
            name = f"{prefix}{key}"
            if isinstance(value, dict):
                self._flatten(value, (*path, key), f"{name}.", flat)
            elif name in flat:
                self._faults.append(self.document.fault((*path, key), f"{name} is written twice, whole and in parts"))
            elif (text := config_text(value)) is not None:
                flat[name] = text
            else:
                reason = "must be text, a number, true, false, or a list of these"
                self._faults.append(self.document.fault((*path, key), reason))


def is_number(value: Any) -> bool:
    """True for a whole number; in Python booleans are numbers, too."""
    return isinstance(value, int) and not isinstance(value, bool)


def brokers_fault(value: Any) -> str | None:
    """The fault of a list of replicas, or None."""
    if not isinstance(value, list) or not value or not all(is_number(part) and part >= 0 for part in value):
        return "must be a list of broker ids"
    return "names a broker twice" if len(set(value)) < len(value) else None


def config_text(value: Any) -> str | None:
    """The value of a config as text for Kafka; None for a value that no config can have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        parts = [config_text(part) if not isinstance(part, list) else None for part in value]
        return None if None in parts else ",".join(part for part in parts if part is not None)
    return value if isinstance(value, str) else None
