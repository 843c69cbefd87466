"""Makes a document of the rows of a table with the columns section, name, key and value, all text.

One row holds one value: ('topics', 'orders', 'partitions', '6'), ('topics', 'orders', 'configs.retention.ms', '86400000'),
('owns', 'topics', NULL, '["orders-.*"]'), ('cluster_id', NULL, NULL, 'MkU3...'). Entries of `acls`, `quotas` and `actions` are
numbered by their names, in the order of these. A value in brackets or braces is JSON, and so is one that begins with a quote
and a bracket: '"[eu] billing"' is the name of a group. Numbers are what they look like where a field wants one. No field is a
boolean: `true` is the text of a config, or a name.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.apply.desired.resources import limits_of
from kafka_lagoon.errors import ConfigError

LISTS = frozenset({"acls", "quotas", "actions"})
_WITH_FIELDS = frozenset({"topics", "scram_users", "defaults"})  # sections whose entries contain tables
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,19}")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_LIMITS = frozenset({*limits_of(()), *limits_of(("ip",))})
_ORDINAL = re.compile(r"[0-9]{1,18}")


class DesiredRow(NamedTuple):
    """One value of a desired state."""

    section: str | None
    name: str | None
    key: str | None
    value: str | None


def table_document(name: str, rows: Iterable[DesiredRow]) -> Document:
    """Make a document of rows in any order; ConfigError lists every fault."""
    data: dict[str, Any] = {}
    places: dict[Path, str] = {}
    faults: list[str] = []
    for row in sorted(rows, key=_order):
        place = f": row {_shown(row)}"
        try:
            _put(data, places, row, place)
        except ValueError as error:
            faults.append(f"{name}{place}: {error}")
    if faults:
        raise ConfigError(faults)
    for section, entries in data.items():
        if section in LISTS and isinstance(entries, dict):
            places.update(_numbered(section, entries, places))
            data[section] = list(entries.values())
    return Document(name=name, data=data, places=places)


def _order(row: DesiredRow) -> tuple[str, int, str, str]:
    name = row.name or ""
    number = int(name) if row.section in LISTS and _ORDINAL.fullmatch(name) else 0
    return (row.section or "", number, name, row.key or "")


def _shown(row: DesiredRow) -> str:
    return " ".join(part for part in (row.section, row.name, row.key) if part)


def _put(data: dict[str, Any], places: dict[Path, str], row: DesiredRow, place: str) -> None:
    if not row.section or row.value is None:
        raise ValueError("section and value must not be null")
    path = _path(row)
    branch: Any = data
    for length, part in enumerate(path[:-1], 1):
        places.setdefault(path[:length], place)
        branch = branch.setdefault(part, {})
        if not isinstance(branch, dict):
            raise ValueError(f"{'.'.join(path[:length])} is a value and has values within")  # noqa: TRY004
    if path[-1] in branch:
        raise ValueError("written a second time")
    branch[path[-1]] = _value(row.value, is_limit=path[0] == "quotas" and path[-1] in _LIMITS)
    places[path] = place


def _path(row: DesiredRow) -> tuple[str, ...]:
    keys = row.key.split(".", 1) if row.key and row.section in _WITH_FIELDS else [row.key or ""]
    return tuple(part for part in (row.section or "", row.name or "", *keys) if part)


def _value(text: str, *, is_limit: bool) -> Any:
    """The value of a row. Decimals are numbers only as limits of quotas: elsewhere 1.50 may be a name, and 0.50 a config."""
    if text.removeprefix('"')[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("values are nested too deeply") from None
        except ValueError:
            raise ValueError('a value that begins with a bracket must be JSON; a text is in quotes: "[...]"') from None
    if _NUMBER.fullmatch(text):
        return int(text)
    return float(text) if is_limit and _DECIMAL.fullmatch(text) else text


def _numbered(section: str, entries: dict[str, Any], places: dict[Path, str]) -> dict[Path, str]:
    """Places of the entries of a list by position."""
    index = {name: position for position, name in enumerate(entries)}
    return {
        (section, index[str(path[1])], *path[2:]): place
        for path, place in places.items()
        if len(path) > 1 and path[0] == section
    }
