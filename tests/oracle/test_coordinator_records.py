"""Our classes of coordinators' records against the schemas in Kafka's jars: every kind, every version."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.protocol.coordinator_records import GROUP_RECORDS, TRANSACTION_RECORDS, RecordKind
from tests.oracle.jars import KAFKAS
from tests.oracle.schemas import facts, load, versions_of
from tests.oracle.test_structure import _our_facts

pytestmark = pytest.mark.java

_COORDINATORS = {"kafka-group-coordinator": GROUP_RECORDS, "kafka-transaction-coordinator": TRANSACTION_RECORDS}
_CASES = [(kafka, name) for kafka in KAFKAS for name in _COORDINATORS]


def _jar(kafka: str, name: str) -> Path:
    (jar,) = (path for path in jar_paths(f"kafka-{kafka}") if path.name == f"{name}-{kafka}.jar")
    return jar


def _schemas(jar: Path) -> Iterator[tuple[int, Any, Any]]:
    """Number, schema of the key and of the value of each kind of record."""
    with zipfile.ZipFile(jar) as archive:
        keys = [Path(name).stem for name in archive.namelist() if name.endswith("Key.json")]
    for key in keys:
        schema = load(jar, key)
        # Kafka 3.9 has the number of a kind as the version of its key.
        number = schema.get("apiKey", versions_of(schema["validVersions"])[-1])
        yield number, schema, load(jar, f"{key.removesuffix('Key')}Value")


def _shapes(cls: type, version: int) -> list[Any]:
    """Keys are compared without the names of their fields, which differ between kinds."""
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
    """In every version: the same fields in the same order, with type, nullability, tag and default.

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
