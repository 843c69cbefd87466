"""Our message classes against the schemas in Kafka's jars: every API, every version, requests and responses."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kafka_lagoon.protocol.apis import APIS, api_name
from kafka_lagoon.protocol.embedded import VERSIONS, Assignment, Subscription
from kafka_lagoon.protocol.headers import RequestHeader, ResponseHeader
from kafka_lagoon.wire.schema import Api, Array, Blob, Kind, Nested, Scalar, Text, Versions, fields_of
from tests.oracle.jars import KAFKAS, clients_jar
from tests.oracle.schemas import FieldFacts, absent_somewhere, facts, knows, load, names, stable_versions, versions_of

pytestmark = pytest.mark.java

_SCALARS = {"?": "bool", "b": "int8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64"}
_SCALARS |= {"d": "float64", "16s": "uuid"}
_LEGACY = "client_id"  # the only field that its schema exempts from compact lengths

# Classes without an api key: name in the jars, class, the versions that we support, first flexible one.
_OTHERS = (
    ("RequestHeader", RequestHeader, Versions(1, 2), "2+"),
    ("ResponseHeader", ResponseHeader, Versions(0, 1), "1+"),
    ("ConsumerProtocolSubscription", Subscription, VERSIONS, "none"),
    ("ConsumerProtocolAssignment", Assignment, VERSIONS, "none"),
)
_CLASSES = [
    *((cls.__name__, cls, api.versions) for api in APIS.values() for cls in (api.request, api.response)),
    *((name, cls, versions) for name, cls, versions, _ in _OTHERS),
]


# APIs between brokers and controllers, which clients do not use.
_BETWEEN_BROKERS = (
    *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "Vote", "BeginQuorumEpoch"),
    *("EndQuorumEpoch", "AlterPartition", "Envelope", "FetchSnapshot", "BrokerRegistration", "BrokerHeartbeat"),
    *("AllocateProducerIds", "ControllerRegistration", "AssignReplicasToDirs", "InitializeShareGroupState"),
    *("ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary"),
)


def _schemas(name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Return the schema of a message in each jar that has it, with the jar.

    Asked for inside of tests: were they made for each jar, collecting the unit tests would download Kafka.
    """
    jars = [clients_jar(kafka) for kafka in KAFKAS]
    schemas = [(load(jar, name), jar.name) for jar in jars if knows(jar, name)]
    assert schemas
    yield from schemas


def _our_facts(cls: type, version: int) -> tuple[FieldFacts, ...]:
    return tuple(
        FieldFacts(
            field.name,
            _our_shape(field.kind, version),
            field.nullable(version),
            field.spec.tag,
            "struct" if isinstance(field.kind, Nested) and field.default is not None else field.default,
        )
        for field in fields_of(cls)
        if field.spec.present(version)
    )


def _our_shape(kind: Kind, version: int) -> Any:
    match kind:
        case Scalar():
            return _SCALARS[kind.code]
        case Text():
            return "string"
        case Blob():
            return "records" if kind.view else "bytes"
        case Array():
            return ("array", _our_shape(kind.item, version))
        case Nested():
            return _our_facts(kind.cls, version)


@pytest.mark.parametrize(("name", "cls", "versions"), _CLASSES, ids=[name for name, _, _ in _CLASSES])
def test_fields(name: str, cls: type, versions: Versions) -> None:
    """Every version that both know has the same fields in the same order, with type, nullability, tag and default."""
    for schema, jar in _schemas(name):
        for version in set(versions) & set(stable_versions(schema)):
            assert _our_facts(cls, version) == facts(schema["fields"], version), (jar, version)


def _all_ignorable(cls: type) -> dict[str, bool]:
    ignorable = {}
    for field in fields_of(cls):
        ignorable[field.name] = field.spec.ignorable
        kind = field.kind.item if isinstance(field.kind, Array) else field.kind
        if isinstance(kind, Nested):
            ignorable |= {
                f"{field.name}.{below}": is_ignorable for below, is_ignorable in _all_ignorable(kind.cls).items()
            }
    return ignorable


@pytest.mark.parametrize(("name", "cls", "versions"), _CLASSES, ids=[name for name, _, _ in _CLASSES])
def test_ignorable(name: str, cls: type, versions: Versions) -> None:
    """A field that a version lacks may be dropped silently if, and only if, Kafka's schema calls it ignorable."""
    ours = _all_ignorable(cls)
    for schema, jar in _schemas(name):
        stable = stable_versions(schema)
        both = range(max(stable.start, versions.lowest), min(stable.stop, versions.highest + 1))
        absent = dict(absent_somewhere(schema["fields"], both))
        assert {field: ours[field] for field in absent} == absent, jar


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_version_is_ours(api: Api[Any, Any]) -> None:
    """Our range of an API includes all versions of the two jars, without versions that Kafka calls unstable."""
    known = {version for schema, _ in _schemas(api.request.__name__) for version in stable_versions(schema)}
    assert set(api.versions) == known, f"`versions` of {api.name} in protocol/messages/ are not those of the jars"


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_key_name_and_flexibility(api: Api[Any, Any]) -> None:
    """Key, names and first flexible version of both sides are Kafka's."""
    for cls in (api.request, api.response):
        for schema, jar in _schemas(cls.__name__):
            flexible = versions_of(schema["flexibleVersions"])
            assert (schema["apiKey"], schema["name"]) == (api.key, cls.__name__), jar
            assert all(api.is_flexible(version) == (version in flexible) for version in api.versions), jar


def test_nothing_is_missing() -> None:
    """Every API of both jars is ours, except APIs between brokers; and no other is."""
    known = _known_names()
    assert {name for key, name in known.items() if key not in APIS} == set(_BETWEEN_BROKERS)
    assert APIS.keys() <= known.keys()


@pytest.mark.parametrize(("name", "cls", "versions", "flexible"), _OTHERS, ids=[one[0] for one in _OTHERS])
def test_headers_and_embedded_protocol(name: str, cls: type, versions: Versions, flexible: str) -> None:
    """Flexible versions are Kafka's, the newest version is ours, only the client id is exempt from compact lengths."""
    for schema, jar in _schemas(name):
        assert schema["flexibleVersions"] == flexible, jar
        assert versions_of(schema["validVersions"])[-1] == versions.highest, jar
        exempt = [field["name"] for field in schema["fields"] if field.get("flexibleVersions") == "none"]
        assert [field.name for field in fields_of(cls) if field.spec.legacy] == ([_LEGACY] if exempt else []), jar


def _known_names() -> dict[int, str]:
    """Return every API of both jars, by its name in the newer one: 3.9 calls key 74 ListClientMetricsResources."""
    return names(clients_jar("3.9.2")) | names(clients_jar("4.4.0"))


def test_names_of_all_apis() -> None:
    """Every API of both jars has its name, in the newer jar if they differ."""
    known = _known_names()
    assert {key: api_name(key) for key in known} == known
