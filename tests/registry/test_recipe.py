"""docs/recipes/schema_registry.py: values of Confluent's serializers, and other values; in Spark in tests/source."""

import base64
import importlib.util
import io
import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import URLError

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.timestamp_pb2 import Timestamp

from kafka_lagoon.jars.locked_jars import cache_folder
from tests.registry.fake_registry import Registry, serving

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text("utf-8"))
VALUES = [(base64.b64decode(one["value"]), one["json"]) for one in SAMPLES["values"]]
FIRST, JSON_HEADER = VALUES[0][0], VALUES[4][0][:5]


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    """The file, as a user imports it."""
    spec = importlib.util.spec_from_file_location("schema_registry", ROOT / "docs" / "recipes" / "schema_registry.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.arrow_udf = lambda function, _: function  # Spark's needs a session
    return module


def decoded(recipe: ModuleType, url: str, *values: bytes | None) -> list[tuple[int | None, str | None, str | None]]:
    """Decode one batch of values, as Spark does."""
    rows = recipe.decoder(url)(pa.array(values, pa.binary())).to_pylist()
    return [(row["schema_id"], row["json"], row["problem"]) for row in rows]


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry with the schemas that the serializers registered."""
    schemas = {int(number): schema for number, schema in SAMPLES["schemas"].items()}
    with serving(Registry(schemas, SAMPLES["subjects"])) as running:
        yield running


def test_values_of_confluents_serializers(recipe: ModuleType, registry: Registry) -> None:
    """Avro in several versions and with references, JSON Schema, Protobuf's first, second and inner messages are decoded."""
    assert len(VALUES) == 10
    for _ in range(2):
        rows = decoded(recipe, registry.url, *(value for value, _ in VALUES))
        for (value, expected), (schema_id, text, problem) in zip(VALUES, rows, strict=True):
            assert (schema_id, problem) == (int.from_bytes(value[1:5], "big"), None)
            assert json.loads(text or "") == expected
    assert len(registry.requests) == len(set(registry.requests))  # each schema is requested once


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (None, None, "NO_VALUE")),
        (b"", (None, None, "NOT_IN_WIRE_FORMAT")),
        (b'{"id": 1}', (None, None, "NOT_IN_WIRE_FORMAT")),
        (b"\0\0\0\0", (None, None, "NOT_IN_WIRE_FORMAT")),
        (b"\0\x80\0\0\0x", (None, None, "NOT_IN_WIRE_FORMAT")),  # ids are positive in an int32
        (b"\0\x7f\xff\xff\xffx", (2**31 - 1, None, "SCHEMA_NOT_FOUND")),
        (b"\0\0\0\0\1x", (1, None, "SCHEMA_NOT_FOUND")),
        (FIRST[:-1], (100_000, None, "UNREADABLE")),
        (FIRST + b"x", (100_000, None, "UNREADABLE")),
        (FIRST[:5], (100_000, None, "UNREADABLE")),
        (VALUES[5][0][:5], (100_006, None, "UNREADABLE")),  # Protobuf without message indexes
        (VALUES[5][0][:5] + b"\x02\x10", (100_006, None, "UNREADABLE")),  # the ninth message of the file
        (VALUES[5][0][:5] + b"\x02\x01", (100_006, None, "UNREADABLE")),  # message -1
        (VALUES[5][0][:5] + b"\x01", (100_006, None, "UNREADABLE")),  # -1 indexes
    ],
)
def test_values_that_are_none(recipe: ModuleType, registry: Registry, value: bytes | None, expected: Any) -> None:
    """Values in another format are null, with a reason beside them."""
    assert decoded(recipe, registry.url, value) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        '{"amount": 12345678901234567.89}',
        "[1e400, -0, 1.0]",
        '{"a": 1, "a": 2}',
        f'{{"n": {"9" * 5000}}}',
        ' {"name":\t"\\u00e9"}\n',
    ],
)
def test_json_schema_values_are_the_text_of_the_record(recipe: ModuleType, registry: Registry, text: str) -> None:
    """Numbers, repeated fields and spaces are those that the producer wrote."""
    assert decoded(recipe, registry.url, JSON_HEADER + text.encode()) == [(100_004, text, None)]


@pytest.mark.parametrize(
    "content", [b'{"n": NaN}', b"[-Infinity]", b"\0\0\0\x35", b'"\xff"', b"\xef\xbb\xbf5", b'{"id": 9', b""]
)
def test_json_schema_values_that_are_not_json(recipe: ModuleType, registry: Registry, content: bytes) -> None:
    """JSON is UTF-8, without NaN and infinities."""
    assert decoded(recipe, registry.url, JSON_HEADER + content) == [(100_004, None, "UNREADABLE")]


def avro(registry: Registry, schema: Any, value: Any) -> bytes:
    """Register a schema of one field, and encode the field without its logical type."""
    number = registry.register("avro", {"schema": json.dumps(record_of(schema))})
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(record_of(schema["type"])), {"field": value})
    return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def record_of(schema: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Record", "fields": [{"name": "field", "type": schema}]}


@pytest.mark.parametrize(
    ("kind", "logical_type", "value", "expected"),
    [
        ("long", "timestamp-millis", 1_795_787_113_476, '"2026-11-27T13:45:13.476000+00:00"'),
        ("long", "local-timestamp-millis", 0, '"1970-01-01T00:00:00"'),
        ("int", "date", 0, '"1970-01-01"'),
        ("int", "time-millis", 3_600_000, '"01:00:00"'),
    ],
)
def test_times_of_avro(
    recipe: ModuleType, registry: Registry, kind: str, logical_type: str, value: int, expected: str
) -> None:
    """They are text in ISO 8601."""
    encoded = avro(registry, {"type": kind, "logicalType": logical_type}, value)
    ((_, text, problem),) = decoded(recipe, registry.url, encoded)
    assert (text, problem) == (f'{{"field": {expected}}}', None)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "double"}, math.nan),
        ({"type": "float"}, math.inf),
        ({"type": "long", "logicalType": "timestamp-millis"}, 253_402_300_800_000),  # year 10000
        ({"type": "long", "logicalType": "timestamp-micros"}, 2**63 - 1),
        ({"type": "int", "logicalType": "date"}, 2_932_897),
        ({"type": "string", "logicalType": "uuid"}, "none"),
    ],
)
def test_values_of_avro_that_json_lacks(recipe: ModuleType, registry: Registry, schema: Any, value: Any) -> None:
    """The reason says that the bytes fit the schema, and that JSON has no form for them."""
    encoded = avro(registry, schema, value)
    number = int.from_bytes(encoded[1:5], "big")
    assert decoded(recipe, registry.url, encoded, encoded + b"x") == [
        (number, None, "NO_JSON_FORM"),
        (number, None, "UNREADABLE"),
    ]


def test_a_union_of_references(recipe: ModuleType, registry: Registry) -> None:
    """A topic of several types may have a schema that is a union of them, each a schema of its own."""
    for name in ("made", "shipped"):
        event = {"type": "record", "name": name, "namespace": "events", "fields": [{"name": "id", "type": "int"}]}
        registry.register(name, {"schema": json.dumps(event)})
    references = [{"name": f"events.{name}", "subject": name, "version": 1} for name in ("made", "shipped")]
    union = json.dumps([*(one["name"] for one in references), "null"])
    start = b"\0" + registry.register("union", {"schema": union, "references": references}).to_bytes(4, "big")
    rows = decoded(recipe, registry.url, start + b"\0\x0e", start + b"\2\x10", start + b"\4", start + b"\6")
    expected = [('{"id": 7}', None), ('{"id": 8}', None), ("null", None), (None, "UNREADABLE")]
    assert [(text, problem) for _, text, problem in rows] == expected


def protobuf(registry: Registry, field_type: str, imported: str, *references: dict[str, Any]) -> bytes:
    """Register a file with a message of one field, `x`, and return what values of it begin with."""
    file = FileDescriptorProto(name="m", package="m", syntax="proto3", dependency=[imported])
    file.message_type.add(name="M").field.add(name="x", number=1, label="LABEL_OPTIONAL", type_name=field_type)
    schema = {"schemaType": "PROTOBUF", "references": list(references)}
    schema["schema"] = base64.b64encode(file.SerializeToString()).decode()
    return b"\0" + registry.register(imported, schema).to_bytes(4, "big") + b"\0"


def test_a_file_that_imports_one_of_any_name(recipe: ModuleType, registry: Registry) -> None:
    """No name of an import is that of the file itself."""
    inner = FileDescriptorProto(name="v", package="v", syntax="proto3")
    inner.message_type.add(name="V").field.add(name="y", number=1, label="LABEL_OPTIONAL", type="TYPE_INT32")
    schema = base64.b64encode(inner.SerializeToString()).decode()
    registry.register("values", {"schemaType": "PROTOBUF", "schema": schema})
    reference = {"name": "value.proto", "subject": "values", "version": 1}
    start = protobuf(registry, ".v.V", "value.proto", reference)
    ((_, text, problem),) = decoded(recipe, registry.url, start + b"\x0a\2\x08\7")
    assert (text, problem) == ('{"x": {"y": 7}}', None)


def test_files_that_the_registry_or_protobuf_has(recipe: ModuleType, registry: Registry) -> None:
    """Protobuf's own files may import others of them; a file that only the registry has fails its own values."""
    start = protobuf(registry, ".google.protobuf.Type", "google/protobuf/type.proto")
    missing = protobuf(registry, ".google.type.Date", "google/type/date.proto")
    rows = decoded(recipe, registry.url, start + b"\x0a\3\x0a\1T", missing, FIRST)
    assert [problem for _, _, problem in rows] == [None, "REFERENCE_NOT_FOUND", None]
    assert json.loads(rows[0][1] or "") == {"x": {"name": "T"}}


def test_a_time_of_protobuf_that_json_lacks(recipe: ModuleType, registry: Registry) -> None:
    """Protobuf's JSON has times of the years 1 to 9999."""
    at_year_10000 = Timestamp(seconds=253_402_300_800).SerializeToString()
    order = VALUES[5][0][:5] + b"\0" + bytes([3 << 3 | 2, len(at_year_10000)]) + at_year_10000
    assert decoded(recipe, registry.url, order) == [(100_006, None, "NO_JSON_FORM")]


def test_a_schema_that_is_registered_later(recipe: ModuleType, registry: Registry) -> None:
    """A schema that was not found is requested again for the next batch, and once for each."""
    value = b"\0\0\1\x90\0{}"
    assert decoded(recipe, registry.url, value, value) == [(102_400, None, "SCHEMA_NOT_FOUND")] * 2
    assert len(registry.requests) == 1
    registry.schemas[102_400] = {"schemaType": "JSON", "schema": "{}"}
    assert decoded(recipe, registry.url, value) == [(102_400, "{}", None)]


def test_references_that_are_soft_deleted(recipe: ModuleType, registry: Registry) -> None:
    """Ids of soft-deleted schemas are still found, and so are the schemas that they refer to, in Avro and in Protobuf."""
    registry.soft_deleted = {(subject, 1) for subject in registry.subjects}
    rows = decoded(recipe, registry.url, *(value for value, _ in VALUES))
    assert [json.loads(text or "null") for _, text, _ in rows] == [expected for _, expected in VALUES]


def test_references_that_are_not_found(recipe: ModuleType, registry: Registry) -> None:
    """The reason does not say that the schema itself is missing; values of other schemas are decoded."""
    registry.subjects = {}
    rows = decoded(recipe, registry.url, VALUES[3][0], VALUES[5][0], FIRST)
    assert [problem for _, _, problem in rows] == ["REFERENCE_NOT_FOUND", "REFERENCE_NOT_FOUND", None]


def test_a_registry_that_does_not_answer_is_an_error(recipe: ModuleType) -> None:
    """It is an error, and not a reason for unreadable values."""
    with pytest.raises(URLError):
        decoded(recipe, "http://127.0.0.1:1", FIRST)


@pytest.mark.proof
def test_samples_are_those_of_confluents_serializers(tmp_path: Path) -> None:
    """confluent-kafka makes the same bytes again, in an environment of its own with the extras that it needs."""
    python = cache_folder() / "confluent" / "bin" / "python"
    assert python.exists(), (
        f"python -m venv {python.parents[1]} && {python} -m pip install "
        '"confluent-kafka[avro,protobuf,json,schemaregistry]==2.15.1"'
    )
    command = [python, "-m", "tests.registry.make_samples", tmp_path / "samples.json"]
    subprocess.run(command, check=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert json.loads((tmp_path / "samples.json").read_text("utf-8")) == SAMPLES
