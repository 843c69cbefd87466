"""Formats bytes of keys, values and headers as text for people, or as values for JSON.

JSON keeps different bytes different. Text escapes control characters, so that a record cannot send commands to a terminal.
"""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

NULL = "-"
# Depth of brackets that every JSON encoder takes (Python's limit is 1000 calls), and calls of the code that prints.
_DEEP, _MARGIN = 200, 50
_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def escaped(text: str) -> str:
    """Spell text on one line: control characters, direction marks and other invisible characters are escaped."""
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
    """Decode UTF-8, with backslash escapes for other bytes. A backslash in the text is not escaped."""
    return escaped(raw.decode(errors="backslashreplace"))


def as_raw(raw: bytes) -> str:
    """Decode with `surrogateescape`, so that an output with the same error handler writes the bytes unchanged."""
    return raw.decode(errors="surrogateescape")


def as_base64(raw: bytes) -> str:
    """Encode as base64 with padding."""
    return b64encode(raw).decode()


def exact_json(raw: bytes) -> Any:
    """Parse JSON that would be printed again with the same values; ValueError names the first that would not.

    These are NaN, infinities, numbers with more digits than a double has, and fields that an object has twice.
    """
    # Bytes are decoded first: json.loads would take the four bytes 00 00 00 35 of an integer for the number 5 in UTF-32.
    return json.loads(
        raw.decode(), parse_float=_exact_float, parse_constant=_refused_constant, object_pairs_hook=_once_each
    )


def _exact_float(text: str) -> float:
    from decimal import Decimal, InvalidOperation  # noqa: PLC0415  most records have no such number

    number = float(text)
    try:
        is_exact = Decimal(repr(number)) == Decimal(text)
    except InvalidOperation:  # the exponent is larger than Decimal allows; this exception is not a ValueError
        is_exact = False
    if not is_exact:
        raise ValueError(f"the number {text} is not exact as a double")
    return number


def _refused_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a field twice")
    return fields


def as_json(raw: bytes) -> str:
    """Format JSON on one line, and everything else as text."""
    try:
        return escaped(json.dumps(exact_json(raw), ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError):  # a record of n bytes may nest n levels deep
        return as_text(raw)


def text_or_bytes(raw: bytes) -> Any:
    """Return UTF-8 as text and everything else as bytes, which become `{"base64": ...}` in JSON."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def base64_object(raw: bytes) -> dict[str, str]:
    """Make the JSON object of bytes that are not text."""
    return {"base64": as_base64(raw)}


def parsed_or_text(raw: bytes) -> Any:
    """Return the parsed value of bytes that are JSON, else the result of `text_or_bytes`.

    `null`, strings and objects such as `{"base64": ...}` stay text, because `produce --json` would write other bytes for them.
    """
    try:
        parsed = exact_json(raw)
        if parsed is None or isinstance(parsed, str) or _looks_like_bytes(parsed):
            return text_or_bytes(raw)
        if raw.count(b"[") + raw.count(b"{") > _DEEP:
            json.dumps(_nested_more(parsed))
    except (ValueError, RecursionError):
        return text_or_bytes(raw)
    return parsed


def _looks_like_bytes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"base64"}


def _nested_more(value: Any) -> Any:
    """Nest the value deeper, because it is printed as a part of a row, and after further calls."""
    for _ in range(_MARGIN):
        value = [value]
    return value


# Name of a format -> the function for people's output, the function for JSON lines.
FORMATS: dict[str, tuple[Callable[[bytes], str], Callable[[bytes], Any]]] = {
    "text": (as_text, text_or_bytes),
    "raw": (as_raw, text_or_bytes),
    "hex": (bytes.hex, bytes.hex),
    "base64": (as_base64, bytes),
    "json": (as_json, parsed_or_text),
}
