"""Reads the message schemas inside a kafka-clients jar during tests; they are never stored.

A schema is Kafka's JSON with `//` comments; what we compare is given as plain tuples, in our spelling of names.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NEWEST = 32767
_NULL = "null"
# Fields that the newest release calls otherwise, in which we follow it: message and old name, new name.
RENAMED = {("TxnOffsetCommitRequest", "GenerationId"): "GenerationIdOrMemberEpoch"}
_ZERO = {"bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": b"", "uuid": bytes(16)}


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """A field of a schema in one version. `shape` is a type name, ("array", shape), or a tuple of fields."""

    name: str
    shape: Any
    nullable: bool
    tag: int | None
    default: Any


def snake_case(name: str) -> str:
    """Return our spelling of a field's name in a schema."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def versions_of(text: str | None) -> range:
    """Parse versions in Kafka's notation: 3, 3+, 3-7 or none."""
    if text is None or text == "none":
        return range(0)
    lowest, dash, highest = text.removesuffix("+").partition("-")
    last = NEWEST if text.endswith("+") else int(highest) if dash else int(lowest)
    return range(int(lowest), last + 1)


def stable_versions(schema: Mapping[str, Any]) -> range:
    """Return the versions of a message that may be used: Kafka withholds the last one while it can still change."""
    valid = versions_of(schema["validVersions"])
    return valid[:-1] if schema.get("latestVersionUnstable") else valid


@cache
def _entries(jar: Path) -> frozenset[str]:
    with zipfile.ZipFile(jar) as archive:
        return frozenset(archive.namelist())


def knows(jar: Path, name: str) -> bool:
    """Return True if the jar has a message of that name."""
    return f"common/message/{name}.json" in _entries(jar)


@cache
def load(jar: Path, name: str) -> Mapping[str, Any]:
    """Load the schema of a message, with its common structs inlined."""
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"common/message/{name}.json").decode()
    schema: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
    common = {one["name"]: one["fields"] for one in schema.get("commonStructs", ())}
    _expand(schema.get("fields", []), common)  # removed APIs have no versions
    for field in schema.get("fields", ()):
        field["name"] = RENAMED.get((name, field["name"]), field["name"])
    return schema


def _expand(fields: list[dict[str, Any]], common: Mapping[str, Any]) -> None:
    for field in fields:
        inner = field.get("fields") or common.get(field["type"].removeprefix("[]"))
        if inner:
            field["fields"] = inner
            _expand(inner, common)


def names(jar: Path) -> dict[int, str]:
    """Return every API of the jar by its key, including those between brokers."""
    requests = [name for name in _entries(jar) if re.fullmatch(r"common/message/\w+Request\.json", name)]
    loaded = [load(jar, Path(name).stem) for name in requests]
    return {schema["apiKey"]: schema["name"].removesuffix("Request") for schema in loaded}


def facts(fields: list[dict[str, Any]], version: int) -> tuple[FieldFacts, ...]:
    """Return the fields of a struct in one version, in wire order."""
    return tuple(
        FieldFacts(
            snake_case(field["name"]),
            _shape(field, version),
            version in versions_of(field.get("nullableVersions")),
            field.get("tag") if version in versions_of(field.get("taggedVersions")) else None,
            default_of(field),
        )
        for field in fields
        if version in versions_of(field.get("versions") or field.get("taggedVersions"))
    )


def _shape(field: Mapping[str, Any], version: int) -> Any:
    base = field["type"].removeprefix("[]")
    shape = facts(field["fields"], version) if field.get("fields") else base
    return ("array", shape) if field["type"].startswith("[]") else shape


def default_of(field: Mapping[str, Any]) -> Any:
    """Return a field's value if it is absent; "struct" for a struct of defaults."""
    kind, default = field["type"], field.get("default")
    if default == _NULL:
        return None
    if kind.startswith("[]"):
        return ()
    if field.get("fields"):
        return "struct"
    if default is None:
        return _ZERO.get(kind, 0)
    if kind == "bool":
        return str(default).lower() == "true"
    return default if kind == "string" else float(default) if kind == "float64" else int(str(default), 0)


def absent_somewhere(fields: list[dict[str, Any]], valid: range) -> Iterator[tuple[str, bool]]:
    """Return the fields that some version of their struct lacks, as dotted names, and True if they may be dropped."""
    for field in fields:
        name, present = snake_case(field["name"]), versions_of(field["versions"])
        inside = [version for version in valid if version in present]
        if 0 < len(inside) < len(valid):
            yield name, field.get("ignorable", False)
        if inside:
            for below, ignorable in absent_somewhere(field.get("fields", []), range(inside[0], inside[-1] + 1)):
                yield f"{name}.{below}", ignorable
