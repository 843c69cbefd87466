"""Holds the values of a desired state with the place of each.

TOML, YAML and rows of a table become documents; reading a document does not depend on its format.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_lagoon.frozen import frozen

_LINE = re.compile(r"[^\n]*?:(\d+): ")

Path = tuple[str | int, ...]  # keys of tables and positions in lists, from the outermost on


@frozen
class Document:
    """Values and their places; `name` is the file or table as it was given, `places` are suffixes of it: `:12`."""

    name: str
    data: Mapping[str, Any]
    places: Mapping[Path, str]

    def place(self, path: Path) -> str:
        """The place of a value, or of the nearest table around it."""
        while path and path not in self.places:
            path = path[:-1]
        return f"{self.name}{self.places.get(path, '')}"

    def fault(self, path: Path, reason: str) -> str:
        """A message about a faulty value."""
        return f"{self.place(path)}: {dotted(path)}: {reason}" if path else f"{self.place(path)}: {reason}"


def dotted(path: Sequence[str | int]) -> str:
    """A path as in messages: `topics.orders.partitions`, `acls[2].host`."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def lines(numbers: Mapping[Path, int]) -> dict[Path, str]:
    """Places in a file from line numbers."""
    return {path: f":{number}" for path, number in numbers.items()}


def in_order_of_lines(faults: Sequence[str]) -> list[str]:
    """Faults in the order of their lines, each once; those without a line first."""

    def line(fault: str) -> int:
        match = _LINE.match(fault)
        return int(match[1]) if match else 0

    return sorted(dict.fromkeys(faults), key=line)
