"""Our reading of the consumer protocol against that of Kafka's own consumer."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from pipeline.errors import DecodeError
from pipeline.protocol.embedded import VERSIONS, Assignment, Subscription, decode_assignment, decode_subscription
from pipeline.wire.writing import encode
from tests.oracle.java_codec import JavaCodec, from_json
from tests.strategies import TEXTS, any_message

pytestmark = pytest.mark.java

_KINDS = pytest.mark.parametrize(
    ("cls", "decoder"), [(Subscription, decode_subscription), (Assignment, decode_assignment)]
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def _theirs(codec: JavaCodec, cls: type, encoded: bytes) -> Any:
    """What Kafka's consumer reads in the bytes."""
    protocol = codec.jvm.org.apache.kafka.clients.consumer.internals.ConsumerProtocol
    name = f"ConsumerProtocol{cls.__name__}"
    message = getattr(protocol, f"deserialize{name}")(codec.buffer_of(encoded))
    return from_json(cls, VERSIONS.highest, codec.json_of(name, message, VERSIONS.highest))


@_KINDS
@quick
@given(data=st.data(), version=st.integers(0, 9), behind=st.binary(max_size=9))
def test_every_version(
    codecs: Sequence[JavaCodec],
    cls: type,
    decoder: Callable[[bytes], Any],
    data: st.DataObject,
    version: int,
    behind: bytes,
) -> None:
    """Members of every version, of later ones too and with more behind what we know, are read as Kafka reads them."""
    known = min(version, VERSIONS.highest)
    body = encode(data.draw(any_message(cls, known, TEXTS)), known, flexible=False)
    encoded = version.to_bytes(2, "big") + body + behind
    for codec in codecs:
        assert decoder(encoded) == _theirs(codec, cls, encoded), codec.kafka


@_KINDS
@quick
@given(encoded=st.binary(max_size=30) | st.binary(max_size=30).map(lambda raw: b"\0\1\0\0\0\1\0\0" + raw))
def test_garbage(codecs: Sequence[JavaCodec], cls: type, decoder: Callable[[bytes], Any], encoded: bytes) -> None:
    """What Kafka's consumer refuses we refuse, and nothing else."""
    for codec in codecs:
        try:
            decoder(encoded)
        except DecodeError:
            with pytest.raises(Py4JJavaError):
                _theirs(codec, cls, encoded)
        else:
            _theirs(codec, cls, encoded)
