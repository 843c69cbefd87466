"""Our bytes against those of Kafka's generated codecs: every API, every version, requests and responses, both directions.

Each release judges the versions that it knows, and each version is known to one of them (see test_structure).
"""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from kafka_lagoon.errors import DecodeError, EncodeError
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.embedded import VERSIONS, Assignment, Subscription
from kafka_lagoon.protocol.headers import RequestHeader, ResponseHeader
from kafka_lagoon.protocol.messages.list_groups import ListGroupsRequest
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api
from kafka_lagoon.wire.writing import encode
from tests.examples import Case, any_message, any_text, each_case, randoms
from tests.oracle.agreement import disagreements, judges
from tests.oracle.java_codec import Example, JavaCodec, from_json, to_json, without_records

pytestmark = [pytest.mark.java, pytest.mark.examples]

# Messages that are not of one API: our class, its name in the jars, its versions, the first flexible one.
_OTHERS = (
    (RequestHeader, "RequestHeaderData", (1, 2), 2),
    (ResponseHeader, "ResponseHeaderData", (0, 1), 1),
    (Subscription, "ConsumerProtocolSubscription", VERSIONS, None),
    (Assignment, "ConsumerProtocolAssignment", VERSIONS, None),
)


def _agree(codec: JavaCodec, name: str, version: int, flexible: bool, messages: Sequence[Any]) -> None:
    """Check that both write the same bytes, and that both read the messages in them."""
    for _, difference in disagreements(codec, name, version, flexible, messages):
        raise AssertionError(f"{codec.kafka}: {difference}")


@each_case
def test_messages(codecs: Sequence[JavaCodec], case: Case) -> None:
    """Our bytes equal Kafka's, and each reads the other's as the same message.

    A message of defaults is among them; and there is a judge for each case.
    """
    messages = [case.cls(), *(any_message(random, case.cls, case.version, any_text) for random in randoms(case, 20))]
    known_to = list(judges(codecs, case))
    assert known_to
    for codec in known_to:
        _agree(codec, f"{case.cls.__name__}Data", case.version, case.flexible, messages)


@pytest.mark.parametrize(("cls", "name", "versions", "flexible"), _OTHERS, ids=[other[1] for other in _OTHERS])
def test_headers_and_embedded_protocol(
    codecs: Sequence[JavaCodec], cls: type, name: str, versions: Any, flexible: int | None
) -> None:
    """Headers, subscriptions and assignments equal Kafka's byte by byte in every version."""
    for version in versions:
        messages = [any_message(random, cls, version, any_text) for random in randoms(name, 20)]
        for codec in codecs:
            _agree(codec, name, version, flexible is not None and version >= flexible, messages)


def _written(message: Any, version: int, flexible: bool) -> bytes | None:
    try:
        return encode(message, version, flexible)
    except EncodeError:
        return None


def _moved(random: Random, api: Api[Any, Any], cls: type) -> tuple[Any, Case, Case]:
    """A message, the version that it is made for, and the version that it is written in."""
    made_for, written_in = (Case(api, random.choice(list(api.versions)), cls) for _ in range(2))
    return any_message(random, cls, made_for.version, any_text), made_for, written_in


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_refusals(codecs: Sequence[JavaCodec], api: Api[Any, Any], side: str) -> None:
    """For a message of one version in another both write the same bytes, or both refuse."""
    cls = getattr(api, side)
    moved = [_moved(random, api, cls) for random in randoms((api.name, side), 50)]
    for codec in codecs:
        ours, examples = [], []
        for message, made_for, written_in in moved:
            if all(codec in judges(codecs, case) for case in (made_for, written_in)):
                versions = made_for.version, written_in.version
                examples.append(Example(f"{cls.__name__}Data", *versions, to_json(message, made_for.version)))
                ours.append(_written(message, written_in.version, written_in.flexible))
        assert codec.encode(examples) == ours, codec.kafka


def _is_text(in_json: Any) -> bool:
    """Return True if all strings are text: Kafka replaces other bytes by question marks."""
    try:
        json.dumps(in_json, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _damaged(random: Random, case: Case) -> bytes:
    damaged = bytearray(encode(any_message(random, case.cls, case.version, any_text), case.version, case.flexible))
    if damaged:
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(damaged)


def _readable(case: Case, several: Iterator[bytes]) -> Iterator[tuple[bytes, Any]]:
    for raw in several:
        try:
            yield raw, decode(case.cls, case.version, case.flexible, raw)
        except DecodeError:
            continue


@each_case
def test_damaged(codecs: Sequence[JavaCodec], case: Case) -> None:
    """A message with a replaced byte is read as by Kafka, or refused."""
    ours = list(_readable(case, (_damaged(random, case) for random in randoms(case, 10))))
    for codec in judges(codecs, case):
        theirs = codec.decode(f"{case.cls.__name__}Data", case.version, [raw for raw, _ in ours])
        for (raw, message), in_json in zip(ours, theirs, strict=True):
            assert not isinstance(in_json, str), (codec.kafka, raw.hex(), in_json)
            if _is_text(to_json(message, case.version)):
                # Compared as text, because a NaN does not equal itself.
                by_kafka, expected = from_json(case.cls, case.version, in_json), without_records(message)
                assert repr(by_kafka) == repr(expected), codec.kafka


def test_longest_string(codecs: Sequence[JavaCodec]) -> None:
    """Kafka refuses compact strings of the same length as we do."""
    name = "ListGroupsRequestData"
    for codec in codecs:
        _agree(codec, name, 4, True, [ListGroupsRequest(states_filter=("x" * 32_767,))])
        assert codec.encode([Example(name, 4, 4, {"statesFilter": ["x" * 32_768]})]) == [None]
