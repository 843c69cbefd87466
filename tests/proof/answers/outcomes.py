"""The output of a run about a cluster: facts as rows by table, and all by which it shows that facts are missing or in doubt."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run; `reported` are lines of failures, of incomplete coverage and of errors, and an exit code that is not 0."""

    facts: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    reported: frozenset[str] = frozenset()


def row_of(source: Any) -> dict[str, Any]:
    """The columns of a row, as values that can be compared and counted."""
    if is_dataclass(source) and not isinstance(source, type):
        return {each.name: _plain(getattr(source, each.name)) for each in fields(source)}
    return {str(name): _plain(value) for name, value in dict(source).items()}


def rows_of(several: Iterable[Any]) -> list[dict[str, Any]]:
    """The rows of a table."""
    return [row_of(one) for one in several]


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bytes) or value is None:
        return value
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), _plain(one)) for name, one in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(row_of(value).items())
    if isinstance(value, frozenset | set):
        return tuple(sorted(map(repr, value)))
    if isinstance(value, Iterable):
        return tuple(_plain(one) for one in value)
    return repr(value)


def counted(rows: Iterable[Row]) -> Counter[tuple[Any, ...]]:
    """The rows of a table by their number."""
    return Counter(tuple(row.items()) for row in rows)
