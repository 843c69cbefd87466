"""Decodes values in the wire format of Confluent's serializers (Avro, Protobuf, JSON Schema) to JSON, with a Schema Registry.

The wire format is a zero byte, the id of the schema in four bytes, for Protobuf the indexes of the message in its file, and the
value. Executors need `fastavro` or `protobuf`, and reach the registry; a Python worker requests each schema once, and again for
each batch of values while it is not found.
"""

import base64
import io
import json
from collections.abc import Callable, Iterator
from datetime import date, time
from functools import cache
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf

_NAMES, _TYPES = ["schema_id", "json", "problem"], [pa.int32(), pa.string(), pa.string()]
_HEADER, _NOT_FOUND = 5, 404
_OWN_FILE = "<value>"  # a name that no import has
Read = Callable[[bytes], str]
Ask = Callable[[str, str], Any]  # path, and the problem if it is not found


class _ProblemError(Exception):
    """There is no JSON; the text is the value of `problem`."""


def decoder(registry: str, authorization: str | None = None) -> Any:
    """A function of a binary column: a struct of the schema's id, the value as JSON, and why there is none.

    `problem` is NO_VALUE, NOT_IN_WIRE_FORMAT, SCHEMA_NOT_FOUND, REFERENCE_NOT_FOUND, UNREADABLE (the bytes are none of that
    schema, or not JSON), or NO_JSON_FORM (they fit the schema, but hold NaN or a time after year 9999). A registry that does
    not answer ends the job.
    """

    def decode(values: pa.Array) -> pa.Array:
        @cache  # for this batch: a schema that is not found may be registered before the next one
        def reader(schema_id: int) -> Read | str:
            try:
                return _reader(registry, authorization, schema_id)
            except _ProblemError as error:
                return str(error)

        rows = [_row(reader, value) for value in values.to_pylist()]
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        return pa.StructArray.from_arrays(
            [pa.array(one, kind) for one, kind in zip(columns, _TYPES, strict=True)], _NAMES
        )

    return arrow_udf(decode, "schema_id int, json string, problem string")


def _row(reader: Callable[[int], Read | str], value: bytes | None) -> tuple[int | None, str | None, str | None]:
    if value is None:
        return None, None, "NO_VALUE"
    if len(value) < _HEADER or value[0] != 0 or value[1] > 0x7F:  # ids are positive and fit an int32
        return None, None, "NOT_IN_WIRE_FORMAT"
    schema_id = int.from_bytes(value[1:_HEADER], "big")
    read = reader(schema_id)
    if isinstance(read, str):
        return schema_id, None, read
    try:
        return schema_id, read(value[_HEADER:]), None
    except _ProblemError as error:
        return schema_id, None, str(error)
    except Exception:  # noqa: BLE001  whatever fastavro and protobuf say of bytes that are something else
        return schema_id, None, "UNREADABLE"


def _text(value: object) -> str:
    """Spell values that JSON lacks: bytes in base64, times in ISO 8601, others (decimals, UUIDs) as Python writes them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)  # a datetime is a date


@cache
def _reader(registry: str, authorization: str | None, schema_id: int) -> Read:
    def ask(path: str, not_found: str) -> Any:
        request = Request(f"{registry}{path}", headers={"Authorization": authorization} if authorization else {})
        try:
            with urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code == _NOT_FOUND:
                raise _ProblemError(not_found) from error
            raise

    schema = ask(f"/schemas/ids/{schema_id}", "SCHEMA_NOT_FOUND")
    match schema.get("schemaType", "AVRO"):
        case "AVRO":
            return _avro(schema, ask)
        case "PROTOBUF":
            return _protobuf(ask(f"/schemas/ids/{schema_id}?format=serialized", "SCHEMA_NOT_FOUND"), ask)
        case _:
            return _checked_json


def _referenced(schema: Any, ask: Ask, form: str = "") -> Iterator[tuple[str, Any]]:
    """Name and schema of what a schema refers to, what those refer to first; `deleted` includes soft-deleted versions."""
    for reference in schema.get("references") or ():
        subject, version = quote(reference["subject"], safe=""), reference["version"]
        inner = ask(f"/subjects/{subject}/versions/{version}?deleted=true{form}", "REFERENCE_NOT_FOUND")
        yield from _referenced(inner, ask, form)
        yield reference["name"], inner


def _checked_json(encoded: bytes) -> str:
    """Return the text as it was written: parsing would round numbers and drop repeated fields."""
    text = encoded.decode()
    json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _avro(schema: Any, ask: Ask) -> Read:
    from fastavro import parse_schema, schemaless_reader

    schemas = [*(inner for _, inner in _referenced(schema, ask)), schema]

    def parsed(hook: Callable[[Any], Any] | None) -> Any:
        named: dict[str, Any] = {}
        *others, own = [json.loads(one["schema"], object_hook=hook) for one in schemas]
        for other in others:
            parse_schema(other, named)
        # fastavro does not look up the names in a schema that is a union; a record of one field has the same bytes.
        field = {"name": "value", "type": own}
        return parse_schema({"type": "record", "name": "_RecordOfTheValue", "fields": [field]}, named)

    whole, without_logical_types = parsed(None), parsed(_without_logical_type)

    def decoded(encoded: bytes, by: Any) -> Any:
        stream = io.BytesIO(encoded)
        value = schemaless_reader(stream, by)["value"]
        if stream.read(1):
            raise ValueError("bytes are left over")
        return value

    def read(encoded: bytes) -> str:
        try:
            return json.dumps(decoded(encoded, whole), default=_text, ensure_ascii=False, allow_nan=False)
        except Exception as error:
            decoded(encoded, without_logical_types)  # bytes that do not fit the schema are an error of their own
            raise _ProblemError("NO_JSON_FORM") from error

    return read


def _without_logical_type(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "logicalType"}


def _protobuf(schema: Any, ask: Ask) -> Read:
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

    pool = descriptor_pool.DescriptorPool()
    known = descriptor_pool.Default()

    added = set()

    def add(name: str, encoded: str) -> None:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(encoded))
        file.name = name
        for dependency in file.dependency:
            if dependency.startswith("google/protobuf/"):
                __import__(dependency.removesuffix(".proto").replace("/", ".") + "_pb2")
                _add_known(pool, known.FindFileByName(dependency))
            elif dependency not in added:  # a file that only the registry itself has, such as google/type/date.proto
                raise _ProblemError("REFERENCE_NOT_FOUND")
        pool.Add(file)
        added.add(name)

    for name, inner in _referenced(schema, ask, "&format=serialized"):
        add(name, inner["schema"])
    add(_OWN_FILE, schema["schema"])
    messages = list(pool.FindFileByName(_OWN_FILE).message_types_by_name.values())

    def read(encoded: bytes) -> str:
        indexes, body = _indexes(encoded)
        message = messages[indexes[0]]
        for index in indexes[1:]:
            message = message.nested_types[index]
        made = message_factory.GetMessageClass(message).FromString(body)
        try:
            return json_format.MessageToJson(made, preserving_proto_field_name=True, indent=None, ensure_ascii=False)
        except Exception as error:
            raise _ProblemError("NO_JSON_FORM") from error

    return read


def _add_known(pool: Any, file: Any) -> None:
    """Add a file of Protobuf itself, after those that it imports."""
    for dependency in file.dependencies:
        _add_known(pool, dependency)
    pool.AddSerializedFile(file.serialized_pb)


def _indexes(encoded: bytes) -> tuple[list[int], bytes]:
    """Read the path to the message in its file: a count and as many indexes, one inside the other; 0 is the first message."""
    stream = io.BytesIO(encoded)
    indexes = [_zigzag(stream) for _ in range(_zigzag(stream))]
    return indexes or [0], stream.read()


def _zigzag(stream: io.BytesIO) -> int:
    """Read a varint in zigzag encoding; ValueError if it is negative, as no count and no index is."""
    number = shift = 0
    while True:
        (byte,) = stream.read(1)
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number & 1:
                raise ValueError("a message index is negative")
            return number >> 1
        shift += 7
