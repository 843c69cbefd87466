"""Our decoder of the consumer protocol against that of Kafka's own consumer."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.embedded import VERSIONS, Assignment, Subscription, decode_assignment, decode_subscription
from kafka_lagoon.wire.writing import encode
from tests.examples import any_bytes, any_message, any_text, randoms
from tests.oracle.java_codec import JavaCodec, from_json

pytestmark = [pytest.mark.java, pytest.mark.examples]

_KINDS = pytest.mark.parametrize(
    ("cls", "decoder"), [(Subscription, decode_subscription), (Assignment, decode_assignment)]
)


def _theirs(codec: JavaCodec, cls: type, encoded: bytes) -> Any:
    """Read the bytes with Kafka's consumer."""
    protocol = codec.jvm.org.apache.kafka.clients.consumer.internals.ConsumerProtocol
    name = f"ConsumerProtocol{cls.__name__}"
    message = getattr(protocol, f"deserialize{name}")(codec.buffer_of(encoded))
    return from_json(cls, VERSIONS.highest, codec.json_of(name, message, VERSIONS.highest))


@_KINDS
def test_every_version(codecs: Sequence[JavaCodec], cls: type, decoder: Callable[[bytes], Any]) -> None:
    """Members of every version, also of later ones with more bytes at the end, are read as by Kafka."""
    for random in randoms(cls.__name__, 60):
        version = random.randrange(10)
        known = min(version, VERSIONS.highest)
        body = encode(any_message(random, cls, known, any_text), known, flexible=False)
        encoded = version.to_bytes(2, "big") + body + any_bytes(random)
        for codec in codecs:
            assert decoder(encoded) == _theirs(codec, cls, encoded), codec.kafka


@_KINDS
def test_garbage(codecs: Sequence[JavaCodec], cls: type, decoder: Callable[[bytes], Any]) -> None:
    """Exactly the bytes that Kafka's consumer refuses are refused."""
    for random in randoms(cls.__name__, 60):
        encoded = random.choice((b"", b"\0\1\0\0\0\1\0\0")) + any_bytes(random, 30)
        for codec in codecs:
            try:
                decoder(encoded)
            except DecodeError:
                with pytest.raises(Py4JJavaError):
                    _theirs(codec, cls, encoded)
            else:
                _theirs(codec, cls, encoded)
