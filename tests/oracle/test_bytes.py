"""Our bytes against those of Kafka's generated codecs: every API, every version, both sides, both ways.

Each release judges the versions that it knows, and each version is known to one of them (see test_structure).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from pipeline.errors import DecodeError, EncodeError
from pipeline.protocol.apis import APIS
from pipeline.protocol.embedded import VERSIONS, Assignment, Subscription
from pipeline.protocol.headers import RequestHeader, ResponseHeader
from pipeline.protocol.messages.list_groups import ListGroupsRequest
from pipeline.wire.reading import decode
from pipeline.wire.schema import Api
from pipeline.wire.writing import encode
from tests.oracle.jars import clients_jar
from tests.oracle.java_codec import JavaCodec, from_json, to_json, without_records
from tests.oracle.schemas import load, versions_of
from tests.strategies import CASES, TEXTS, Case, any_message

pytestmark = pytest.mark.java

each_case = pytest.mark.parametrize("case", CASES, ids=str)
quick = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

# Not of one API: our class, its name in the jars, its versions, the first flexible one.
_OTHERS = (
    (RequestHeader, "RequestHeaderData", (1, 2), 2),
    (ResponseHeader, "ResponseHeaderData", (0, 1), 1),
    (Subscription, "ConsumerProtocolSubscription", VERSIONS, None),
    (Assignment, "ConsumerProtocolAssignment", VERSIONS, None),
)


def _judges(codecs: Sequence[JavaCodec], case: Case) -> Iterator[JavaCodec]:
    """The releases that know the version."""
    for codec in codecs:
        schema = load(clients_jar(codec.kafka), case.cls.__name__)
        if case.version in versions_of(schema["validVersions"]):
            yield codec


def _agree(codec: JavaCodec, name: str, version: int, flexible: bool, message: Any) -> None:
    ours = encode(message, version, flexible)
    assert ours.hex() == codec.encode(name, version, to_json(message, version)).hex(), codec.kafka
    assert decode(type(message), version, flexible, ours) == message
    assert from_json(type(message), version, codec.decode(name, version, ours)) == without_records(message), codec.kafka


@each_case
@quick
@given(data=st.data())
def test_messages(codecs: Sequence[JavaCodec], case: Case, data: st.DataObject) -> None:
    """What we write is what Kafka writes, byte by byte, and each reads the other's as the same message."""
    message = data.draw(any_message(case.cls, case.version, TEXTS))
    for codec in _judges(codecs, case):
        _agree(codec, f"{case.cls.__name__}Data", case.version, case.flexible, message)


@each_case
def test_defaults(codecs: Sequence[JavaCodec], case: Case) -> None:
    """A message of defaults too; and there is a judge for each."""
    judges = list(_judges(codecs, case))
    assert judges
    for codec in judges:
        _agree(codec, f"{case.cls.__name__}Data", case.version, case.flexible, case.cls())


@pytest.mark.parametrize(("cls", "name", "versions", "flexible"), _OTHERS, ids=[other[1] for other in _OTHERS])
@quick
@given(data=st.data())
def test_headers_and_embedded_protocol(
    codecs: Sequence[JavaCodec], cls: type, name: str, versions: Any, flexible: int | None, data: st.DataObject
) -> None:
    """Headers, subscriptions and assignments are Kafka's byte by byte in every version."""
    for version in versions:
        message = data.draw(any_message(cls, version, TEXTS))
        for codec in codecs:
            _agree(codec, name, version, flexible is not None and version >= flexible, message)


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
@settings(quick, max_examples=50)
@given(data=st.data())
def test_refusals(codecs: Sequence[JavaCodec], api: Api[Any, Any], side: str, data: st.DataObject) -> None:
    """A message made for one version and written in another: both write the same bytes, or both refuse."""
    cls, versions = getattr(api, side), st.sampled_from(list(api.versions))
    made_for, version = data.draw(versions), data.draw(versions)
    message = data.draw(any_message(cls, made_for, TEXTS))
    name, told = f"{cls.__name__}Data", to_json(message, made_for)
    for codec in set(_judges(codecs, Case(api, made_for, cls))) & set(_judges(codecs, Case(api, version, cls))):
        try:
            ours = encode(message, version, api.is_flexible(version))
        except EncodeError:
            with pytest.raises(Py4JJavaError):
                codec.encode(name, version, told, told_in=made_for)
        else:
            assert ours.hex() == codec.encode(name, version, told, told_in=made_for).hex(), codec.kafka


def _is_text(told: Any) -> bool:
    """Whether all strings are text: Kafka puts a question mark where bytes are none."""
    try:
        json.dumps(told, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@each_case
@settings(quick, max_examples=10)
@given(data=st.data())
def test_damaged(codecs: Sequence[JavaCodec], case: Case, data: st.DataObject) -> None:
    """What we read in a message with a byte replaced, Kafka reads in it too: we are never the more lenient one."""
    damaged = bytearray(encode(data.draw(any_message(case.cls, case.version, TEXTS)), case.version, case.flexible))
    if damaged:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        ours: Any = decode(case.cls, case.version, case.flexible, bytes(damaged))
    except DecodeError:
        return
    for codec in _judges(codecs, case):
        theirs = codec.decode(f"{case.cls.__name__}Data", case.version, bytes(damaged))
        if _is_text(to_json(ours, case.version)):
            assert from_json(case.cls, case.version, theirs) == without_records(ours), codec.kafka


def test_longest_string(codecs: Sequence[JavaCodec]) -> None:
    """Kafka refuses compact strings where we do."""
    for codec in codecs:
        _agree(codec, "ListGroupsRequestData", 4, True, ListGroupsRequest(states_filter=("x" * 32_767,)))
        with pytest.raises(Py4JJavaError):
            codec.encode("ListGroupsRequestData", 4, {"statesFilter": ["x" * 32_768]})
