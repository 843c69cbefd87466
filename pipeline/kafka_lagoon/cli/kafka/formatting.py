"""Formats bytes of keys, values and headers as text for people, or as values for JSON.

Scripts can distinguish every sequence of bytes from every other; on a terminal nothing that a record holds steers it.
"""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

NULL = "-"
_DEEP, _MARGIN = 200, 50  # brackets that no encoder minds (Python's limit is 1000 calls); calls of whoever prints
_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def escaped(text: str) -> str:
    """Text on one line: control characters, marks of direction and their like spelled out."""
    return text if text.isprintable() else "".join(one if one.isprintable() else _spelled(one) for one in text)


def _spelled(character: str) -> str:
    if short := _ESCAPES.get(ord(character)):
        return short
    return (
        character.encode("ascii", "backslashreplace").decode()
        if not character.isascii()
        else f"\\x{ord(character):02x}"
    )


def as_text(raw: bytes) -> str:
    """UTF-8, with backslash escapes for what is no text. A backslash in a text stays as it is."""
    return escaped(raw.decode(errors="backslashreplace"))


def as_raw(raw: bytes) -> str:
    """The bytes as they are, once they are written to an output that undoes `surrogateescape`."""
    return raw.decode(errors="surrogateescape")


def as_base64(raw: bytes) -> str:
    """Base64 with padding."""
    return b64encode(raw).decode()


def as_json(raw: bytes) -> str:
    """JSON on one line; what is no JSON as text."""
    try:
        return escaped(json.dumps(json.loads(raw), ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):  # a record may nest as deeply as it is long
        return as_text(raw)


def text_or_bytes(raw: bytes) -> Any:
    """For JSON: a text if it is one, else the bytes, which become `{"base64": ...}`."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def base64_object(raw: bytes) -> dict[str, str]:
    """For JSON: bytes that are no text."""
    return {"base64": as_base64(raw)}


def parsed_or_text(raw: bytes) -> Any:
    """For JSON: what the bytes say as JSON, else as `text_or_bytes`."""
    try:
        parsed = json.loads(raw)
        if raw.count(b"[") + raw.count(b"{") > _DEEP:
            json.dumps(_nested_more(parsed))
    except (ValueError, RecursionError):
        return text_or_bytes(raw)
    return parsed


def _nested_more(value: Any) -> Any:
    """Nest the value deeper, because it is printed within a row, after further calls."""
    for _ in range(_MARGIN):
        value = [value]
    return value


# Format -> for people, for JSON lines.
FORMATS: dict[str, tuple[Callable[[bytes], str], Callable[[bytes], Any]]] = {
    "text": (as_text, text_or_bytes),
    "raw": (as_raw, text_or_bytes),
    "hex": (bytes.hex, bytes.hex),
    "base64": (as_base64, bytes),
    "json": (as_json, parsed_or_text),
}
