"""Compares our codec of messages with Kafka's generated one, in both directions."""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_lagoon.errors import WireError
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode
from tests.examples import Case
from tests.oracle.jars import clients_jar
from tests.oracle.java_codec import Example, JavaCodec, from_json, to_json, without_records
from tests.oracle.schemas import knows, load, stable_versions


def judges(codecs: Sequence[JavaCodec], case: Case) -> Iterator[JavaCodec]:
    """Return the releases that know the version."""
    for codec in codecs:
        jar, name = clients_jar(codec.kafka), case.cls.__name__
        if knows(jar, name) and case.version in stable_versions(load(jar, name)):
            yield codec


def disagreements(
    codec: JavaCodec, name: str, version: int, flexible: bool, messages: Sequence[Any]
) -> Iterator[tuple[int, str]]:
    """For each message that is not written as the same bytes, or not read as the same message: its place, and both."""
    written = [_written(message, version, flexible) for message in messages]
    theirs = codec.encode(Example(name, version, version, to_json(message, version)) for message in messages)
    readable = [raw if isinstance(raw, bytes) else b"" for raw in written]
    in_json = codec.decode(name, version, readable)
    for place, message in enumerate(messages):
        ours, by_kafka = written[place], theirs[place]
        if not isinstance(ours, bytes) or ours != by_kafka:
            yield place, f"{message}\nours:  {_spelled(ours)}\nKafka: {_spelled(by_kafka)}"
        elif (read := _read(type(message), version, flexible, ours)) != message:
            yield place, f"{ours.hex()}\nours:  {read}\ngiven: {message}"
        elif (read := _parsed(type(message), version, in_json[place])) != without_records(message):
            yield place, f"{ours.hex()}\nKafka: {read}\ngiven: {message}"


def _written(message: Any, version: int, flexible: bool) -> bytes | str:
    try:
        return encode(message, version, flexible)
    except WireError as refused:
        return str(refused)


def _read(cls: type, version: int, flexible: bool, raw: bytes) -> Any:
    try:
        return decode(cls, version, flexible, raw)
    except WireError as refused:
        return str(refused)


def _parsed(cls: type, version: int, in_json: Any) -> Any:
    """Parse the message in JSON; a text is the reason why Kafka refuses it."""
    return in_json if isinstance(in_json, str) else from_json(cls, version, in_json)


def _spelled(raw: bytes | str | None) -> str:
    return raw.hex() if isinstance(raw, bytes) else f"refused: {raw}"
