"""Parses lines of input to records for `lagoon kafka produce`: plain text, key and value with a separator, or JSON.

A line is written exactly, or refused with a reason. `produce --json` accepts the lines that `fetch --json` prints.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from kafka_lagoon.cli.kafka.formatting import exact_json
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.records.encoding import Header
from kafka_lagoon.times import parse_moment

_FIELDS = frozenset({"key", "value", "headers", "partition", "timestamp", "timestamp_ms"})
_ONLY_OF_FETCH = frozenset(
    {"kind", "topic", "offset", "timestamp_type", "leader_epoch", "producer_id", "producer_epoch"}
    | {"is_transactional", "is_aborted"}
)

Parser = Callable[[bytes], ProducerRecord]  # raises ValueError, which names the fault of the line


def text_parser(defaults: ProducerRecord, separator: bytes | None) -> Parser:
    """Make the parser of lines with a value, or with key, separator and value; all other fields have the defaults."""
    key, _, headers, partition, timestamp_ms = defaults

    def parse(line: bytes) -> ProducerRecord:
        if separator is None:
            return ProducerRecord(key, line, headers, partition, timestamp_ms)
        own_key, is_separated, value = line.partition(separator)
        if not is_separated:
            raise ValueError(f"no key separator {separator.decode(errors='backslashreplace')!r}")
        return ProducerRecord(own_key, value, headers, partition, timestamp_ms)

    return parse


def json_parser(defaults: ProducerRecord, partitions: int) -> Parser:
    """Make the parser of lines that are JSON objects; missing fields, except the value, have the defaults."""

    def parse(line: bytes) -> ProducerRecord:
        try:
            return record_of(line)
        except RecursionError:
            raise ValueError("values are nested too deeply") from None

    def record_of(line: bytes) -> ProducerRecord:
        fields = _object(line)
        if unknown := fields.keys() - _FIELDS - _ONLY_OF_FETCH:
            raise ValueError(f"unknown field {min(unknown)!r}")
        record = ProducerRecord(
            _bytes(fields["key"]) if "key" in fields else defaults.key,
            _bytes(fields.get("value")),
            _headers(fields["headers"]) if "headers" in fields else defaults.headers,
            _partition(fields.get("partition"), partitions),
            _timestamp_ms(fields),
        )
        return record._replace(
            partition=defaults.partition if record.partition is None else record.partition,
            timestamp_ms=defaults.timestamp_ms if record.timestamp_ms is None else record.timestamp_ms,
        )

    return parse


def _object(line: bytes) -> dict[str, Any]:
    match exact_json(line):
        case dict() as fields:
            return fields
        case _:
            raise ValueError("not a JSON object")


def _bytes(field: Any) -> bytes | None:
    """Encode text as UTF-8, decode `{"base64": ...}`, and write other values as JSON."""
    match field:
        case None:
            return None
        case str():
            return field.encode()
        case {"base64": str(encoded)} if len(field) == 1:
            try:
                return b64decode(encoded, validate=True)
            except binascii.Error as error:
                raise ValueError(f"{encoded!r} is not base64: {error}") from None
        case _:
            # UTF-8 has no lone surrogate, which JSON may have in a text: its escape is also that of JSON.
            return json.dumps(field, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def _headers(field: Any) -> tuple[Header, ...]:
    match field:
        case list():
            return tuple(map(_header, field))
        case _:
            raise ValueError('headers are a list of {"key": ..., "value": ...}')


def _header(item: Any) -> Header:
    match item:
        case {"key": str(key)} if not item.keys() - {"key", "value"}:
            return key.encode(), _bytes(item.get("value"))
        case _:
            raise ValueError('a header is {"key": text, "value": ...}')


def _partition(field: Any, partitions: int) -> int | None:
    match field:
        case None:
            return None
        case bool():
            raise ValueError("a partition is a number")
        case int() if 0 <= field < partitions:
            return field
        case int():
            raise ValueError(f"no partition {field}: the topic has {partitions}")
        case _:
            raise ValueError("a partition is a number")


def _timestamp_ms(fields: Mapping[str, Any]) -> int | None:
    if "timestamp" in fields and "timestamp_ms" in fields:
        raise ValueError("timestamp and timestamp_ms exclude each other")
    match fields.get("timestamp_ms", fields.get("timestamp")):
        case None:
            return None
        case str() as text:
            return _fixed_ms(text)
        case bool():
            raise ValueError("a timestamp is epoch milliseconds or ISO 8601")
        case int() as moment if -MOST_INT64 - 1 <= moment <= MOST_INT64:
            # Timestamps before 1970 are valid; -1 stands for no timestamp.
            return moment
        case _:
            raise ValueError("a timestamp is epoch milliseconds or ISO 8601")


def _fixed_ms(text: str) -> int:
    """Parse a fixed time. Relative times are refused: the timestamp would depend on the time of writing."""
    moment = parse_moment(text)
    if moment.epoch_ms is None:
        raise ValueError("a timestamp is epoch milliseconds or ISO 8601")
    return moment.epoch_ms
