"""Writes a desired state as TOML or YAML that reads back as the same values."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.text import printable

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


def comments(lines: Sequence[str]) -> list[str]:
    """Comment lines for both formats."""
    return [f"# {printable(' '.join(line.split()))}".rstrip() for line in lines]


def toml_text(state: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """A desired state as TOML, below comments."""
    return "\n".join([*comments(notes), *_toml_table(state, ())]) + "\n"


def _toml_table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Plain values first, then tables under their own headings, as TOML requires."""
    for key, value in table.items():
        if not _has_heading(value):
            yield f"{_toml_key(key)} = {_inline(value)}"
    for key, value in table.items():
        inner = (*path, key)
        name = ".".join(map(_toml_key, inner))
        if isinstance(value, Mapping):
            if not value or not all(isinstance(one, Mapping) for one in value.values()):
                yield from ("", f"[{name}]")
            yield from _toml_table(value, inner)
        elif _has_heading(value):
            for entry in value:
                yield from ("", f"[[{name}]]")
                yield from _toml_table(entry, inner)


def _has_heading(value: Any) -> bool:
    is_tables = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    return isinstance(value, Mapping) or is_tables


def _toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def yaml_text(state: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """A desired state as YAML, below comments. All text is quoted, so that no reader takes it for another type."""
    return "\n".join([*comments(notes), *_yaml_table(state, "")]) + "\n"


def _yaml_table(table: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in table.items():
        name = f"{indent}{key if _PLAIN_KEY.fullmatch(key) else _quoted(key)}:"
        if isinstance(value, Mapping) and value:
            yield name
            yield from _yaml_table(value, f"{indent}  ")
        elif isinstance(value, list) and _has_heading(value):
            yield name
            for entry in value:
                first, *rest = _yaml_table(entry, f"{indent}  ")
                yield f"{indent}- {first.strip()}"
                yield from rest
        else:
            yield f"{name} {'{}' if isinstance(value, Mapping) else _inline(value)}"


def _inline(value: Any) -> str:
    """A value that both formats spell alike."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    text = str(value)
    return text if "." in text else text.replace("e", ".0e")  # YAML reads 1e-07 as text


def _quoted(text: str) -> str:
    """Quote text so that both formats accept it; terminal controls and characters that they refuse are escaped."""
    whole = json.dumps(text, ensure_ascii=False)
    return whole if whole.isprintable() else "".join(c if c.isprintable() else _escaped(ord(c)) for c in whole)


def _escaped(number: int) -> str:
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
