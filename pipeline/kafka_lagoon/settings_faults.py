"""Puts the faults that pydantic finds in settings into plain words, a line for each, by the dotted names of the settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from kafka_lagoon import kafka_settings
from kafka_lagoon.owners import Expectation
from kafka_lagoon.settings import OF_OWNERS, SECTIONS, top_level_names
from kafka_lagoon.text import did_you_mean, printable

_RELATIONS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_SECTION = "must be a section with settings of its own"
_REQUIREMENTS = {  # by the first word of pydantic's type of error
    "missing": "must be set",
    "string": "must be text",
    "is": "must be text",  # is_instance_of: a secret
    "int": "must be a whole number",
    "finite": "must be a whole number",  # nan and inf
    "bool": "must be true or false",
    "date": "must be a date such as 2026-12-24",
    **dict.fromkeys(("model", "dataclass", "dict", "mapping"), _SECTION),
}
_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")  # a field of a pydantic model, a field of a dataclass
_FORMER = {"ingest.patience_ms": "stall_timeout_ms"}  # words: ok, the name of a setting in 0.1.0
_QUOTE, _QUOTED_NOTHING = "'", "''"


def problems_of(error: ValidationError, named: Mapping[tuple[str, ...], str]) -> list[str]:
    """Make one line per faulty setting; for a value of several possible types pydantic has several faults.

    `named` has the names of settings, by their paths, that are not those of a file: of environment variables.
    """
    faults = error.errors(include_input=False, include_url=False)
    lines = (
        _problem(fault["type"], _setting(fault["loc"]), fault["msg"], fault.get("ctx", {}), named) for fault in faults
    )
    return list(dict.fromkeys(lines))


def _problem(
    kind: str, path: tuple[str, ...], message: str, bounds: Mapping[str, Any], named: Mapping[tuple[str, ...], str]
) -> str:
    """Make a line of the setting's dotted name, or the name that it has in `named`, and its fault."""
    dotted = ".".join(path)
    where = named.get(path, dotted)
    if kind in _UNKNOWN_KEY and dotted in _FORMER:
        return f"{where}: is called {_FORMER[dotted]} now"
    if kind in _UNKNOWN_KEY:
        # A variable with one underscore too many names something within a setting.
        where = next((name for within, name in named.items() if within[: len(path)] == path), dotted)
        return f"{where}: no such setting{did_you_mean(path[-1], _names_beside(path)) or _elsewhere(path[-1])}"
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    return f"{where}: {_must(kind, bounds)}"


def _must(kind: str, bounds: Mapping[str, Any]) -> str:
    """Spell the requirement on a value, by pydantic's type of error: its own messages name types of Python."""
    match kind.partition("_")[0]:
        case "greater" | "less":
            ((relation, bound),) = bounds.items()
            return f"must be {_RELATIONS[relation]} {bound}"
        case "literal":
            return f"must be {bounds['expected'].replace(_QUOTED_NOTHING, 'empty').replace(_QUOTE, '')}"
        case type_name:
            return _REQUIREMENTS.get(type_name, "cannot have this value")


def _setting(location: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the part of pydantic's location that is the name of a setting; the types that pydantic tried come after it."""
    match location:
        case (section, table, str(pattern), *rest) if section in OF_OWNERS:
            names = () if rest in ([], ["[key]"]) else rest
            return section, str(table), f'"{printable(pattern)}"', *map(str, names)
        case ("clusters", *_):
            length = 3
        case (section, *_) if section == "kafka" or section in SECTIONS:
            length = 2
        case _:
            length = 1
    return tuple(map(str, location[:length]))


def _names_beside(path: Sequence[str]) -> set[str]:
    match path:
        case ("kafka", _) | ("clusters", _, _):
            return set(kafka_settings.NAMES)
        case (section, _) if section in SECTIONS:
            return set(SECTIONS[section].model_fields)
        case ("expected", _, _, _):
            return {field.name for field in fields(Expectation)}
        case _:
            return top_level_names()


def _elsewhere(name: str) -> str:
    """Suggest the right place of a setting that is in the wrong section; empty if no section has a setting of this name."""
    if name in top_level_names() - {"kafka", "clusters", *SECTIONS}:
        return f" ({name} belongs above the first [section])"
    by_section = {"kafka": kafka_settings.NAMES, **{section: cls.model_fields for section, cls in SECTIONS.items()}}
    places = [f"{section}.{name}" for section, names in by_section.items() if name in names]
    return f" (did you mean {' or '.join(places)}?)" if places else ""
