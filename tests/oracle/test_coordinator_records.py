"""Our classes of coordinators' records against the schemas in Kafka's jars: every kind, every version."""

import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.protocol.coordinator_records import GROUP_RECORDS, TRANSACTION_RECORDS, RecordKind
from kafka_lagoon.wire.reading import decode_start
from kafka_lagoon.wire.writing import encode
from tests.examples import any_message, any_text, randoms
from tests.oracle.jars import KAFKAS
from tests.oracle.java_codec import JavaCodec, from_json
from tests.oracle.schemas import facts, load, versions_of
from tests.oracle.test_structure import _our_facts

pytestmark = [pytest.mark.java, pytest.mark.examples]

_COORDINATORS = {"kafka-group-coordinator": GROUP_RECORDS, "kafka-transaction-coordinator": TRANSACTION_RECORDS}
_CASES = [(kafka, name) for kafka in KAFKAS for name in _COORDINATORS]


def _jar(kafka: str, name: str) -> Path:
    (jar,) = (path for path in jar_paths(f"kafka-{kafka}") if path.name == f"{name}-{kafka}.jar")
    return jar


def _schemas(jar: Path) -> Iterator[tuple[int, Any, Any]]:
    """Return number, schema of the key and of the value of each kind of record."""
    with zipfile.ZipFile(jar) as archive:
        keys = [Path(name).stem for name in archive.namelist() if name.endswith("Key.json")]
    for key in keys:
        schema = load(jar, key)
        # In Kafka 3.9 the version of a key is the number of its kind.
        number = schema.get("apiKey", versions_of(schema["validVersions"])[-1])
        yield number, schema, load(jar, f"{key.removesuffix('Key')}Value")


def _shapes(cls: type, version: int) -> list[Any]:
    """Return the shapes of keys, whose field names differ between kinds."""
    return [one.shape for one in _our_facts(cls, version)]


@pytest.mark.parametrize(("kafka", "name"), _CASES)
def test_every_kind_is_known(kafka: str, name: str) -> None:
    """Every record that the release writes has its number and its key here."""
    kinds = _COORDINATORS[name]
    for number, key, _ in _schemas(_jar(kafka, name)):
        version = versions_of(key["validVersions"])[-1]
        assert [one.shape for one in facts(key["fields"], version)] == _shapes(kinds[number].key, 0), key["name"]


@pytest.mark.parametrize("name", _COORDINATORS)
def test_fields_of_values(name: str) -> None:
    """Every version has the same fields in the same order, with type, nullability, tag and default.

    Older releases have fewer tagged fields, in the same versions.
    """
    compared = 0
    for number, _, schema in _schemas(_jar(KAFKAS[0], name)):
        kind: RecordKind = _COORDINATORS[name][number]
        for version in versions_of(schema["validVersions"]) if kind.value else ():
            assert version in kind.versions, schema["name"]
            assert (version in versions_of(schema["flexibleVersions"])) == (version >= kind.flexible), schema["name"]
            assert _our_facts(kind.value, version) == facts(schema["fields"], version), (schema["name"], version)
            compared += 1
    assert compared


_VALUES = {
    f"{kind.value.__name__}-v{version}": (name, number, version)
    for name, kinds in _COORDINATORS.items()
    for number, kind in kinds.items()
    if (kind.value and number)  # number 0 of groups is number 1 again
    or name == "kafka-transaction-coordinator"
    for version in kind.versions
}


@pytest.mark.parametrize("case", _VALUES)
def test_bytes(codecs: Sequence[JavaCodec], case: str) -> None:
    """Kafka's own classes read our bytes, and we read theirs."""
    name, number, version = _VALUES[case]
    kind = _COORDINATORS[name][number]
    codec = codecs[KAFKAS.index("4.4.0")]
    (schema,) = (value for found, _, value in _schemas(_jar("4.4.0", name)) if found == number)
    package = "group" if "group" in name else "transaction"
    classes = getattr(codec.jvm.org.apache.kafka.coordinator, package).generated
    converter = getattr(classes, f"{schema['name']}JsonConverter")
    for random in randoms(case, 12):
        message = any_message(random, kind.value, version, any_text)
        ours = encode(message, version, version >= kind.flexible)
        accessor = codec.jvm.org.apache.kafka.common.protocol.ByteBufferAccessor(codec.buffer_of(ours))
        theirs = getattr(classes, schema["name"])(accessor, version)
        assert from_json(kind.value, version, _json(converter, theirs, version)) == message
        written = bytes(codec.jvm.org.apache.kafka.common.protocol.MessageUtil.toVersionPrefixedBytes(version, theirs))
        assert decode_start(kind.value, version, version >= kind.flexible, written, 2) == (message, len(written))


def _json(converter: Any, message: Any, version: int) -> Any:
    return json.loads(converter.write(message, version).toString())
