"""Makes samples.json: values of Confluent's own serializers, and the schemas that they registered.

    python -m tests.registry.make_samples FILE     in an environment with confluent-kafka[avro,protobuf,json,schemaregistry] 2.15.1

The proof in test_recipe.py runs it again and compares.
"""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2  # noqa: F401  found by name

from tests.registry.fake_registry import Registry, serving, text_of

_VALUE = SerializationContext("orders", MessageField.VALUE)
_CUSTOMER = {"type": "record", "name": "shop.Customer", "fields": [{"name": "name", "type": "string"}]}
_FIRST = {
    "type": "record",
    "name": "shop.Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": ["null", "string"], "default": None}],
}
_AMOUNT = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_SECOND = _FIRST | {
    "fields": [*_FIRST["fields"], {"name": "total", "type": _AMOUNT, "default": "\0"}, {"name": "raw", "type": "bytes"}]
}
_NESTED = _FIRST | {"name": "shop.Delivery", "fields": [{"name": "to", "type": "shop.Customer"}]}
_JSON = {"title": "order", "type": "object", "properties": {"id": {"type": "integer"}}}


def samples(client: SchemaRegistryClient) -> Iterator[tuple[bytes, Any]]:
    """Make serialized values with the JSON that they encode."""
    for schema, value, expected in (
        (_FIRST, {"id": 1, "customer": "é"}, {"id": 1, "customer": "é"}),
        (_FIRST, {"id": -(2**63), "customer": None}, {"id": -(2**63), "customer": None}),
        (
            _SECOND,
            {"id": 3, "customer": "c", "total": Decimal("12.50"), "raw": b"\xff\0"},
            {"id": 3, "customer": "c", "total": "12.50", "raw": "/wA="},
        ),
    ):
        yield AvroSerializer(client, json.dumps(schema))(value, _VALUE), expected
    client.register_schema("customer", Schema(json.dumps(_CUSTOMER), "AVRO"))
    refers = Schema(json.dumps(_NESTED), "AVRO", [SchemaReference("shop.Customer", "customer", 1)])
    yield AvroSerializer(client, refers)({"to": {"name": "n"}}, _VALUE), {"to": {"name": "n"}}
    yield JSONSerializer(json.dumps(_JSON), client)({"id": 5}, _VALUE), {"id": 5}
    yield from _protobuf(client)


def _protobuf(client: SchemaRegistryClient) -> Iterator[tuple[bytes, Any]]:
    pool = descriptor_pool.Default()
    pool.Add(_file("customer.proto", {"Customer": {"name": "string"}}))
    pool.Add(
        _file(
            "order.proto",
            {
                "Order": {"id": "int64", "by": ".shop.Customer", "at": ".google.protobuf.Timestamp"},
                "Line": {"note": "string"},
            },
            "customer.proto",
            "google/protobuf/timestamp.proto",
        )
    )
    for name, fields, expected in (
        ("shop.Order", {"id": 7, "by": {"name": "n"}}, {"id": "7", "by": {"name": "n"}}),
        ("shop.Order", {}, {}),
        ("shop.Order", {"at": {"seconds": 60}}, {"at": "1970-01-01T00:01:00Z"}),
        ("shop.Line", {"note": "second message"}, {"note": "second message"}),
        ("shop.Line.Inner", {"note": "inside"}, {"note": "inside"}),
    ):
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        serializer = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
        yield serializer(_message(kind, fields), _VALUE), expected


def _message(kind: Any, fields: dict[str, Any]) -> Any:
    made = kind()
    for name, value in fields.items():
        if isinstance(value, dict):
            getattr(made, name).SetInParent()
            for inner, content in value.items():
                setattr(getattr(made, name), inner, content)
        else:
            setattr(made, name, value)
    return made


def _file(name: str, messages: dict[str, dict[str, str]], *imports: str) -> descriptor_pb2.FileDescriptorProto:
    """Make a Protobuf file of messages; the last message has a copy of itself inside, called Inner."""
    file = descriptor_pb2.FileDescriptorProto(name=name, package="shop", syntax="proto3", dependency=imports)
    for message, fields in messages.items():
        made = file.message_type.add(name=message)
        for number, (field, kind) in enumerate(fields.items(), 1):
            _field(made, field, kind, number)
    inner = made.nested_type.add(name="Inner")
    for field in made.field:
        inner.field.add().CopyFrom(field)
    return file


def _field(message: Any, name: str, kind: str, number: int) -> None:
    proto = descriptor_pb2.FieldDescriptorProto
    made = message.field.add(name=name, number=number, label=proto.LABEL_OPTIONAL, json_name=name)
    if kind.startswith("."):
        made.type, made.type_name = proto.TYPE_MESSAGE, kind
    else:
        made.type = proto.TYPE_INT64 if kind == "int64" else proto.TYPE_STRING


def main(path: Path) -> None:
    with serving(Registry({}, {})) as registry:
        client = SchemaRegistryClient({"url": registry.url})
        values = [{"value": text_of(value), "json": expected} for value, expected in samples(client)]
        kept = {"schemas": registry.schemas, "subjects": registry.subjects, "values": values}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
