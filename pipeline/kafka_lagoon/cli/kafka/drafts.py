"""Lines in, records that are to be written out: plain text, keys before a separator, or JSON.

Guards one rule: what a line says is written exactly, or refused with a reason. A JSON line of `lagoon kafka fetch --json`
is one that `produce --json` takes.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafka_lagoon.records.encoding import Header
from kafka_lagoon.times import parse_moment

_TAKEN = frozenset({"key", "value", "headers", "partition", "timestamp", "timestamp_ms"})
_TOLD_BY_FETCH = frozenset(
    {"kind", "topic", "offset", "timestamp_type", "leader_epoch", "producer_id", "producer_epoch"}
    | {"is_transactional", "is_aborted"}
)
_MOST_INT64 = (1 << 63) - 1


class Draft(NamedTuple):
    """A record that is to be written; None where the line leaves it to the producer."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def text_reader(key: bytes | None, separator: bytes | None, headers: tuple[Header, ...]) -> Callable[[bytes], Draft]:
    """Reads a line as a value, behind a key and the separator if there is one; ValueError says what is wrong."""

    def read(line: bytes) -> Draft:
        if separator is None:
            return Draft(key, line, headers)
        own_key, found, value = line.partition(separator)
        if not found:
            raise ValueError(f"no key separator {separator.decode(errors='backslashreplace')!r}")
        return Draft(own_key, value, headers)

    return read


def json_reader(key: bytes | None, headers: tuple[Header, ...]) -> Callable[[bytes], Draft]:
    """Reads a line as a JSON object; `key` and `headers` are for lines that have none; ValueError says what is wrong."""

    def read(line: bytes) -> Draft:
        told = _object(line)
        if unknown := told.keys() - _TAKEN - _TOLD_BY_FETCH:
            raise ValueError(f"unknown field {min(unknown)!r}")
        return Draft(
            _bytes(told["key"]) if "key" in told else key,
            _bytes(told.get("value")),
            _headers(told["headers"]) if "headers" in told else headers,
            _partition(told.get("partition")),
            _timestamp_ms(told),
        )

    return read


def _object(line: bytes) -> dict[str, Any]:
    match json.loads(line):
        case dict() as told:
            return told
        case _:
            raise ValueError("not a JSON object")


def _bytes(told: Any) -> bytes | None:
    """Text in UTF-8, `{"base64": ...}` as the bytes it stands for, anything else as JSON."""
    match told:
        case None:
            return None
        case str():
            return told.encode()
        case {"base64": str(spelled)} if len(told) == 1:
            try:
                return b64decode(spelled, validate=True)
            except binascii.Error as error:
                raise ValueError(f"{spelled!r} is not base64: {error}") from None
        case _:
            return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(told: Any) -> tuple[Header, ...]:
    match told:
        case list():
            return tuple(map(_header, told))
        case _:
            raise ValueError('headers are a list of {"key": ..., "value": ...}')


def _header(told: Any) -> Header:
    match told:
        case {"key": str(key)} if not told.keys() - {"key", "value"}:
            return key.encode(), _bytes(told.get("value"))
        case _:
            raise ValueError('a header is {"key": text, "value": ...}')


def _partition(told: Any) -> int | None:
    match told:
        case None:
            return None
        case int() if told is not True and told is not False:
            return told
        case _:
            raise ValueError("a partition is a number")


def _timestamp_ms(told: Mapping[str, Any]) -> int | None:
    match told.get("timestamp_ms", told.get("timestamp")):
        case None:
            return None
        case str() as text:
            return _fixed_ms(text)
        case int() as moment if -1 <= moment <= _MOST_INT64:
            return moment
        case _:
            raise ValueError("a timestamp is epoch milliseconds or ISO 8601")


def _fixed_ms(text: str) -> int:
    """A record's time is one that does not depend on when it is written."""
    moment = parse_moment(text)
    if moment.epoch_ms is None:
        raise ValueError("a timestamp is epoch milliseconds or ISO 8601")
    return moment.epoch_ms
